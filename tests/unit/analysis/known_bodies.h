// A graph and a kernel of it, and what the kernel may take over of its bodies when one or the other
// is changed.
#pragma once

#include <string>
#include <vector>

#include "proving.h"

namespace etc {

/// A graph, and a kernel of it that waits for nothing.
inline constexpr const char* kProgram = R"(etir 1;
dim n in 1..4080;
dim m in 1..8;
dim p in 1..8;
device @copy(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 8)) {
  for (r: 8) { let i = t * 8 + r; if (i < n) %y[i] = %x[i]; }
}
device @other(%x: f32[n], %y: out f32[n]) tasks (t: ceildiv(n, 8)) {
  for (r: 8) { let i = t * 8 + r; if (i < n) %y[i] = %x[i] + 1.0; }
}
device @pick(%x: f32[n], %ids: i32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[%ids[t]]; }
device @spread(%x: f32[n], %ids: i32[n], %y: out f32[n]) tasks (t: ceildiv(n, 8)) {
  for (r: 8) { let i = t * 8 + r; if (i < n) %y[%ids[i]] = %x[i]; }
}
device @add(%a: f32[n], %b: f32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %a[t] + %b[t]; }
device @scale(%x: f32[n], %y: out f32[n], by: int) tasks (t: n) { %y[t] = %x[t] * by; }
device @mark(%x: f32[n], %y: out i32[n]) tasks (t: n) { %y[t] = 0; }
device @some(%x: f32[n], %c: i32[1] in 0..n + 1, %y: out f32[n]) tasks (t: %c[0]) { %y[t] = %x[t]; }
device @rows(%x: f32[n * 4], %y: out f32[n]) tasks (t: n) { %y[t] = %x[t * 4]; }
device @flat(%x: f32[n * m], %y: out f32[n]) tasks (t: n) { %y[t] = %x[t * m]; }
device @ends(%x: f32[n * m], %y: out f32[m]) tasks (t: m) { %y[t] = %x[t]; }
device @few(%y: out f32[m]) tasks (t: p) { %y[0] = 1.0; }
graph @g(%w: f32[4, n], %ids: i32[n] in 0..n, %y: inout f32[4, n], %c: i32[1] in 0..n + 1,
         %i: inout i32[n], %f: f32[n * m], %z: inout f32[n], %q: inout f32[m]) {
  %t = buffer f32[4, n];
  %u = buffer f32[4, n];
  %v = buffer f32[n];
  %o = buffer f32[4, n];
  event %copied[l: 4] count ceildiv(n, 8);
  event %picked[l: 4] count n;
  repeat l in 0..4 {
    call @copy(%w[l], %t[l]) notify (t) => %copied[l];
    call @pick(%t[l], %ids, %u[l]) wait (t) => %copied[l] notify (t) => %picked[l];
    call @add(%t[l], %u[l], %y[l]) wait (t) => %picked[l];
  }
  // calls
}
kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n, %y: inout f32[4, n], %c: i32[1] in 0..n + 1,
          %i: inout i32[n], %f: f32[n * m], %z: inout f32[n], %q: inout f32[m]) of @g static {
  launch consumers 8 shared 232448;
  %t = workspace f32[4, n] at 0;
  %u = workspace f32[4, n] at 65536;
  %v = workspace f32[n] at 131072;
  %o = workspace f32[4, n] at 196608;
  on sm {
    repeat l in 0..4 {
      share (t: ceildiv(n, 8)) from 0 { run @copy[t](%w[l], %t[l]); }
      share (t: n) from 0 { run @pick[t](%t[l], %ids, %u[l]); }
      share (t: n) from 0 { run @add[t](%t[l], %u[l], %y[l]); }
    }
    // shares
  }
}
)";

/// Where calls and shares are added.
inline constexpr const char* kCalls = "// calls";
inline constexpr const char* kShares = "// shares";

struct Change {
  std::string what, by;
};

struct BodyCase {
  std::string name;
  std::vector<Change> changes;
  std::vector<bool> known;  // of the kernel's calls
};

