// What is taken over from the proof of a graph when its kernel is proved.
#include "analysis/proofs/body_proofs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/proofs/graph_proofs.h"
#include "analysis/sets/task_scope.h"
#include "known_bodies.h"
#include "proving.h"
#include "schedule/lower.h"
#include "schedule/passes.h"

namespace etc {
namespace {

/// A module, and the half of it that has graphs or kernels.
struct Halves {
  std::shared_ptr<const Module> graphs;
  std::shared_ptr<const Module> kernels;
};

template <class Kept>
std::shared_ptr<const Module> Without(const Module& module) {
  auto half = std::make_shared<Module>(module);
  std::erase_if(half->items, [](const Item& item) { return std::holds_alternative<Kept>(item); });
  return half;
}

std::unique_ptr<Module> Read(const std::string& text) { return Read(SourceFile("t.etir", text)); }

Halves Split(const std::string& text) {
  auto module = Read(text);
  return {Without<KernelId>(*module), Without<GraphId>(*module)};
}

std::string Summary(const ProofReport& report, const Diagnostics& diagnostics) {
  std::string text = RenderText(diagnostics, nullptr);
  for (const ProofGroup& group : kProofGroups) {
    const ProofTally& tally = report.*group.tally;
    text +=
        fmt::format("{}: {} {} {}\n", group.name, tally.proved, tally.refuted, tally.not_proved);
  }
  for (const auto* facts : {&report.assumptions, &report.not_proved}) {
    for (const std::string& fact : *facts) {
      text += fact + "\n";
    }
  }
  return text;
}

struct Compared {
  ProofReport alone;
  std::string text_alone;
  std::string text_behind;
};

/// The kernels, proved without the graphs and behind them.
Compared ProveBoth(const Halves& halves) {
  auto proofs = MakeGraphProofs(halves.graphs);
  Diagnostics of_graphs;
  ProofReport graphs = ProveGraphs(*proofs, true, of_graphs, 1);
  INFO(RenderText(of_graphs, nullptr));
  REQUIRE(!of_graphs.HasErrors());
  Compared compared;
  Diagnostics alone;
  compared.alone = Prove(*halves.kernels, true, alone, &graphs, 1);
  compared.text_alone = Summary(compared.alone, alone);
  Diagnostics behind;
  ProofReport report = ProveKernels(
      *halves.kernels, *proofs, [&] { return &graphs; }, true, behind, 1);
  compared.text_behind = Summary(report, behind);
  return compared;
}

const Graph& GraphOf(const Module& module) { return *module.graphs.begin(); }
const Kernel& KernelOf(const Module& module) { return *module.kernels.begin(); }

/// The regions of each call of a graph, as a proof hands them on.
void ReadAll(ProvedProgram& graph) {
  std::set<TensorId> written = WrittenBy(graph.unknowns.module(), graph.program);
  for (const ProgramCall& call : graph.program.calls) {
    graph.bodies[call.index] = {RegionsOf(graph.unknowns, call, written), 1, 2, 3};
  }
}

/// Sets of one scope have the same terms, whoever made them.
void CheckSame(const std::vector<AccessRegion>& found, const std::vector<AccessRegion>& read) {
  REQUIRE(found.size() == read.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].tensor == read[i].tensor);
    CHECK(found[i].write == read[i].write);
    CHECK(found[i].ahead == read[i].ahead);
    CHECK(found[i].exact == read[i].exact);
    CHECK(IsSubset(found[i].set, read[i].set));
    CHECK(IsSubset(read[i].set, found[i].set));
  }
}

/// Whether the body of each of the kernel's calls is known by the graph's.
std::vector<bool> Known(const Module& module) {
  ProvedProgram graph(module, MakeCallProgram(module, GraphOf(module)));
  ReadAll(graph);
  CallProgram program = MakeCallProgram(module, KernelOf(module));
  Unknowns unknowns(module, program, graph.context);
  KnownBodies bodies(graph, unknowns);
  std::set<TensorId> written = WrittenBy(module, program);
  std::vector<bool> known;
  for (const ProgramCall& call : program.calls) {
    CallRegions read = RegionsOf(unknowns, call, written);
    auto found = bodies.Find(call);
    known.push_back(found.has_value());
    if (found) {
      CHECK(found->bounds == 1);
      CHECK(found->iterations == 2);
      CHECK(found->coverage == 3);
      CheckSame(found->regions.all, read.all);
      CheckSame(found->regions.unwritten, read.unwritten);
    }
  }
  return known;
}

