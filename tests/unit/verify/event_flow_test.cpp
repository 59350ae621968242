#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "ir/evaluate.h"
#include "verified.h"

namespace etc {
namespace {

constexpr int kRows = 4;
constexpr int kColumns = 3;
constexpr int kTasks = 5;

/// An index into an axis of `extent` elements, in terms of the coordinates i and j and the axis s.
std::string RandomIndex(std::mt19937& random, int extent) {
  const std::string e = std::to_string(extent);
  switch (random() % 8) {
    case 0:
      return "*";
    case 1:
      return "i % " + e;
    case 2:
      return "(i + j) % " + e;
    case 3:
      return "0 .. min(j + 1, " + e + ")";
    case 4:
      return "min(s, " + e + " - 1)";
    case 5:
      return "(i * 2 + s) % " + e;
    case 6:
      return "(i * 2 - j + 1) / 4";
    default:
      return std::to_string(random() % extent);
  }
}

std::string RandomRef(std::mt19937& random) {
  const char* const kGuards[] = {"", " if i > j", " if s != 1", " if j == 0 || i < 2"};
  return "%e[" + RandomIndex(random, kRows) + ", " + RandomIndex(random, kColumns) +
         "] for (s: " + std::to_string(1 + random() % 3) + ")" + kGuards[random() % 4];
}

/// Calls `touch` for each element of each task, by the plainest possible reading of the reference.
void Enumerate(const Module& module, const Edge& edge, const EventRef& ref,
               const std::function<void(int64_t, int64_t)>& touch) {
  for (int64_t i = 0; i < kTasks; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      int64_t most = *EvaluateInt(module, ref.axes[0].hi, {});
      for (int64_t s = 0; s < most; ++s) {
        Env env{{edge.coords[0], i}, {edge.coords[1], j}, {ref.axes[0].var, s}};
        if (ref.guard && !*EvaluateBool(module, ref.guard, env)) {
          continue;
        }
        for (int64_t row = 0; row < kRows; ++row) {
          for (int64_t column = 0; column < kColumns; ++column) {
            bool inside = true;
            for (auto [index, at] : {std::pair(ref.indices[0], row), {ref.indices[1], column}}) {
              int64_t lo = index.all ? at : *EvaluateInt(module, index.lo, env);
              int64_t hi = index.hi ? *EvaluateInt(module, index.hi, env) : lo + 1;
              inside = inside && at >= lo && at < hi;
            }
            if (inside) {
              touch(row, column);
            }
          }
        }
      }
    }
  }
}

const char* const kDevices =
    "device @produce(%t: out f32[5, 2]) tasks (i: 5, j: 2) {\n  %t[i, j] = 1.0;\n}\n"
    "device @consume(%t: f32[5, 2], %y: out f32[5, 2]) tasks (i: 5, j: 2) {\n"
    "  %y[i, j] = %t[i, j];\n}\n";

std::string Program(const std::string& count, const std::string& notify, const std::string& wait) {
  return std::string("etir 1;\n") + kDevices +
         "graph @g(%y: out f32[5, 2]) {\n  %t = buffer f32[5, 2];\n  event %e[a: 4, b: 3] count " +
         count + ";\n  call @produce(%t) notify (i, j) => " + notify +
         ";\n  call @consume(%t, %y) wait (i, j) => " + wait + ";\n}\n";
}

TEST_CASE("counts of random maps agree with plain enumeration") {
  std::mt19937 random(11);
  int right = 0;
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    std::string notify = RandomRef(random);
    std::string wait = RandomRef(random);
    Verified first = VerifyText(Program("0", notify, wait));
    const Module& module = *first.module;
    std::map<std::pair<int64_t, int64_t>, int64_t> counts;
    std::map<std::pair<int64_t, int64_t>, bool> waited;
    for (const Node& node : module.nodes) {
      const auto* call = std::get_if<CallNode>(&node);
      if (call == nullptr) {
        continue;
      }
      for (const Edge& edge : call->notifies) {
        Enumerate(module, edge, edge.refs[0], [&](int64_t a, int64_t b) { ++counts[{a, b}]; });
      }
      for (const Edge& edge : call->waits) {
        Enumerate(module, edge, edge.refs[0], [&](int64_t a, int64_t b) { waited[{a, b}] = true; });
      }
    }
    // Right, and then one too many for one of the elements that are in use.
    for (bool spoil : {false, true}) {
      std::string count = "0";
      bool spoilt = false;
      for (int64_t a = 0; a < kRows; ++a) {
        for (int64_t b = 0; b < kColumns; ++b) {
          int64_t value = counts[{a, b}];
          if (spoil && !spoilt && (value > 0 || waited[{a, b}])) {
            ++value;
            spoilt = true;
          }
          count = "select(a == " + std::to_string(a) + " && b == " + std::to_string(b) + ", " +
                  std::to_string(value) + ", " + count + ")";
        }
      }
      Verified verified = VerifyText(Program(count, notify, wait));
      INFO(notify, "\n", wait, "\n", verified.report);
      CHECK(verified.ok == !spoilt);
      if (spoilt) {
        CHECK(verified.kinds == std::vector{DiagnosticKind::EventCount});
      }
      ++(spoilt ? wrong : right);
    }
  }
  CHECK(right > 250);
  CHECK(wrong > 250);
}

