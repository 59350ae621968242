#include "emit/cxx_tasks.h"

#include <fmt/format.h>

#include <optional>

namespace etc {

void OpenLoop(TextWriter& out, Arch arch, const std::string& head) {
  if (arch != Arch::Host) {
    out.Line("#pragma unroll 1");
  }
  out.Open(head);
}

TaskLoop::TaskLoop(TextWriter& out, const KernelScope& scope, const RaisedShare& share, Arch arch)
    : out_(out), scope_(scope), raised_(share), share_(share.share), arch_(arch) {}

void TaskLoop::OpenOuter() {
  for (size_t i = 0; i < raised_.loops; ++i) {
    OpenLoop(out_, arch_, CxxFor(scope_, share_.axes[i]) + "{");
  }
}

void TaskLoop::CloseOuter() {
  for (size_t i = 0; i < raised_.loops; ++i) {
    out_.Close();
  }
}

/// The extents of the box.
void TaskLoop::WriteAxes() {
  for (size_t i = raised_.loops; i < share_.axes.size(); ++i) {
    const Axis& axis = share_.axes[i];
    out_.Line(fmt::format("const i64 lo{0} = {1}, n{0} = Max(0LL, {2} - lo{0});", i,
                          axis.lo ? CxxExpr(scope_, axis.lo) : "0LL", CxxExpr(scope_, axis.hi)));
  }
}

/// The box and, as `name`, its number of tasks.
void TaskLoop::WriteBox(std::string_view name) {
  WriteAxes();
  std::string total = "1LL";
  for (size_t i = raised_.loops; i < share_.axes.size(); ++i) {
    total += fmt::format(" * n{}", i);
  }
  out_.Line(fmt::format("const i64 {} = {};", name, total));
}

void TaskLoop::WriteCount() {
  if (IsNest()) {
    out_.Line("i64 tasks = 0;");
    OpenOuter();
    WriteBox("box");
    out_.Line("tasks += box;");
    CloseOuter();
  } else if (raised_.by_value) {
    const Axis& outer = share_.axes[0];
    out_.Open(fmt::format("const auto tasks_at = [&]([[maybe_unused]] i64 {}) {{",
                          CxxName(scope_.module(), outer.var)));
    WriteBox("box");
    out_.Line("return box;");
    out_.Close("};");
    out_.Line(fmt::format("TaskRanges<{}, decltype(tasks_at)> ranges({}, {}, tasks_at);",
                          raised_.coordinates == Division::Small ? "i32" : "i64",
                          outer.lo ? CxxExpr(scope_, outer.lo) : "0LL", CxxExpr(scope_, outer.hi)));
    out_.Line("const i64 tasks = ranges.tasks;");
  } else {
    WriteBox("tasks");
  }
}

void TaskLoop::WriteGiven(size_t given) {
  if (!IsNest() || given == 0) {
    WriteCount();
  }
  if (given == 0) {
    out_.Line("const i64 before = 0, some = tasks;");
  } else if (raised_.by_value) {
    out_.Line("const i64 before = TasksBefore(ranges, x0), some = tasks_at(x0);");
  } else if (IsNest()) {
    WriteGivenOfNest(given);
  } else {
    std::string number, some = "1LL";
    for (size_t i = 0; i < share_.axes.size(); ++i) {
      if (i < given) {
        std::string mine = fmt::format("x{0} - lo{0}", i);
        number = i == 0 ? mine : fmt::format("({}) * n{} + {}", number, i, mine);
      } else {
        some += fmt::format(" * n{}", i);
      }
    }
    out_.Line(
        fmt::format("const i64 some = tasks > 0 ? {} : 0, before = ({}) * some;", some, number));
  }
}

/// A walk over all boxes.
void TaskLoop::WriteGivenOfNest(size_t given) {
  std::string in_front = "false", same = "true";
  for (size_t i = given; i-- > 0;) {
    std::string name = CxxName(scope_.module(), share_.axes[i].var);
    in_front = fmt::format("{0} < x{1} || ({0} == x{1} && ({2}))", name, i, in_front);
    same = fmt::format("{} == x{}{}", name, i, i + 1 == given ? "" : " && " + same);
  }
  out_.Line("i64 before = 0, some = 0;");
  OpenOuter();
  WriteBox("box");
  out_.Line(fmt::format("before += {} ? box : 0;", in_front));
  out_.Line(fmt::format("some += {} ? box : 0;", same));
  CloseOuter();
}

/// Behind those of the iterations in front: of each one for each case, and of a queue those for
/// pushes, head and tail and for its places.
std::string FirstCounter(const KernelScope& scope, const RaisedTickets& tickets) {
  std::string iteration;
  for (const Axis& axis : tickets.iterations) {
    std::string lo = axis.lo ? CxxExpr(scope, axis.lo) : "0LL";
    std::string mine = fmt::format("({} - {})", CxxName(scope.module(), axis.var), lo);
    iteration = iteration.empty() ? mine
                                  : fmt::format("({} * ({} - {}) + {})", iteration,
                                                CxxExpr(scope, axis.hi), lo, mine);
  }
  std::string first = CxxExpr(scope, tickets.first);
  std::string counters =
      tickets.capacity
          ? fmt::format("({}LL + ({} + {}LL) / {}LL)", tickets.counters,
                        CxxExpr(scope, tickets.capacity), kPlacesPerCounter - 1, kPlacesPerCounter)
          : fmt::format("{}LL", tickets.cases);
  return iteration.empty() ? first : fmt::format("{} + {} * {}", first, iteration, counters);
}

std::string TaskLoop::Counter() const {
  const RaisedTickets& tickets = raised_.tickets.value();
  return fmt::format("{} + {}LL", FirstCounter(scope_, tickets), tickets.place);
}

std::string TaskLoop::Begin() const {
  const std::optional<size_t>& behind = raised_.tickets.value().behind;
  return behind ? fmt::format("end_{}", *behind) : "0LL";
}

void TaskLoop::WriteFirst(const std::function<void()>& taken) {
  if (raised_.tickets && raised_.tickets->pushed) {
    out_.Line(fmt::format("i64 task = entry - {};", Begin()));
    return;
  }
  if (raised_.tickets) {
    if (arch_ == Arch::Host) {
      out_.Open("const auto take = [&]() -> i64 {");
      out_.Line(fmt::format("AtomicRef<u32> counter(events.counters[({}) * Events::kStride]);",
                            Counter()));
      if (raised_.arrivals.empty()) {
        out_.Line("return counter.fetch_add(1, __ATOMIC_RELAXED);");
      } else {
        out_.Line("const i64 ticket = counter.fetch_add(1, __ATOMIC_RELAXED);");
        out_.Open("if (ticket < tasks) {");
        WriteCoordinates("ticket");
        taken();
        out_.Close();
        out_.Line("return ticket;");
      }
      out_.Close("};");
    }
    if (IsNest()) {
      out_.Line("i64 before = 0;");
    }
    out_.Line(fmt::format("i64 task = {};", Take()));
    return;
  }
  bool moves = scope_.raised().moves;
  out_.Line(fmt::format("i64 task = sm - {}Mod({}{}, sms);", DivisionName(raised_.first),
                        CxxExpr(scope_, share_.first), moves ? " + moved" : ""));
  out_.Line("task += task < 0 ? sms : 0;");
  if (raised_.moves_others) {
    out_.Line(fmt::format("moved = {}Mod(moved + tasks, sms);", DivisionName(raised_.coordinates)));
  }
}

std::string_view TaskLoop::OpenBox() {
  if (!IsNest()) {
    return "tasks";
  }
  OpenOuter();
  WriteBox("box");
  return "box";
}

std::string TaskLoop::Take() const {
  if (raised_.tickets && raised_.tickets->pushed) {
    return "kBeyondTasks";
  }
  std::string take = arch_ == Arch::Host ? "take()" : "tickets.Take()";
  return IsNest() ? take + " - before" : take;
}

std::string TaskLoop::Step() const { return raised_.tickets ? "task = " + Take() : "task += sms"; }

void TaskLoop::Open(const std::string& step) {
  std::string_view count = OpenBox();
  OpenLoop(out_, arch_, fmt::format("for (; task < {}; {}) {{", count, step));
  WriteCoordinates();
}

void TaskLoop::Close() {
  out_.Close();
  if (IsNest()) {
    out_.Line("task -= box;");
    if (raised_.tickets && !raised_.tickets->pushed) {
      out_.Line("before += box;");
    }
    CloseOuter();
  }
}

void TaskLoop::WriteCoordinates(std::string_view task) {
  if (raised_.by_value) {
    const char* ranges = task == "ahead" ? "ranges_ahead" : "ranges";
    out_.Line(fmt::format("const i64 {} = {}.Find({});",
                          CxxName(scope_.module(), share_.axes[0].var), ranges, task));
    WriteAxes();
    out_.Line(fmt::format("i64 rest = {} - {}.first;", task, ranges));
  } else {
    out_.Line(fmt::format("i64 rest = {};", task));
  }
  std::string_view width = DivisionName(raised_.coordinates);
  for (size_t i = share_.axes.size(); i-- > raised_.loops;) {
    std::string name = CxxName(scope_.module(), share_.axes[i].var);
    out_.Line(i == raised_.loops ? fmt::format("const i64 {} = lo{} + rest;", name, i)
                                 : fmt::format("const i64 {0} = lo{1} + {2}Mod(rest, n{1}); rest = "
                                               "{2}Div(rest, n{1});",
                                               name, i, width));
  }
}

void TaskLoop::WriteAhead() {
  if (raised_.by_value) {
    out_.Line("[[maybe_unused]] auto ranges_ahead = ranges;");
  }
}

std::string TaskLoop::Coordinates() const {
  std::string text;
  for (const Axis& axis : share_.axes) {
    text += ", " + CxxName(scope_.module(), axis.var);
  }
  return text;
}

}  // namespace etc
