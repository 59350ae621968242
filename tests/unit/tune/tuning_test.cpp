// Tuning files: what is written is read, and for whom an entry is.
#include "compile/tuning.h"

#include <doctest/doctest.h>

#include "expand/kernel_options.h"

namespace etc {
namespace {

Question Asked(int64_t lo, int64_t hi) {
  Question question;
  question.function = "linear";
  question.parameter = "rows";
  question.shape = {{"K", 24}, {"N", 40}};
  question.range = {{"B", {lo, hi}}};
  return question;
}

TEST_CASE("what is set is found, also when it was written and read") {
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 8), "16");
  Question alternative = Asked(1, 8);
  alternative.parameter = kAlternative;
  Set(tuning, "h200", alternative, "split");
  CHECK(tuning.entries.size() == 1);
  Diagnostics diagnostics;
  auto read = ParseTuning(TuningText(tuning), "t.json", diagnostics);
  REQUIRE(read);
  auto rows = Find(*read, {"h200"}, Asked(1, 8), "t.json");
  REQUIRE(rows);
  CHECK(rows->option == "16");
  CHECK(rows->by == Decider::Tuning);
  CHECK(Find(*read, {"h200"}, alternative, "t.json")->option == "split");
}

TEST_CASE("a later value goes over an earlier one of the same") {
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 8), "16");
  Set(tuning, "h200", Asked(1, 8), "8");
  CHECK(tuning.entries.size() == 1);
  CHECK(Find(tuning, {"h200"}, Asked(1, 8), "")->option == "8");
}

TEST_CASE("what is set goes over an earlier entry for more") {
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 16), "16");
  Set(tuning, "h200", Asked(1, 8), "8");
  Set(tuning, "h200", Asked(9, 16), "4");
  CHECK(tuning.entries.size() == 3);
  CHECK(Find(tuning, {"h200"}, Asked(1, 8), "")->option == "8");
  CHECK(Find(tuning, {"h200"}, Asked(9, 16), "")->option == "4");
  CHECK(Find(tuning, {"h200"}, Asked(1, 16), "")->option == "16");
  std::swap(tuning.entries.front(), tuning.entries.back());
  Set(tuning, "h200", Asked(1, 8), "24");
  CHECK(Find(tuning, {"h200"}, Asked(1, 8), "")->option == "24");
}

TEST_CASE("a range of all declared sizes is for what no range narrows") {
  Question all = Asked(1, 16);
  std::swap(all.range, all.bounds);
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 15), "8");
  CHECK_FALSE(Find(tuning, {"h200"}, all, ""));
  Set(tuning, "h200", Asked(1, 16), "16");
  CHECK(Find(tuning, {"h200"}, all, "")->option == "16");
}

TEST_CASE("an entry is for ranges inside of its own, its shape and its target") {
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 8), "16");
  CHECK(Find(tuning, {"h200"}, Asked(1, 3), ""));
  CHECK(Find(tuning, {"h200"}, Asked(4, 8), ""));
  CHECK_FALSE(Find(tuning, {"h200"}, Asked(4, 9), ""));
  CHECK_FALSE(Find(tuning, {"h100"}, Asked(1, 8), ""));
  Question other = Asked(1, 8);
  other.shape["N"] = 48;
  CHECK_FALSE(Find(tuning, {"h200"}, other, ""));
  other = Asked(1, 8);
  other.shape["D"] = 128;  // the entry says nothing of it
  CHECK(Find(tuning, {"h200"}, other, ""));
}

TEST_CASE(
    "what was measured on the host holds there alone, and goes over what is for the machine") {
  Tuning tuning;
  Set(tuning, "h200", Asked(1, 8), "16");
  Set(tuning, std::string(kHostTarget), Asked(1, 8), "8");
  SourceOptions source;
  CHECK(Find(tuning, TuningTargets(source), Asked(1, 8), "")->option == "16");
  source.for_host = true;
  CHECK(Find(tuning, TuningTargets(source), Asked(1, 8), "")->option == "8");
  tuning.entries.pop_back();
  CHECK(Find(tuning, TuningTargets(source), Asked(1, 8), "")->option == "16");
}

TEST_CASE("an entry that would never decide something is an error") {
  auto problem = [](const std::string& entry) {
    Diagnostics diagnostics;
    CHECK_FALSE(
        ParseTuning("{\"tuning\": 1, \"entries\": [\n" + entry + "]}", "t.json", diagnostics));
    REQUIRE(diagnostics.all().size() == 1);
    return diagnostics.all()[0].message;
  };
  const std::string target = R"("target":"h200","function":"f","shape":{},)";
  CHECK(problem(R"({"target":"h300","function":"f","shape":{},"range":{},"choose":{"rows":8}})")
            .starts_with("`t.json` has an entry for the target `h300`, which is none of `host`, "));
  CHECK(problem("{" + target + R"("range":{},"choose":{"rows":8},"chose":{}})")
            .starts_with("`t.json` has an entry with a key `chose`, which is none of `target`, "));
  CHECK(problem("{" + target + R"("range":{"B":[8,1]},"choose":{"rows":8}})")
            .starts_with("`t.json` has an entry whose range of `B` is empty: {"));
  CHECK(problem("{" + target + R"("range":{},"choose":{}})")
            .starts_with("`t.json` has an entry that chooses nothing: {"));
  CHECK(problem("{" + target + R"("range":{},"choose":{"rows":8})") ==
        "`t.json` is not JSON: line 2, column 74 cannot be read");
}

