#include "emit/cxx_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/checked.h"
#include "ir/rewrite.h"

namespace etc {

void OpenLoop(TextWriter& out, Arch arch, const std::string& head) {
  if (arch != Arch::Host) {
    out.Line("#pragma unroll 1");
  }
  out.Open(head);
}

TaskLoop::TaskLoop(TextWriter& out, const KernelScope& scope, const Share& share, Arch arch)
    : out_(out), scope_(scope), share_(share), arch_(arch) {
  for (size_t i = 0; i < share.axes.size(); ++i) {
    if (Mentions(scope.module(), share.axes, {share.axes[i].var})) {
      outer_ = i + 1;
    }
  }
}

void TaskLoop::OpenOuter() {
  for (size_t i = 0; i < outer_; ++i) {
    OpenLoop(out_, arch_, CxxFor(scope_, share_.axes[i]) + "{");
  }
}

void TaskLoop::CloseOuter() {
  for (size_t i = 0; i < outer_; ++i) {
    out_.Close();
  }
}

/// The box and, as `name`, its number of tasks.
void TaskLoop::WriteBox(std::string_view name) {
  std::string total = "1LL";
  for (size_t i = outer_; i < share_.axes.size(); ++i) {
    const Axis& axis = share_.axes[i];
    out_.Line(fmt::format("const i64 lo{0} = {1}, n{0} = Max(0LL, {2} - lo{0});", i,
                          axis.lo ? CxxExpr(scope_, axis.lo) : "0LL", CxxExpr(scope_, axis.hi)));
    total += fmt::format(" * n{}", i);
  }
  out_.Line(fmt::format("const i64 {} = {};", name, total));
}

void TaskLoop::WriteRange() {
  if (IsNest()) {
    out_.Line("i64 tasks = 0;");
    OpenOuter();
    WriteBox("box");
    out_.Line("tasks += box;");
    CloseOuter();
  } else {
    WriteBox("tasks");
  }
  out_.Line(fmt::format("i64 task = sm - {}({}, sms);",
                        FitsU32(scope_, share_.first, 0) ? "SmallMod" : "FloorMod",
                        CxxExpr(scope_, share_.first)));
  out_.Line("task += task < 0 ? sms : 0;");
}

std::string_view TaskLoop::OpenBox() {
  if (!IsNest()) {
    return "tasks";
  }
  OpenOuter();
  WriteBox("box");
  return "box";
}

void TaskLoop::Open(std::string_view step) {
  std::string_view count = OpenBox();
  OpenLoop(out_, arch_, fmt::format("for (; task < {}; {}) {{", count, step));
  WriteCoordinates();
}

void TaskLoop::Close() {
  out_.Close();
  if (IsNest()) {
    out_.Line("task -= box;");
    CloseOuter();
  }
}

void TaskLoop::WriteCoordinates(std::string_view task) {
  out_.Line(fmt::format("i64 rest = {};", task));
  bool small = IsSmall();
  for (size_t i = share_.axes.size(); i-- > outer_;) {
    std::string name = CxxName(scope_.module(), share_.axes[i].var);
    out_.Line(i == outer_ ? fmt::format("const i64 {} = lo{} + rest;", name, i)
                          : fmt::format("const i64 {0} = lo{1} + {2}Mod(rest, n{1}); rest = "
                                        "{2}Div(rest, n{1});",
                                        name, i, small ? "Small" : "Floor"));
  }
}

/// Whether a share has less than 2^31 tasks at all sizes.
bool TaskLoop::IsSmall() const {
  int64_t tasks = 1;
  for (const Axis& axis : share_.axes) {
    auto hi = Bounds(scope_.module(), axis.hi, scope_.intervals(), scope_.ranges());
    auto lo = axis.lo ? Bounds(scope_.module(), axis.lo, scope_.intervals(), scope_.ranges())
                      : Interval{0, 0};
    auto extent = hi && lo ? CheckedSub(hi->hi, lo->lo) : std::nullopt;
    auto product = extent ? CheckedMul(tasks, std::max<int64_t>(*extent, 1)) : std::nullopt;
    if (!product || *product > std::numeric_limits<int32_t>::max()) {
      return false;
    }
    tasks = *product;
  }
  return true;
}

std::string TaskLoop::Coordinates() const {
  std::string text;
  for (const Axis& axis : share_.axes) {
    text += ", " + CxxName(scope_.module(), axis.var);
  }
  return text;
}

}  // namespace etc
