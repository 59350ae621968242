// What a kernel's range decides is not asked again in its text: in every kernel that the compiler
// makes of every model, no `select` of a constant, no call without tasks, and no buffer, event or
// value that nothing uses.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "compile/front.h"
#include "compile/phase_timer.h"
#include "compile/pipeline.h"
#include "ir/evaluate.h"
#include "ir/printer.h"
#include "ir/walk.h"
#include "text/parser.h"

namespace etc {
namespace {

const std::filesystem::path kRoot = ETC_ROOT;

/// What is left in a kernel that its range makes needless, a line for each.
class Leftovers {
 public:
  Leftovers(const Module& module, const Kernel& kernel)
      : module_(module), kernel_(kernel), ranges_(RangesOf(module, kernel)) {}

  std::string Find() {
    for (SymbolId value : kernel_.values) {
      Add(module_.symbols[value].value);
    }
    for (const std::vector<NodeId>* block : {&kernel_.declarations, &kernel_.body}) {
      VisitNodes(module_, *block, [&](NodeId id) {
        std::visit([&](const auto& node) { AddNode(node); }, module_.nodes[id]);
      });
    }
    for (SymbolId value : kernel_.values) {
      Need(symbols_.contains(value), "nothing uses " + module_.symbols[value].name);
    }
    for (TensorId buffer : buffers_) {
      Need(tensors_.contains(buffer), "nothing uses %" + module_.tensors[buffer].name);
    }
    for (EventId event : events_) {
      Need(waited_.contains(event), "nothing waits for %" + module_.events[event].name);
      Need(notified_.contains(event), "nothing notifies %" + module_.events[event].name);
    }
    return found_;
  }

 private:
  void Need(bool holds, const std::string& otherwise) {
    if (!holds) {
      found_ += "@" + kernel_.name + ": " + otherwise + "\n";
    }
  }

  void Add(ExprId expr) {
    VisitExprs(module_, expr, [&](ExprId id) {
      const Expr& each = module_.exprs[id];
      if (const auto* ref = std::get_if<SymbolRef>(&each)) {
        symbols_.insert(ref->symbol);
      } else if (const auto* load = std::get_if<Load>(&each)) {
        tensors_.insert(load->tensor);
      } else if (const auto* call = std::get_if<Call>(&each)) {
        Need(call->op != Intrinsic::Select || !Decide(module_, call->args[0], {}, ranges_),
             "one side of " + Print(module_, id));
      }
    });
  }
  void AddAll(const std::vector<ExprId>& exprs) {
    for (ExprId id : exprs) {
      Add(id);
    }
  }
  void AddRefs(const std::vector<EventRef>& refs, std::set<EventId>& events) {
    for (const EventRef& ref : refs) {
      events.insert(ref.event);
      Need(!ref.guard || !Decide(module_, ref.guard, {}, ranges_),
           "a guard that is decided, of %" + module_.events[ref.event].name);
      VisitExprs(module_, ref, [&](ExprId id) { Add(id); });
    }
  }

  void AddNode(const BufferDecl& buffer) {
    buffers_.insert(buffer.tensor);
    AddAll(module_.tensors[buffer.tensor].shape);
    Add(module_.tensors[buffer.tensor].offset);
  }
  void AddNode(const EventDecl& decl) {
    events_.insert(decl.event);
    const Event& event = module_.events[decl.event];
    Add(event.count);
    Add(event.first);
    for (const EventDim& dim : event.dims) {
      Add(dim.extent);
    }
  }
  void AddNode(const Repeat& repeat) {
    Add(repeat.lo);
    Add(repeat.hi);
    Need(!repeat.body.empty(), "a repeat has nothing to repeat");
  }
  void AddNode(const Share& share) {
    Need(MayHaveTasks(module_, share.axes, ranges_),
         "no tasks of @" + module_.devices[share.callee].name);
    for (const Axis& axis : share.axes) {
      Add(axis.lo);
      Add(axis.hi);
    }
    Add(share.first);
    AddAll(share.scalars);
    for (const Argument& argument : share.args) {
      tensors_.insert(argument.tensor);
      AddAll(argument.indices);
    }
    AddRefs(share.range_waits, waited_);
    AddRefs(share.enter_waits, waited_);
    AddRefs(share.waits, waited_);
    AddRefs(share.notifies, notified_);
    AddRefs(share.leave_notifies, notified_);
  }
  void AddNode(const Dispatch& dispatch) {
    Add(dispatch.tickets);
    for (NodeId id : dispatch.cases) {
      AddNode(std::get<Share>(module_.nodes[id]));
    }
  }
  void AddNode(const OneOf<CallNode, Region> auto&) { FAIL("a graph's node in a kernel"); }

