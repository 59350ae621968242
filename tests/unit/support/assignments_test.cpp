#include "support/assignments.h"

#include <doctest/doctest.h>

namespace etc {
namespace {

std::string MessageOf(const std::vector<std::string>& texts) {
  Diagnostics diagnostics;
  CHECK_FALSE(ParseIntAssignments(texts, "--dim", diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == DiagnosticKind::CommandLine);
  return diagnostics.all()[0].message;
}

TEST_CASE("names and values") {
  Diagnostics diagnostics;
  CHECK(ParseAssignments({"a=x.npy", "%b=y=z"}, "--input", diagnostics) ==
        Assignments{{"a", "x.npy"}, {"b", "y=z"}});
  CHECK(ParseIntAssignments({"n=3", "m=-4"}, "--dim", diagnostics) ==
        std::map<std::string, int64_t>{{"n", 3}, {"m", -4}});
  CHECK(ParseAssignments({}, "--input", diagnostics) == Assignments{});
  CHECK_FALSE(diagnostics.HasErrors());
}

TEST_CASE("what is wrong is said") {
  CHECK(MessageOf({"n"}) == "`--dim n` is not of the form `name=value`");
  CHECK(MessageOf({"n="}) == "`--dim n=` is not of the form `name=value`");
  CHECK(MessageOf({"=3"}) == "`--dim =3` is not of the form `name=value`");
  CHECK(MessageOf({"n=3", "n=3"}) == "`--dim` is given for `n` more than once");
  CHECK(MessageOf({"n=3x"}) == "`--dim n=3x` does not give an integer");
  CHECK(MessageOf({"n=99999999999999999999"}) ==
        "`--dim n=99999999999999999999` does not give an integer of 64 bits");
}

TEST_CASE("unknown names are refused with those that there are") {
  Diagnostics diagnostics;
  Assignments assignments{{"a", "1"}, {"x", "2"}};
  CHECK_FALSE(CheckNames(assignments, "--input", "parameter", {"a", "b"}, diagnostics));
  CHECK_FALSE(CheckName("x", "--dim", "dimension", {}, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  CHECK(diagnostics.all()[0].message ==
        "`--input x`: there is no parameter of that name; there are `a`, `b`");
  CHECK(diagnostics.all()[1].message ==
        "`--dim x`: there is no dimension of that name; there is none");
  CHECK(CheckNames(Assignments{{"a", "1"}}, "--input", "parameter", {"a"}, diagnostics));
}

}  // namespace
}  // namespace etc