/// A chain of calls over `layers` layers, each waiting for the one before it.
std::string Layers(int layers, const std::string& first_wait) {
  return "etir 1;\nconst layers = " + std::to_string(layers) +
         ";\ndim n in 1..16;\n"
         "device @f(%x: inout f32[n, 64]) tasks (i: n, j: 64) {\n  %x[i, j] = 1.0;\n}\n"
         "graph @g(%x: inout f32[n, 64]) {\n  event %a[layers + 1, n] count 64;\n"
         "  event %b[layers, n] count 64;\n"
         "  call @f(%x) notify (i, j) => %a[0, i];\n  repeat l in 0..layers {\n"
         "    call @f(%x) wait (i, j) => " +
         first_wait +
         " notify (i, j) => %b[l, i];\n"
         "    call @f(%x) wait (i, j) => %b[l, i] notify (i, j) => %a[l + 1, i];\n  }\n}\n";
}

TEST_CASE("a wait may refer to what earlier iterations notified, and not to later ones") {
  CHECK(VerifyText(Layers(5, "%a[l, i]")).ok);
  CHECK(VerifyText(Layers(5, "%a[max(l - 1, 0), i]")).ok);
  CHECK(VerifyText(Layers(5, "%a[l, *]")).ok);
  CHECK(VerifyText(Layers(5, "%a[0 .. l + 1, i]")).ok);
  Verified verified = VerifyText(Layers(5, "%a[l + 1, i]"));
  INFO(verified.report);
  CHECK(verified.kinds == std::vector{DiagnosticKind::EventCycle});
  CHECK(VerifyText(Layers(5, "%a[select(l == 3, 5, l), i]")).kinds ==
        std::vector{DiagnosticKind::EventCycle});
}

TEST_CASE("hundreds of layers are within the work limit") {
  CHECK(VerifyText(Layers(500, "%a[l, i]")).ok);
  CHECK_FALSE(VerifyText(Layers(500, "%a[l + 1, i]")).ok);
}

TEST_CASE("a scheduled kernel is checked like the graph it comes from") {
  std::string text =
      "etir 1;\ndim n in 1..16;\n"
      "device @f(%x: inout f32[n]) tasks (i: n) {\n  %x[i] = 1.0;\n}\n"
      "kernel @k(%x: inout f32[n]) of @g static where (n in 1..8) {\n"
      "  launch consumers 8 shared 0;\n  event %a count COUNT via counter;\n  on sm {\n"
      "    share (i: n) from 0 {\n      run @f[i](%x);\n      leave { notify %a; }\n    }\n"
      "    share (i: n) from n {\n      enter { wait %a; }\n      run @f[i](%x);\n    }\n  }\n}\n";
  auto with_count = [&](const std::string& count) {
    std::string mine = text;
    mine.replace(mine.find("COUNT"), 5, count);
    return VerifyText(mine);
  };
  CHECK(with_count("n").ok);
  CHECK(with_count("1").kinds == std::vector{DiagnosticKind::EventCount});
  // Only the sizes of the kernel count.
  CHECK(with_count("min(n, 8)").ok);
  CHECK_FALSE(with_count("min(n, 7)").ok);
}

}  // namespace
}  // namespace etc
