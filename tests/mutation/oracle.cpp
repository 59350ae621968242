#include "oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/ranks.h"
#include "draws.h"
#include "ir/requirements.h"
#include "machine.h"
#include "pushes.h"

namespace etc::mutation {
namespace {

std::vector<Env> SmallSizes(const Module& module, const JudgeOptions& options) {
  std::vector<Env> all{{}};
  for (SymbolId id : module.symbols.Ids()) {
    const Symbol& symbol = module.symbols[id];
    if (symbol.kind != SymbolKind::Dim) {
      continue;
    }
    int64_t lo = *EvaluateInt(module, symbol.lo, {});
    int64_t hi = *EvaluateInt(module, symbol.hi, {});
    int64_t step = symbol.multiple ? *EvaluateInt(module, symbol.multiple, {}) : 1;
    std::vector<Env> next;
    for (const Env& env : all) {
      for (int64_t value = lo; value <= std::min(hi, lo + step * (options.values - 1));
           value += step) {
        next.push_back(env);
        next.back()[id] = value;
      }
    }
    all = std::move(next);
  }
  std::erase_if(all, [&](const Env& env) { return !RequirementsHold(module, env); });
  if (all.size() > options.combinations) {  // evenly spread, the first and the last among them
    std::vector<Env> some;
    for (size_t i = 0; i < options.combinations; ++i) {
      some.push_back(all[i * (all.size() - 1) / (options.combinations - 1)]);
    }
    all = std::move(some);
  }
  return all;
}

std::vector<Env> Named(const Module& module,
                       const std::vector<std::map<std::string, int64_t>>& sizes) {
  std::vector<Env> all;
  for (const auto& named : sizes) {
    all.emplace_back();
    for (SymbolId id : module.symbols.Ids()) {
      auto found = named.find(module.symbols[id].name);
      if (module.symbols[id].kind == SymbolKind::Dim && found != named.end()) {
        all.back()[id] = found->second;
      }
    }
  }
  return all;
}

bool HasIndexTensors(const Module& module) {
  return std::any_of(module.tensors.begin(), module.tensors.end(),
                     [](const Tensor& tensor) { return KindOf(tensor.type) == ValueKind::Int; });
}

bool IsFor(const Module& module, const Kernel& kernel, const Env& env) {
  return std::all_of(kernel.where.begin(), kernel.where.end(), [&](const Where& where) {
    int64_t value = env.at(where.dim);
    return EvaluateInt(module, where.lo, {}) <= value && value <= EvaluateInt(module, where.hi, {});
  });
}

class Judging {
 public:
  Judging(const ConcreteProgram& program, const std::string& where, size_t max_states,
          Verdict& verdict)
      : program_(program), where_(where), max_states_(max_states), verdict_(verdict) {}

  void Run() {
    if (!program_.overwritten.empty()) {
      Add(Wrong::Overwritten, program_.overwritten);
    }
    if (!program_.outside.empty()) {
      Add(Wrong::OutOfBounds, program_.outside);
      return;  // what such an access does is not defined
    }
    if (program_.unknown) {
      return;
    }
    for (const auto& [device, tensor] : program_.dependent) {
      verdict_.dependent.emplace(device, tensor);
      Add(Wrong::Iterations,
          fmt::format("iterations of `@{}` touch an element of `%{}`", device, tensor));
    }
    CheckCounts();
    CheckPushes();
    CheckReceived();
    FindUndefined();
    FindConflicts();
    // One SM waits soonest for what stands behind, own SMs order least; between them for certainty.
    for (int64_t sms : {int64_t{1}, int64_t{2}, int64_t{3}, MostSms()}) {
      Launch(sms);
    }
    if (max_states_ > 0 && HasDraws(program_)) {
      for (int64_t sms : {int64_t{1}, int64_t{2}, int64_t{3}}) {
        HoldAgainstDraws(sms);
      }
    }
  }

 private:
  void Add(Wrong wrong, const std::string& text) { verdict_.wrong.emplace(wrong, text + where_); }

  /// An SM for each task; or, where tasks must share one, for each place of a task and one more.
  int64_t MostSms() const {
    if (std::find(program_.of_sm.begin(), program_.of_sm.end(), true) == program_.of_sm.end()) {
      return Machine::kOwnSm;
    }
    int64_t places = 0;
    for (const Step& step : program_.steps) {
      places = std::max(places, step.first + step.tasks);
    }
    return places + 1;
  }

  void CheckCounts() {
    std::vector<int64_t> notified(program_.needed.size(), 0);
    std::vector<bool> used(program_.needed.size(), false);
    auto notify = [&](const std::vector<Signal>& signals, int64_t times) {
      for (const Signal& signal : signals) {
        notified[signal.element] += times * signal.times;
        used[signal.element] = true;
      }
    };
    for (const Task& task : program_.tasks) {
      notify(task.notifies, 1);
      notify(task.arrivals, 1);
      notify(task.waits, 0);
    }
    for (const Queue& queue : program_.queues) {
      for (const Push& push : queue.pushes) {
        notify(push.arrivals, 1);
      }
    }
    for (const Step& step : program_.steps) {
      notify(step.leave, step.tasks);
      notify(step.tasks == 0 ? std::vector<Signal>() : step.enter, 0);
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i] && notified[i] != program_.needed[i]) {
        Add(Wrong::Count, fmt::format("{} counts {}, notified {} times", program_.element_names[i],
                                      program_.needed[i], notified[i]));
      }
    }
  }

