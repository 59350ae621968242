#include "emit/builtin_headers.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace etc {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("every kernel header is built in, byte for byte") {
  const std::filesystem::path root = SOURCE_DIRECTORY "/kernels";
  int headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cuh") {
      continue;
    }
    ++headers;
    const std::string name = std::filesystem::relative(entry.path(), root).string();
    CAPTURE(name);
    const std::optional<std::string> text = BuiltinHeader(name);
    REQUIRE(text.has_value());
    CHECK(*text == ReadFile(entry.path()));
  }
  CHECK(headers > 0);
}

TEST_CASE("the host prelude is built in") {
  CHECK(BuiltinHeader("host_prelude.h") == ReadFile(SOURCE_DIRECTORY "/src/emit/host_prelude.h"));
}

TEST_CASE("a tile kernel is found by its bare name, an architecture header is not") {
  CHECK(BuiltinHeader("decode_gemm.cuh") == BuiltinHeader("tile/gemm/decode_gemm.cuh"));
  CHECK(BuiltinHeader("arch/common/types.cuh").has_value());
  CHECK_FALSE(BuiltinHeader("types.cuh").has_value());
  CHECK_FALSE(BuiltinHeader("gemm").has_value());
}

TEST_CASE("an unknown header is not found") {
  CHECK_FALSE(BuiltinHeader("").has_value());
  CHECK_FALSE(BuiltinHeader("tile").has_value());
  CHECK_FALSE(BuiltinHeader("tile/no_such.cuh").has_value());
}

}  // namespace
}  // namespace etc