TEST_CASE("what is no entry is told by the key that is missing or has something else") {
  auto problem = [](const std::string& text) {
    Diagnostics diagnostics;
    CHECK_FALSE(ParseTuning(text, "t.json", diagnostics));
    REQUIRE(diagnostics.all().size() == 1);
    return diagnostics.all()[0].message;
  };
  auto with = [&](const std::string& range, const std::string& rest) {
    return problem(R"({"tuning":1,"entries":[{"target":"h200","function":"f","shape":{},"range":)" +
                   range + rest + "}]}");
  };
  auto of_entry = [&](const std::string& entry) {
    return problem("{\"tuning\":1,\"entries\":[" + entry + "]}");
  };
  CHECK(of_entry("5") == "`t.json` has an entry that is no object: 5");
  CHECK(of_entry(R"({"target":"h200"})") ==
        R"(`t.json` has an entry with no `function`, which is a string: {"target":"h200"})");
  CHECK(of_entry(R"({"target":200})") ==
        R"(`t.json` has an entry whose `target` is not a string: {"target":200})");
  CHECK(with("[1,8]", "")
            .starts_with(
                "`t.json` has an entry whose `range` is not an object of pairs of integers: {"));
  CHECK(with(R"({"B":[1]})", "")
            .starts_with("`t.json` has an entry whose `range` has no pair of integers for `B`: {"));
  CHECK(with("{}", "").starts_with(
      "`t.json` has an entry with no `choose`, which is an object of integers and strings: {"));
  CHECK(with("{}", R"(,"choose":{"rows":8.5})")
            .starts_with(
                "`t.json` has an entry whose `choose` has no integer or string for `rows`: {"));
  CHECK(of_entry(R"({"target":"h200","function":"f","shape":{"K":"24"}})")
            .starts_with("`t.json` has an entry whose `shape` has no integer for `K`: {"));
  CHECK(problem(R"({"tuning":1,"entries":[],"entires":[]})") ==
        "`t.json` has a key `entires`, which is none of `tuning`, `entries`");
}

TEST_CASE("an entry has the schedule of a kernel beside its loader") {
  Question loader = Asked(1, 8);
  loader.function = "decode";
  loader.parameter = kLoader;
  Question schedule = loader;
  schedule.parameter = kSchedule;
  Tuning tuning;
  Set(tuning, "h200", loader, "in_flight 3 interval 0");
  Set(tuning, "h200", schedule, "kernels");
  REQUIRE(tuning.entries.size() == 1);
  Diagnostics diagnostics;
  auto read = ParseTuning(TuningText(tuning), "t.json", diagnostics);
  REQUIRE(read);
  CHECK(Find(*read, {"h200"}, schedule, "")->option == "kernels");
  CHECK(Find(*read, {"h200"}, loader, "")->option == "in_flight 3 interval 0");
}

TEST_CASE("what a tuning says of schedules is for the passes") {
  auto decided = [](const std::string& option, Decider by) {
    Decision decision;
    decision.graph = "decode";
    decision.question.parameter = kSchedule;
    for (ScheduleKind kind : {ScheduleKind::Auto, ScheduleKind::Static, ScheduleKind::Kernels}) {
      decision.question.options.push_back(
          {std::string(Spelling(kind)), static_cast<int64_t>(kind)});
    }
    decision.answer = {option, by, {}};
    return decision;
  };
  CHECK(TunedSchedules({decided("auto", Decider::Formula)}).empty());
  CHECK(TunedSchedules({decided("auto", Decider::Tuning)}).empty());
  CHECK(TunedSchedules({decided("kernels", Decider::Pin)}).empty());
  Decision pinned = decided("static", Decider::Pin);
  pinned.passed_over = Answer{"kernels", Decider::Tuning, {}};
  CHECK(TunedSchedules({pinned}).size() == 1);  // `--schedule=auto` goes over the text
  auto tuned = TunedSchedules({decided("kernels", Decider::Library)});
  REQUIRE(tuned.size() == 1);
  CHECK(tuned[0].graph == "decode");
  CHECK(tuned[0].kind == ScheduleKind::Kernels);
}

}  // namespace
}  // namespace etc
