#include "target/target.h"

#include <doctest/doctest.h>

#include <set>

namespace etc {
namespace {

TEST_CASE("targets have names of their own, and the default was measured") {
  std::set<std::string_view> names;
  for (const Target& target : Targets()) {
    CHECK(names.insert(target.name).second);
  }
  CHECK(DefaultTarget().measured);
}

TEST_CASE("an architecture is found by its spelling") {
  for (Arch arch : {Arch::Host, Arch::Sm90a}) {
    CHECK(ArchOf(Spelling(arch)) == arch);
  }
  CHECK_FALSE(ArchOf("sm_90"));
}

TEST_CASE("a CTA has whole warpgroups beside its consumer warps") {
  CHECK(ThreadsOf(8) == 384);
  CHECK(ThreadsOf(4) == 256);
}

}  // namespace
}  // namespace etc