TEST_CASE("a body is known where the same would be asked of it") {
  for (const BodyCase& each : kBodyCases) {
    INFO(each.name);
    auto module = Read(Changed(each.changes));
    CHECK(Known(*module) == each.known);
  }
}

TEST_CASE("the proof behind that of a graph says what the proof alone says") {
  for (const BodyCase& each : kBodyCases) {
    Compared compared = ProveBoth(Split(Changed(each.changes)));
    INFO(each.name);
    CHECK(compared.alone.Refuted() > 0);
    CHECK(compared.text_behind == compared.text_alone);
  }
}

TEST_CASE("kernels that the passes make are proved alike") {
  for (const char* name : {"row_sum.etir", "mlp.etir", "attention.etir", "moe_routing.etir"}) {
    auto module = Read(ReadExample(name));
    Halves halves{std::make_shared<Module>(*module), nullptr};
    Diagnostics diagnostics;
    for (const Pass& pass : StaticPipeline()) {
      REQUIRE(pass.run(*module, {}, diagnostics));
    }
    halves.kernels = std::move(module);
    Compared compared = ProveBoth(halves);
    INFO(name);
    CHECK(compared.alone.bounds.proved > 0);
    // Which rows of experts tokens fill is what `%slot` says.
    CHECK((compared.alone.NotProved() > 0) == (name == std::string("moe_routing.etir")));
    CHECK(compared.text_behind == compared.text_alone);
  }
}

/// Terms of one task stand in what is known of another one's.
constexpr const char* kFlatTasks = R"(etir 1;
dim m in 1..20;
dim n in 1..64;
device @scale(%x: f32[m, n], %a: out f32[m, n]) tasks (t: m * n) {
  %a[t / n, t % n] = 0.5 * %x[t / n, t % n];
}
device @row(%a: f32[m, n], %s: out f32[m]) tasks (i: m) {
  %s[i] = sum(j: n) %a[i, j];
}
device @share(%x: f32[m, n], %s: f32[m], %y: out f32[m, n]) tasks (t: m * n) {
  %y[t / n, t % n] = %x[t / n, t % n] * %s[t / n];
}
graph @g(%x: f32[m, n], %y: out f32[m, n]) {
  %a = buffer f32[m, n];
  %s = buffer f32[m];
  call @scale(%x, %a);
  call @row(%a, %s);
  call @share(%x, %s, %y);
}
)";

/// A body with an index that is out of its extent, and one of which it is open.
constexpr const char* kWrong = R"(etir 1;
dim n in 1..1000;
device @half(%x: f32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[t / 2]; }
device @next(%y: f32[n], %ids: i32[n], %z: out f32[n]) tasks (t: n) { %z[t] = %y[select(n == 777, n, t)]; }
device @find(%z: f32[n], %ids: i32[n], %r: out f32[n]) tasks (t: n) { %r[t] = %z[%ids[t]]; }
graph @g(%x: f32[n], %ids: i32[n], %r: out f32[n]) {
  %y = buffer f32[n];
  %z = buffer f32[n];
  call @half(%x, %y);
  call @next(%y, %ids, %z);
  call @find(%z, %ids, %r);
}
)";

TEST_CASE("the proof behind a derivation of events says what the proof alone says") {
  std::vector<std::string> texts{kFlatTasks, kWrong};
  for (const char* name : {"row_sum.etir", "mlp.etir", "attention.etir", "moe_routing.etir"}) {
    texts.push_back(ReadExample(name));
  }
  for (const std::string& text : texts) {
    INFO(text);
    auto module = Read(text);
    Diagnostics diagnostics;
    std::shared_ptr<DerivedBodies> bodies = MakeDerivedBodies();
    ScheduleOptions options;
    REQUIRE(StripEvents(*module, options, diagnostics));
    options.bodies = bodies.get();
    REQUIRE(DeriveEvents(*module, options, diagnostics));
    Diagnostics alone;
    std::string text_alone = Summary(Prove(*module, true, alone, nullptr, 1), alone);
    Diagnostics behind;
    ProofReport report = Prove(*module, true, behind, nullptr, 1, bodies.get());
    CHECK(Summary(report, behind) == text_alone);
    CallProgram program = MakeCallProgram(*module, GraphOf(*module));
    CHECK(bodies->Take(program) == nullptr);  // it was handed out
  }
}

