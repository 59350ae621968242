// Several units at once, without a compiler.
#include <doctest/doctest.h>

#include "toolchain/toolchain.h"

namespace etc {
namespace {

CompileOutput Echo(const std::string& text) {
  CompileOutput output;
  output.ok = text.find("error") == std::string::npos;
  output.binary = "<" + text + ">";
  output.log = output.ok ? "one warning\n" : text + " failed\n";
  output.toolchain = "echo 1";
  output.flags = {"-x"};
  return output;
}

TEST_CASE("units stand one behind the other in their order, and common warnings are said once") {
  const std::string long_text(70, 'b');
  const CompileOutput all = CompileUnits({"a", long_text, "c"}, Echo);
  REQUIRE(all.ok);
  CHECK(all.images == std::vector<size_t>{0, 64, 192});
  CHECK(all.binary.size() == 195);
  CHECK(all.binary.substr(0, 4) == std::string("<a>\0", 4));
  CHECK(all.binary.substr(192) == "<c>");
  CHECK(all.log == "one warning\n");
  CHECK(all.toolchain == "echo 1");
  CHECK(all.flags == std::vector<std::string>{"-x"});
  auto images = ImagesOf(all);
  REQUIRE(images.size() == 3);
  CHECK(images[1].substr(0, 72) == "<" + long_text + ">");
  CHECK(images[2] == "<c>");
}

TEST_CASE("the first unit that fails is what all of them say") {
  const CompileOutput all = CompileUnits({"a", "error 1", "error 2"}, Echo);
  CHECK_FALSE(all.ok);
  CHECK(all.log == "error 1 failed\n");
}

TEST_CASE("a single binary is its only image") {
  const CompileOutput one = Echo("a");
  CHECK(ImagesOf(one) == std::vector<std::string_view>{"<a>"});
}

}  // namespace
}  // namespace etc