inline const BodyCase kBodyCases[] = {
    {"the same", {}, {true, true, true}},
    {"another slice",
     {{"run @copy[t](%w[l], %t[l])", "run @copy[t](%w[3 - l], %t[l])"},
      {"run @add[t](%t[l], %u[l], %y[l])", "run @add[t](%t[0], %u[l], %y[3 - l])"}},
     {true, true, true}},
    {"the whole of a tensor for a slice",
     {{kCalls, "call @other(%w[0], %o[2]);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%w[1], %v); }"}},
     {true, true, true, true}},
    {"a slice for the whole of a tensor",
     {{kCalls, "call @other(%w[0], %v);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%w[1], %o[2]); }"}},
     {true, true, true, true}},
    {"another function",
     {{"run @copy[t](%w[l], %t[l])", "run @other[t](%w[l], %t[l])"}},
     {false, true, true}},
    {"other tasks",
     {{"share (t: ceildiv(n, 8)) from 0", "share (t: ceildiv(n, 8) + 1) from 0"}},
     {false, true, true}},
    {"other iterations",
     {{"repeat l in 0..4 {\n      share", "repeat l in 0..3 {\n      share"}},
     {false, false, false}},
    {"a repeat more around",
     {{"repeat l in 0..4 {\n      share", "repeat k in 0..1 { repeat l in 0..4 {\n      share"},
      {"run @add[t](%t[l], %u[l], %y[l]); }", "run @add[t](%t[l], %u[l], %y[l]); } }"}},
     {false, false, false}},
    {"a dimension more",
     {{kShares, "share (t: p) from 0 { run @few[t](%q); }"}},
     {false, false, false, false}},
    {"an input of which less is known",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,", "kernel @g(%w: f32[4, n], %ids: i32[n],"}},
     {true, false, true}},
    {"an input that is in another range",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "kernel @g(%w: f32[4, n], %ids: i32[n] in -1..n,"}},
     {true, false, true}},
    {"an input in a range up to another end",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n + 1,"}},
     {true, false, true}},
    {"an input of distinct values",
     {{"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "graph @g(%w: f32[4, n], %ids: i32[n] in 0..n distinct,"}},
     {true, false, true}},
    {"an input of ascending values",
     {{"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "graph @g(%w: f32[4, n], %ids: i32[n] in 0..n monotone,"}},
     {true, false, true}},
    {"another input",
     {{"run @pick[t](%t[l], %ids, %u[l])", "run @pick[t](%t[l], %more, %u[l])"},
      {"kernel @g(", "kernel @g(%more: i32[n] in 0..n, "}},
     {true, false, true}},
    {"an input that the launch may change",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in",
       "kernel @g(%w: f32[4, n], %ids: inout i32[n] in"},
      {"graph @g(%w: f32[4, n], %ids: i32[n] in", "graph @g(%w: f32[4, n], %ids: inout i32[n] in"}},
     {true, false, true}},
    {"an input whose values depend on others",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n",
       "kernel @g(%w: f32[4, n], %ids: i32[i: n] in 0..i + 1"},
      {"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n",
       "graph @g(%w: f32[4, n], %ids: i32[i: n] in 0..i + 1"}},
     {true, false, true}},
    {"slices of an input",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in", "kernel @g(%w: f32[4, n], %ids: i32[4, n] in"},
      {"graph @g(%w: f32[4, n], %ids: i32[n] in", "graph @g(%w: f32[4, n], %ids: i32[4, n] in"},
      {"call @pick(%t[l], %ids, %u[l])", "call @pick(%t[l], %ids[l], %u[l])"},
      {"run @pick[t](%t[l], %ids, %u[l])", "run @pick[t](%t[l], %ids[l], %u[l])"}},
     {true, false, true}},
    {"a slice of what is an input of its own in the kernel",
     {{"graph @g(%w: f32[4, n], %ids: i32[n] in", "graph @g(%w: f32[4, n], %ids: i32[4, n] in"},
      {"call @pick(%t[l], %ids, %u[l])", "call @pick(%t[l], %ids[l], %u[l])"}},
     {true, false, true}},
    {"a slice in the kernel of what is an input of its own",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in", "kernel @g(%w: f32[4, n], %ids: i32[4, n] in"},
      {"run @pick[t](%t[l], %ids, %u[l])", "run @pick[t](%t[l], %ids[l], %u[l])"}},
     {true, false, true}},
    {"one tensor for two parameters",
     {{"run @add[t](%t[l], %u[l], %y[l])", "run @add[t](%t[l], %t[l], %y[l])"}},
     {true, true, false}},
    {"two tensors for parameters that had one",
     {{"call @add(%t[l], %u[l], %y[l])", "call @add(%t[l], %t[l], %y[l])"}},
     {true, true, false}},
    {"a tensor that calls write for one that none writes",
     {{kCalls, "call @other(%w[0], %z);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%y[0], %z); }"}},
     {true, true, true, false}},
    {"a tensor that the caller fills for a buffer",
     {{kCalls, "call @other(%t[0], %z) wait (t) => %copied[0];"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%y[0], %z); }"}},
     {true, true, true, false}},
    {"scalars",
     {{kCalls, "call @scale(%w[0], %z, 3);"},
      {kShares, "share (t: n) from 0 { run @scale[t](%w[0], %z, 3); }"}},
     {true, true, true, false}},
    {"integers that are stored",
     {{kCalls, "call @mark(%w[0], %i);"},
      {kShares, "share (t: n) from 0 { run @mark[t](%w[0], %i); }"}},
     {true, true, true, false}},
    {"integers that the launch computes",
     {{kCalls,
       "call @mark(%w[0], %m) notify (t) => %marked; call @pick(%w[0], %m, %z) wait (t) => "
       "%marked;"},
      {"%o = buffer", "event %marked count n; %m = buffer i32[n]; %o = buffer"},
      {"%o = workspace", "%m = workspace i32[n] at 327680; %o = workspace"},
      {kShares,
       "share (t: n) from 0 { run @mark[t](%w[0], %m); } share (t: n) from 0 { run "
       "@pick[t](%w[0], %m, %z); }"}},
     {true, true, true, false, false}},
    {"an input that counts another",
     {{"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "kernel @g(%k: i32[4] in 0..n, %w: f32[4, n], %ids: i32[n] in 0..n counts %k,"},
      {"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
       "graph @g(%k: i32[4] in 0..n, %w: f32[4, n], %ids: i32[n] in 0..n counts %k,"}},
     {true, false, true}},
    {"tasks that data decide",
     {{kCalls, "call @some(%w[0], %c, %z);"},
      {kShares, "share (t: %c[0]) from 0 { run @some[t](%w[0], %c, %z); }"}},
     {true, true, true, false}},
    {"a constant times the rows",
     {{"%f: f32[n * m], %z: inout f32[n], %q: inout f32[m]) of",
       "%f: f32[n * 4], %z: inout f32[n], %q: inout f32[m]) of"},
      {"%f: f32[n * m], %z: inout f32[n], %q: inout f32[m]) {",
       "%f: f32[n * 4], %z: inout f32[n], %q: inout f32[m]) {"},
      {kCalls, "call @rows(%f, %z);"},
      {kShares, "share (t: n) from 0 { run @rows[t](%f, %z); }"}},
     {true, true, true, true}},
    {"a flat axis",
     {{kCalls, "call @flat(%f, %z);"}, {kShares, "share (t: n) from 0 { run @flat[t](%f, %z); }"}},
     {true, true, true, false}},
    {"an axis that is flat in the graph",
     {{kCalls, "call @flat(%f, %z); call @ends(%f, %q);"},
      {kShares, "share (t: m) from 0 { run @ends[t](%f, %q); }"}},
     {true, true, true, false}},
    {"an axis that is flat in the kernel",
     {{kCalls, "call @ends(%f, %q);"},
      {kShares,
       "share (t: n) from 0 { run @flat[t](%f, %z); } share (t: m) from 0 { run "
       "@ends[t](%f, %q); }"}},
     {true, true, true, false, false}},
    {"an axis that is flat in neither",
     {{kCalls, "call @ends(%f, %q);"}, {kShares, "share (t: m) from 0 { run @ends[t](%f, %q); }"}},
     {true, true, true, true}},
    {"slices that are no affine functions",
     {{kCalls, "call @other(%w[m / (n + m)], %z);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%w[m / (n + m)], %z); }"}},
     {true, true, true, false}},
    {"a slice that is no affine function in the graph",
     {{kCalls, "call @other(%w[m / (n + m)], %z);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%w[0], %z); }"}},
     {true, true, true, false}},
    {"a slice that is no affine function in the kernel",
     {{kCalls, "call @other(%w[0], %z);"},
      {kShares, "share (t: ceildiv(n, 8)) from 0 { run @other[t](%w[m / (n + m)], %z); }"}},
     {true, true, true, false}},
};

/// The program with these changes.
inline std::string Changed(const std::vector<Change>& changes) {
  std::string text = kProgram;
  for (const Change& change : changes) {
    text = Replace(text, change.what, change.by);
  }
  return text;
}

/// A loop over elements of a distinct tensor, of which sets keep the variable.
inline const std::vector<Change> kSpread = {
    {kCalls, "call @spread(%w[0], %ids, %z);"},
    {kShares, "share (t: ceildiv(n, 8)) from 0 { run @spread[t](%w[0], %ids, %z); }"},
    {"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
     "graph @g(%w: f32[4, n], %ids: i32[n] in 0..n distinct,"},
    {"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
     "kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n distinct,"}};

}  // namespace etc