  void CheckPushes() {
    PushFaults faults = FindPushFaults(program_);
    for (const auto& [wrong, fault] :
         {std::pair{Wrong::Hang, &faults.never}, std::pair{Wrong::Overflow, &faults.overflow},
          std::pair{Wrong::Early, &faults.early}}) {
      if (*fault) {
        Add(wrong, **fault);
      }
    }
  }

  /// What reaches a peer must be there before the peer's launch ends.
  void CheckReceived() {
    std::vector<bool> waited(program_.needed.size(), false);
    for (const Step& step : program_.steps) {
      for (const Signal& signal : step.tasks == 0 ? std::vector<Signal>() : step.enter) {
        waited[signal.element] = true;
      }
      for (size_t t = step.begin; t < step.end; ++t) {
        for (const Signal& signal : program_.tasks[t].waits) {
          waited[signal.element] = true;
        }
      }
    }
    for (const Step& step : program_.steps) {
      std::map<int64_t, std::set<int64_t>> notified;  // by the number of a task: ranks
      for (size_t t = step.begin; t < step.end; ++t) {
        for (const auto* signals : {&program_.tasks[t].notifies, &step.leave}) {
          for (const Signal& signal : *signals) {
            const int64_t rank = program_.element_ranks[signal.element];
            notified[program_.tasks[t].number].insert(rank);
            if (rank != step.rank && !waited[signal.element]) {
              Add(Wrong::Unreceived,
                  fmt::format("{} of a peer is notified, and no task waits for it",
                              program_.element_names[signal.element]));
            }
          }
        }
      }
      for (size_t t = step.begin; t < step.end; ++t) {
        const Task& task = program_.tasks[t];
        for (int64_t rank : task.written_ranks) {
          if (rank != step.rank && !notified[task.number].contains(rank)) {
            Add(Wrong::Unreceived,
                fmt::format("{} writes at rank {}, and notifies nothing there", task.name, rank));
          }
        }
      }
    }
  }

  void FindUndefined() {
    for (const auto& [device, tensor] : program_.undefined) {
      Add(Wrong::Undefined,
          fmt::format("`@{}` reads of `%{}` what it has not written", device, tensor));
    }
    std::vector<bool> written = program_.cell_given;
    for (const Step& step : program_.steps) {
      for (size_t t = step.begin; t < step.end; ++t) {
        const Task& task = program_.tasks[t];
        for (size_t cell : task.unwritten) {
          if (!written[cell]) {
            Add(Wrong::Undefined, fmt::format("{} reads what no task wrote of `%{}`", task.name,
                                              program_.cell_tensors[cell]));
          }
        }
      }
      for (size_t t = step.begin; t < step.end; ++t) {
        for (size_t cell : program_.tasks[t].writes) {
          written[cell] = true;
        }
      }
    }
  }

  /// For each task those behind it in program order that must not overtake it.
  void FindConflicts() {
    size_t count = program_.tasks.size();
    conflicts_.assign(count, {});
    std::vector<std::vector<std::pair<size_t, bool>>> users(program_.cell_tensors.size());
    for (size_t t = 0; t < count; ++t) {
      const Task& task = program_.tasks[t];
      for (size_t cell : task.writes) {
        users[cell].push_back({t, true});
      }
      for (size_t cell : task.reads) {
        if (users[cell].empty() || users[cell].back() != std::pair{t, true}) {
          users[cell].push_back({t, false});
        }
      }
    }
    for (size_t cell = 0; cell < users.size(); ++cell) {
      bool written = std::any_of(users[cell].begin(), users[cell].end(),
                                 [](const auto& user) { return user.second; });
      for (size_t i = 0; written && i < users[cell].size(); ++i) {
        for (size_t j = i + 1; j < users[cell].size(); ++j) {
          const auto& [a, a_writes] = users[cell][i];
          const auto& [b, b_writes] = users[cell][j];
          if (a != b && (a_writes || b_writes)) {
            conflicts_[a].emplace(b, cell);
          }
        }
      }
    }
  }