TEST_CASE("what is read while events are derived is handed on where all of it is proved") {
  for (auto [text, known] : {std::pair{kFlatTasks, 3}, std::pair{kWrong, 1}}) {
    auto module = Read(text);
    Diagnostics diagnostics;
    std::shared_ptr<DerivedBodies> bodies = MakeDerivedBodies();
    ScheduleOptions options;
    options.bodies = bodies.get();
    REQUIRE(DeriveEvents(*module, options, diagnostics));
    CallProgram program = MakeCallProgram(*module, GraphOf(*module));
    CallProgram few = program;
    few.ranges[SymbolId{0}] = {1, 2};
    CHECK(bodies->Take(few) == nullptr);
    std::shared_ptr<ReadBodies> read = bodies->Take(program);
    REQUIRE(read != nullptr);
    CHECK(read->bodies.size() == static_cast<size_t>(known));
    CHECK(diagnostics.all().empty());
  }
}

TEST_CASE("nothing is known of functions that a pass has changed") {
  Halves halves = Split(kProgram);
  auto changed = std::make_shared<Module>(*halves.kernels);
  for (DeviceId id : changed->devices.Ids()) {
    if (changed->devices[id].name == "copy") {
      changed->devices[id].body.clear();
    }
  }
  halves.kernels = changed;
  Compared compared = ProveBoth(halves);
  CHECK(compared.text_behind == compared.text_alone);
}

TEST_CASE("nothing is said of kernels whose graph is wrong") {
  Halves halves = Split(Changed({{"wait (t) => %picked[l]", "wait (t) => %picked[l] if t != 3"}}));
  auto proofs = MakeGraphProofs(halves.graphs);
  Diagnostics of_graphs;
  (void)ProveGraphs(*proofs, true, of_graphs, 1);
  CHECK(of_graphs.HasErrors());
  Diagnostics behind;
  ProofReport report = ProveKernels(
      *halves.kernels, *proofs, []() -> const ProofReport* { return nullptr; }, true, behind, 1);
  CHECK(behind.all().empty());
  CHECK(report.Refuted() == 0);
}

TEST_CASE("the program of a graph is that of the kernel's sizes") {
  Halves halves = Split(kProgram);
  CallProgram any = MakeCallProgram(*halves.graphs, GraphOf(*halves.graphs));
  CallProgram few = any;
  SymbolId n;
  for (SymbolId id : halves.graphs->symbols.Ids()) {
    n = halves.graphs->symbols[id].name == "n" ? id : n;
  }
  few.ranges[n] = {1, 16};
  GraphProofs proofs(halves.graphs);
  proofs.Announce({&any, &few});
  auto of_any = std::make_shared<ProvedProgram>(*halves.graphs, any);
  auto of_few = std::make_shared<ProvedProgram>(*halves.graphs, few);
  proofs.Put(0, of_any);
  proofs.Put(1, of_few);
  CHECK(proofs.Wait(*halves.kernels, "g", any.ranges).proved == of_any);
  CHECK(proofs.Wait(*halves.kernels, "g", few.ranges).proved == of_few);
  CHECK(proofs.Wait(*halves.kernels, "h", few.ranges).proved == nullptr);
  CHECK(!proofs.Wait(*halves.kernels, "h", few.ranges).wrong);
  CHECK(proofs.Wait(*halves.kernels, "g", {{n, {1, 17}}}).proved == nullptr);
  CHECK(!proofs.Wait(*halves.kernels, "g", few.ranges).wrong);
  proofs.Put(1, nullptr);
  CHECK(proofs.Wait(*halves.kernels, "g", few.ranges).wrong);
}

TEST_CASE("what is open in a graph's body is open in the kernel's") {
  std::string less = Changed(
      {{"graph @g(%w: f32[4, n], %ids: i32[n] in 0..n,", "graph @g(%w: f32[4, n], %ids: i32[n],"},
       {"kernel @g(%w: f32[4, n], %ids: i32[n] in 0..n,",
        "kernel @g(%w: f32[4, n], %ids: i32[n],"}});
  std::string computed =
      Changed({{"%ids: i32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[%ids[t]]; }",
                "%ids: i32[n], %y: out f32[n]) tasks (t: n) { %y[t] = %x[max(0, min(%ids[t] * "
                "%ids[0], n - 1))]; }"}});
  for (const std::string& text : {less, computed, Changed(kSpread)}) {
    Compared compared = ProveBoth(Split(text));
    CHECK(compared.text_behind == compared.text_alone);
  }
}

