#include "compile/config.h"

#include <doctest/doctest.h>

#include <limits>

namespace etc {
namespace {

std::string MessageOfDefine(const std::string& text) {
  Diagnostics diagnostics;
  CHECK_FALSE(ParseDefine(text, diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == DiagnosticKind::CommandLine);
  return diagnostics.all()[0].message;
}

std::string MessageOfConfig(const std::string& text) {
  Diagnostics diagnostics;
  CHECK_FALSE(ParseConfig(text, "c.json", diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == DiagnosticKind::Config);
  return diagnostics.all()[0].message;
}

TEST_CASE("-D takes integers, floats and booleans") {
  Diagnostics diagnostics;
  CHECK(std::get<int64_t>(ParseDefine("n=-3", diagnostics)->value) == -3);
  CHECK(std::get<double>(ParseDefine("eps=1e-6", diagnostics)->value) == 1e-6);
  CHECK(std::get<double>(ParseDefine("x=2.0", diagnostics)->value) == 2.0);
  CHECK(std::get<double>(ParseDefine("x=inf", diagnostics)->value) ==
        std::numeric_limits<double>::infinity());
  CHECK(std::get<bool>(ParseDefine("b=true", diagnostics)->value));
  auto last = ParseDefine("tie_word_embeddings=false", diagnostics);
  CHECK(last->name == "tie_word_embeddings");
  CHECK_FALSE(std::get<bool>(last->value));
  CHECK(last->required);
  CHECK(last->origin == "-D");
  CHECK_FALSE(diagnostics.HasErrors());
}

TEST_CASE("-D refuses the rest") {
  CHECK(MessageOfDefine("n") == "`-D n` is not of the form `name=value`");
  CHECK(MessageOfDefine("=1") == "`-D =1` is not of the form `name=value`");
  CHECK(MessageOfDefine("1n=1") == "`-D 1n=1` is not of the form `name=value`");
  for (const char* text : {"n=", "n=abc", "n=1x", "n=nan", "n= 1"}) {
    CHECK(MessageOfDefine(text) == std::string("the value of `-D ") + text +
                                       "` is not an integer, a float, `true` or `false`");
  }
}

TEST_CASE("a configuration is flattened") {
  Diagnostics diagnostics;
  auto config = ParseConfig(
      R"({"hidden_size": 1024, "rope_theta": 1e6, "use_cache": true, "sliding_window": null,
          "rope_scaling": {"factor": 8.5, "inner": {"n": 3}}, "model_type": "qwen3",
          "architectures": ["A"], "huge": 18446744073709551615})",
      "c.json", diagnostics);
  REQUIRE(config);
  REQUIRE(config->overrides.size() == 5);
  auto find = [&](const std::string& name) {
    for (const Override& override : config->overrides) {
      if (override.name == name) {
        CHECK_FALSE(override.required);
        CHECK(override.origin == "c.json");
        return override.value;
      }
    }
    FAIL("no value for ", name);
    return decltype(Override::value){};
  };
  CHECK(std::get<int64_t>(find("hidden_size")) == 1024);
  CHECK(std::get<double>(find("rope_theta")) == 1e6);
  CHECK(std::get<bool>(find("use_cache")));
  CHECK(std::get<double>(find("rope_scaling_factor")) == 8.5);
  CHECK(std::get<int64_t>(find("rope_scaling_inner_n")) == 3);
  REQUIRE(config->unusable.size() == 3);
  CHECK(config->unusable[0].name == "architectures");
  CHECK(config->unusable[0].what == "a list");
  CHECK(config->unusable[1].name == "huge");
  CHECK(config->unusable[1].what == "an integer beyond 64 bits");
  CHECK(config->unusable[2].name == "model_type");
  CHECK(config->unusable[2].what == "a string");
}

TEST_CASE("a configuration that is none is refused with its place") {
  CHECK(MessageOfConfig("{\n  \"a\": 1,\n  \"b\" 2\n}") ==
        "`c.json` is not JSON: line 3, column 7 cannot be read");
  CHECK(MessageOfConfig("{\n  \"a\": 1e400}") ==
        "`c.json` has a number beyond 64-bit floats, `1e400`, on line 2, column 8");
  CHECK(MessageOfConfig("[1]") == "`c.json` holds a list; expected an object of names and values");
  CHECK(MessageOfConfig("3") == "`c.json` holds a number; expected an object of names and values");
  CHECK(MessageOfConfig("").starts_with("`c.json` is not JSON"));
}

}  // namespace
}  // namespace etc