  const Module& module_;
  const Kernel& kernel_;
  DimRanges ranges_;
  std::string found_;
  std::set<SymbolId> symbols_;
  std::set<TensorId> buffers_, tensors_;
  std::set<EventId> events_, waited_, notified_;
};

/// Of all kernels of a program, for CUDA or for the host; `config` may be empty.
void CheckKernels(const std::filesystem::path& program, const std::filesystem::path& config,
                  bool flag_in_data) {
  SourceOptions source;
  source.file = program.string();
  if (!config.empty()) {
    source.configs = {config.string()};
  }
  INFO(program.string(), " ", config.string());
  Session session(DiagnosticsFormat::Text);
  auto module = LoadModule(source, session);
  LoweringOptions lowering;
  lowering.schedule.flag_in_data = flag_in_data;
  PhaseTimer timer;
  bool scheduled = module != nullptr &&
                   RunPasses(*module, StaticPipeline(lowering.schedule), lowering, timer, session);
  INFO(RenderText(session.diagnostics(), session.source()));
  REQUIRE(scheduled);
  size_t kernels = 0;
  for (const Item& item : module->items) {
    if (const auto* id = std::get_if<KernelId>(&item)) {
      CHECK(Leftovers(*module, module->kernels[*id]).Find() == "");
      ++kernels;
    }
  }
  CHECK(kernels > 0);
}

std::vector<std::filesystem::path> Files(const std::string& folder, const std::string& begin,
                                         const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  REQUIRE(!files.empty());
  return files;
}

TEST_CASE("what a range makes needless is found in a kernel") {
  SourceFile source("t.etir", R"(etir 1;
dim n in 1..64;
device @f(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }
device @none(%x: f32[n], %y: out f32[n]) tasks (i: n / 16) { %y[i] = %x[i]; }
kernel @k(%x: f32[n], %y: out f32[n]) of @g static where (n in 1..8) {
  launch consumers 8 shared 232448;
  let unused = n * 2;
  %a = workspace f32[n] at 0;
  event %done[n] count 1;
  on sm {
    share (i: n) from select(n < 9, 0, n) { run @f[i](%x, %y); notify %done[i] if n > 0; }
    share (i: n / 16) from n { run @none[i](%x, %y); }
  }
}
)");
  Diagnostics diagnostics;
  auto module = Parse(source, diagnostics);
  INFO(RenderText(diagnostics, &source));
  REQUIRE(module != nullptr);
  CHECK(Leftovers(*module, module->kernels[KernelId{0}]).Find() ==
        "@k: one side of select(n < 9, 0, n)\n"
        "@k: a guard that is decided, of %done\n"
        "@k: no tasks of @none\n"
        "@k: nothing uses unused\n"
        "@k: nothing uses %a\n"
        "@k: nothing waits for %done\n");
}

TEST_CASE("the kernels of the examples are folded for their ranges") {
  for (const std::filesystem::path& program : Files("ir-examples", "", ".etir")) {
    std::string name = program.stem().string();
    bool model = name == "qwen3" || name == "llama";
    CheckKernels(program, model ? kRoot / "ir-examples/configs" / (name + "-tiny.json") : "", true);
  }
}

TEST_CASE("the kernels of each size of a model are folded for their ranges") {
  for (const auto& [program, family] :
       {std::pair{"qwen3", "qwen3"}, std::pair{"llama", "llama"}, std::pair{"llama", "mistral"}}) {
    for (const std::filesystem::path& config : Files("ir-examples/configs", family, ".json")) {
      for (bool flag_in_data : {true, false}) {
        CheckKernels(kRoot / "tests/programs" / fmt::format("{}_by_hand.etir", program), config,
                     flag_in_data);
      }
    }
  }
}

}  // namespace
}  // namespace etc