TEST_CASE("what is known of variables and elements is known of those that stand for them") {
  auto module = Read(Changed(kSpread));
  ProvedProgram graph(*module, MakeCallProgram(*module, GraphOf(*module)));
  ReadAll(graph);
  CallProgram program = MakeCallProgram(*module, KernelOf(*module));
  Unknowns unknowns(*module, program, graph.context);
  for (int i = 0; i < 100; ++i) {
    unknowns.Fresh("r");
  }
  size_t mark = unknowns.Mark();
  TaskScope task(unknowns, program.calls[3], 1);
  std::map<std::string, std::string> names;
  for (const AccessRegion& region : graph.bodies.at(3).regions.all) {
    CHECK(unknowns.Adopt(graph.unknowns, region.set, names));
  }
  size_t made = 0;
  for (const auto& [theirs, mine] : names) {
    if (theirs.find('#') == std::string::npos) {
      CHECK(mine == theirs);
      continue;
    }
    ++made;
    CHECK(unknowns.IsSince(mark, mine));
    const Term* before = graph.unknowns.Find(theirs);
    const Term* now = unknowns.Find(mine);
    CHECK((before == nullptr) == (now == nullptr));
    if (before != nullptr) {
      REQUIRE(now->args.size() == 1);
      CHECK(unknowns.Involved(now->args[0]).size() == 2);
      for (const std::string& name : graph.unknowns.Involved(before->args[0])) {
        std::vector<std::string> mine_too = unknowns.Involved(now->args[0]);
        CHECK(std::find(mine_too.begin(), mine_too.end(), names.at(name)) != mine_too.end());
      }
    }
    auto theirs_here = names;
    Set facts = unknowns.Adopt(graph.unknowns, graph.unknowns.FactsAbout(theirs), theirs_here);
    CHECK(IsSubset(facts, unknowns.FactsAbout(mine)));
    CHECK(IsSubset(unknowns.FactsAbout(mine), facts));
  }
  CHECK(made == 2);  // the variable of the loop, and the element
}

TEST_CASE("the facts of a known body are counted, and it is not read again") {
  Halves halves = Split(kProgram);
  CallProgram program = MakeCallProgram(*halves.graphs, GraphOf(*halves.graphs));
  auto proved = std::make_shared<ProvedProgram>(*halves.graphs, program);
  ReadAll(*proved);
  proved->bodies.at(0).bounds = 100'000;
  GraphProofs proofs(halves.graphs);
  proofs.Announce({&program});
  proofs.Put(0, proved);
  ProofReport none;
  Diagnostics diagnostics;
  ProofReport report = ProveKernels(
      *halves.kernels, proofs, [&] { return &none; }, true, diagnostics, 1);
  CHECK(report.bounds.proved > 100'000);
}

TEST_CASE("a body is not known when the budget for it is spent") {
  auto module = Read(Changed({{"run @copy[t](%w[l], %t[l])", "run @copy[t](%w[3 - l], %t[l])"}}));
  ProvedProgram graph(*module, MakeCallProgram(*module, GraphOf(*module)));
  ReadAll(graph);
  CallProgram program = MakeCallProgram(*module, KernelOf(*module));
  Unknowns unknowns(*module, program, graph.context);
  KnownBodies bodies(graph, unknowns);
  int known = 0;
  for (unsigned long budget = 1; budget < 4096; budget *= 2) {
    graph.context.SetExactBudget(budget);
    if (auto found = bodies.Find(program.calls[0])) {
      ++known;
      for (const AccessRegion& region : found->regions.all) {
        CHECK(region.set);
      }
    }
  }
  CHECK(known > 0);
  CHECK(known < 12);
  graph.context.SetExactBudget(0);
  CHECK(bodies.Find(program.calls[0]));
  graph.bodies.at(0).regions.all[0].set = {};  // as where it was spent for the graph
  CHECK(!bodies.Find(program.calls[0]));
}

}  // namespace
}  // namespace etc