  void Launch(int64_t sms) {
    Machine machine(program_, sms);
    std::string on =
        sms == Machine::kOwnSm ? " on SMs of their own" : fmt::format(", sms = {}", sms);
    auto hang = machine.FindHang();
    if (hang) {
      Add(Wrong::Hang,
          fmt::format("a wait for {} never ends{}", program_.element_names[*hang], on));
    }
    std::vector<std::vector<bool>> overtakes(program_.tasks.size());
    for (size_t a = 0; a < conflicts_.size(); ++a) {
      if (conflicts_[a].empty()) {
        continue;
      }
      overtakes[a] = machine.StartBeforeEndOf(a);
      for (const auto& [b, cell] : conflicts_[a]) {
        if (overtakes[a][b]) {
          auto device = [&](size_t task) {
            const std::string& name = program_.tasks[task].name;
            return name.substr(0, name.find('['));
          };
          verdict_.racing.insert({program_.cell_tensors[cell], device(a), device(b)});
          Add(Wrong::Race, fmt::format("{} may start before {} ends, and both touch `%{}`{}",
                                       program_.tasks[b].name, program_.tasks[a].name,
                                       program_.cell_tensors[cell], on));
        }
      }
    }
    auto all = max_states_ > 0 ? machine.Explore(max_states_) : std::nullopt;
    if (all) {
      ++verdict_.explored;
      bool same = all->hangs == hang.has_value();
      for (size_t a = 0; a < overtakes.size(); ++a) {
        same = same && (overtakes[a].empty() || overtakes[a] == all->starts_before_end[a]);
      }
      verdict_.disagreements += same ? 0 : 1;
    }
  }

  /// However SMs draw their tasks, nothing goes wrong that does not without draws.
  void HoldAgainstDraws(int64_t sms) {
    auto all = ExploreDraws(program_, sms, max_states_);
    if (!all) {
      return;
    }
    ++verdict_.explored;
    bool same = !all->hangs || verdict_.wrong.contains(Wrong::Hang) ||
                verdict_.wrong.contains(Wrong::Early) || verdict_.wrong.contains(Wrong::Count);
    for (size_t a = 0; a < conflicts_.size(); ++a) {
      for (const auto& [b, cell] : conflicts_[a]) {
        same = same && (!all->starts_before_end[a][b] || verdict_.wrong.contains(Wrong::Race));
      }
    }
    verdict_.disagreements += same ? 0 : 1;
  }

  const ConcreteProgram& program_;
  const std::string& where_;
  size_t max_states_;
  Verdict& verdict_;
  std::vector<std::map<size_t, size_t>> conflicts_;  // by the first task: the second, and a cell
};

}  // namespace

const char* Name(Wrong wrong) {
  switch (wrong) {
    case Wrong::OutOfBounds:
      return "out of bounds";
    case Wrong::Overwritten:
      return "overwritten";
    case Wrong::Hang:
      return "hang";
    case Wrong::Race:
      return "race";
    case Wrong::Iterations:
      return "dependent iterations";
    case Wrong::Count:
      return "count";
    case Wrong::Overflow:
      return "overflow";
    case Wrong::Early:
      return "early";
    case Wrong::Undefined:
      return "undefined read";
    case Wrong::Unreceived:
      return "unreceived";
  }
  return "";
}

namespace {

void JudgeOne(const Module& module, int64_t ranks, const JudgeOptions& options, Verdict& verdict) {
  std::vector<DataChoice> choices{{DataChoice::Kind::Least, 0}};
  if (HasIndexTensors(module)) {
    choices.push_back({DataChoice::Kind::Greatest, 0});
    for (uint64_t seed = 1; seed <= options.random_data; ++seed) {
      choices.push_back({DataChoice::Kind::Random, seed});
    }
  }
  std::vector<Env> sizes =
      options.sizes.empty() ? SmallSizes(module, options) : Named(module, options.sizes);
  for (const Env& env : sizes) {
    std::string where = ranks > 1 ? fmt::format(", {} ranks", ranks) : "";
    for (const auto& [dim, value] : env) {
      where += fmt::format(", {} = {}", module.symbols[dim].name, value);
    }
    for (DataChoice choice : choices) {
      choice.assumes = options.assumes;
      auto judge = [&](const ConcreteProgram& program) {
        if (!program.unknown || !program.outside.empty() || !program.overwritten.empty()) {
          verdict.judged = true;
          Judging(program, where, options.max_states, verdict).Run();
        }
      };
      for (const Item& item : module.items) {
        if (const auto* graph = std::get_if<GraphId>(&item)) {
          judge(MakeConcrete(module, module.graphs[*graph], env, choice, ranks));
        } else if (const auto* kernel = std::get_if<KernelId>(&item);
                   kernel != nullptr && IsFor(module, module.kernels[*kernel], env)) {
          judge(MakeConcrete(module, module.kernels[*kernel], env, choice, ranks));
        }
      }
    }
  }
}

}  // namespace

Verdict Judge(const Module& module, const JudgeOptions& options) {
  Verdict verdict;
  if (!module.mesh) {
    JudgeOne(module, 1, options, verdict);
    return verdict;
  }
  for (int64_t ranks : module.mesh->values) {
    JudgeOne(JoinRanks(AtRanks(module, ranks), ranks, JoinedFor::WholeCalls), ranks, options,
             verdict);
  }
  return verdict;
}

}  // namespace etc::mutation
