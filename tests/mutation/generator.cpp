#include "generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "generated_program.h"
#include "random.h"

namespace etc::mutation {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    program_.multiple = random_.Chance(4) ? random_.Pick({2, 4}) : 1;
    program_.lo =
        program_.multiple * random_.Below(2) + (program_.multiple == 1 ? 1 : program_.multiple);
    program_.lo = random_.Chance(6) ? 0 : program_.lo;
    program_.hi = random_.Chance(2) ? program_.multiple * random_.Pick({6, 9, 12})
                                    : program_.multiple * random_.Pick({64, 100, 1024});
    program_.buffers.push_back({"x", 0, false, true});
    if (random_.Chance(3)) {
      program_.buffers.push_back({"z", random_.Pick({2, 3}), false, true});
    }
    last_.resize(program_.buffers.size());
    readers_.resize(program_.buffers.size());
    int shape = static_cast<int>(random_.Below(12));
    int64_t before = shape < 6 ? 1 + random_.Below(4) : random_.Below(2);
    for (int64_t i = 0; i < before; ++i) {
      AddStage();
    }
    if (shape >= 6) {
      if (shape < 10) {
        AddRepeat();
      } else {
        AddNest();
      }
      for (int64_t i = random_.Below(2); i > 0; --i) {
        AddStage();
      }
    }
    AddLast();
    return TextOf(program_);
  }

 private:
  size_t AddBuffer(int64_t columns, bool layered) {
    program_.buffers.push_back(
        {fmt::format("b{}", program_.buffers.size()), columns, layered, false});
    last_.emplace_back();
    readers_.emplace_back();
    return program_.buffers.size() - 1;
  }

  /// A stage that reads what there is and writes a new buffer or one that was used before.
  Stage MakeStage() {
    Stage stage;
    std::vector<size_t> defined;
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].param || !last_[i].empty()) {
        defined.push_back(i);
      }
    }
    int64_t inputs = random_.Chance(3) ? 2 : 1;
    for (int64_t i = 0; i < inputs; ++i) {
      bool latest = !random_.Chance(3);
      size_t tensor = latest ? defined.back() : random_.Pick(defined);
      stage.inputs.push_back({tensor, PickPattern(program_.buffers[tensor].columns > 0)});
    }
    stage.tile = random_.Pick({1, 2, 3, 4});
    stage.columns = random_.Chance(3) ? random_.Pick({2, 3}) : 0;
    stage.per_column = stage.columns > 0 && !random_.Chance(3);
    stage.ragged = static_cast<Ragged>(random_.Below(2));
    if (program_.multiple % stage.tile == 0 && random_.Chance(2)) {
      stage.ragged = Ragged::None;
    }
    stage.counters = static_cast<Counters>(random_.Below(stage.per_column ? 3 : 2));
    stage.scatters = random_.Chance(8);
    stage.sums = random_.Chance(6);
    return stage;
  }

  Pattern PickPattern(bool columns) {
    int64_t kind = random_.Below(columns ? 6 : 10);
    return kind < 4    ? Pattern::Same
           : kind < 5  ? Pattern::All
           : kind < 7  ? Pattern::Halo
           : kind == 7 ? Pattern::Mirror
           : kind == 8 ? Pattern::Gather
                       : Pattern::Same;
  }

  bool Reads(const Stage& stage, size_t tensor) const {
    return std::any_of(stage.inputs.begin(), stage.inputs.end(),
                       [&](const Input& input) { return input.tensor == tensor; });
  }

  void ChooseOutput(Stage& stage) {
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      bool fits = !program_.buffers[i].param && !program_.buffers[i].layered && !last_[i].empty() &&
                  program_.buffers[i].columns == stage.columns && !Reads(stage, i);
      if (fits && random_.Chance(2)) {
        stage.output = i;
        stage.accumulates = random_.Chance(3);
        return;
      }
    }
    stage.output = AddBuffer(stage.columns, false);
  }

  void AddStage() {
    Stage stage = MakeStage();
    ChooseOutput(stage);
    program_.stages.push_back(stage);
    Connect(program_.stages.size() - 1);
  }

  /// The result leaves by a stage of its own, which reads the last buffer.
  void AddLast() {
    Stage last = MakeStage();
    last.inputs = {
        {program_.stages.back().output, PickPattern(program_.stages.back().columns > 0)}};
    last.columns = 0;
    last.per_column = false;
    last.counters = Counters::One;
    last.output = AddBuffer(0, false);
    program_.stages.push_back(last);
    Connect(program_.stages.size() - 1);
  }

  /// Either a buffer for each iteration, or one or two buffers that iterations hand on.
  void AddRepeat() {
    if (random_.Chance(2)) {
      AddStage();
    }
    program_.loops = {{"l", random_.Pick({2, 3, 4})}};
    size_t begin = program_.stages.size();
    if (random_.Chance(2)) {
      Stage first = MakeStage();
      first.columns = 0;
      first.per_column = false;
      first.counters = std::min(first.counters, Counters::Tiles);
      first.output = AddBuffer(0, true);
      program_.stages.push_back(first);  // writes iteration 0, before the repeat
      Connect(begin);
      Stage next = MakeStage();
      next.columns = 0;
      next.per_column = false;
      next.counters = std::min(next.counters, Counters::Tiles);
      next.inputs = {{first.output, PickPattern(false)}};
      next.output = first.output;
      next.depth = 1;
      ++begin;
      program_.stages.push_back(next);
    } else {
      AddIterated(1, 1 + random_.Below(3), begin);
      RestoreLast(begin);
    }
    program_.loops[0].begin = begin;
    program_.loops[0].end = program_.stages.size();
    ConnectLoop(0);
  }

  /// A repeat in a repeat, over buffers that iterations of both hand on.
  void AddNest() {
    if (random_.Chance(2)) {
      AddStage();
    }
    program_.loops = {{"o", random_.Pick({2, 3})}, {"l", random_.Pick({2, 3})}};
    size_t begin = program_.stages.size();
    AddIterated(1, random_.Below(2), begin);
    program_.loops[1].begin = program_.stages.size();
    AddIterated(2, 1 + random_.Below(2), begin);
    program_.loops[1].end = program_.stages.size();
    AddIterated(1, random_.Below(2), begin);
    program_.loops[0].begin = begin;
    program_.loops[0].end = program_.stages.size();
    RestoreLast(begin);
    ConnectLoop(0);
  }

  /// Stages of a repeat that begins at stage `begin`, not connected yet.
  void AddIterated(size_t depth, int64_t count, size_t begin) {
    for (; count > 0; --count) {
      Stage stage = MakeStage();
      ChooseOutput(stage);
      bool chains = program_.stages.size() > begin && program_.stages.back().output != stage.output;
      if (random_.Chance(2) && !program_.buffers[stage.inputs[0].tensor].param && chains) {
        stage.inputs[0].tensor = program_.stages.back().output;
      }
      stage.depth = depth;
      last_[stage.output] = {program_.stages.size()};  // defined for the stages behind it
      program_.stages.push_back(stage);
    }
  }

  /// Connects the stages of a repeat, twice: the second time every dependence on the iteration
  /// before has shown itself.
  void ConnectLoop(size_t depth) {
    for (pass_[depth] = 0; pass_[depth] < 2; ++pass_[depth]) {
      for (size_t s = program_.loops[depth].begin; s < program_.loops[depth].end; ++s) {
        if (program_.stages[s].depth == depth + 1) {
          Connect(s);
        } else {
          ConnectLoop(depth + 1);
          s = program_.loops[depth + 1].end - 1;
        }
      }
    }
  }

  /// As before the stages from `end` on.
  void RestoreLast(size_t end) {
    for (size_t s = end; s < program_.stages.size(); ++s) {
      last_[program_.stages[s].output].clear();
    }
    for (size_t s = 0; s < end; ++s) {
      last_[program_.stages[s].output] = {s};
    }
  }

  using Pass = std::array<int, 2>;  // of each repeat

  /// A use of a buffer: the stage, and the pass in which it happened.
  struct Use {
    Use(size_t s, Pass p = {}) : stage(s), pass(p) {}
    size_t stage;
    Pass pass;
    Pattern pattern = Pattern::Same;
  };

  /// Adds the waits of a stage for what it reads, and for the earlier uses of what it writes.
  void Connect(size_t s) {
    Stage& stage = program_.stages[s];
    auto now = [&](Pattern pattern) {
      Use use(s, pass_);
      use.pattern = pattern;
      return use;
    };
    for (const Input& input : stage.inputs) {
      for (const Use& writer : last_[input.tensor]) {
        Wait(s, writer, program_.stages[writer.stage].scatters ? Pattern::All : input.pattern);
      }
      readers_[input.tensor].push_back(now(input.pattern));
    }
    if (!program_.buffers[stage.output].layered) {
      for (const Use& writer : last_[stage.output]) {
        bool rows = !stage.scatters && !program_.stages[writer.stage].scatters;
        Wait(s, writer, rows ? Pattern::Same : Pattern::All);
      }
      for (const Use& reader : readers_[stage.output]) {
        bool exact = reader.pattern == Pattern::Same && !stage.scatters;
        Wait(s, reader, exact ? Pattern::Same : Pattern::All);
      }
    }
    readers_[stage.output].clear();
    last_[stage.output] = {now(Pattern::Same)};
  }

  void Wait(size_t s, const Use& on, Pattern pattern) {
    Stage& source = program_.stages[on.stage];
    size_t around = program_.stages[s].depth;
    std::vector<std::string> iterations;
    std::string guard;
    auto require = [&](const std::string& condition) {
      guard += (guard.empty() ? " if " : " && ") + condition;
    };
    bool earlier = false;
    for (size_t d = 0; d < source.depth; ++d) {
      const Loop& loop = program_.loops[d];
      if (d >= around || earlier) {
        iterations.push_back(fmt::format("{}", loop.iterations - 1));
      } else if (on.pass[d] == pass_[d]) {
        iterations.push_back(loop.var);
      } else {
        earlier = true;
        iterations.push_back(loop.var + " - 1");
        require(loop.var + " > 0");
        for (size_t inner = d + 1; inner < around; ++inner) {
          require(program_.loops[inner].var + " == 0");
        }
      }
    }
    if (!earlier && on.stage >= s) {
      return;
    }
    source.notified = true;
    program_.stages[s].waits.insert(
        Reference(program_.stages[s], on.stage, pattern, std::move(iterations)) + guard);
  }

  /// The elements of a stage's event that cover the rows a task of `by` needs.
  std::string Reference(const Stage& by, size_t of, Pattern pattern,
                        std::vector<std::string> indices) {
    const Stage& source = program_.stages[of];
    if (source.counters != Counters::One) {
      int64_t t = source.tile;
      int64_t u = by.tile;
      bool cut = by.ragged != Ragged::None;
      std::string last =
          cut ? fmt::format("min(n, t * {0} + {0})", u) : fmt::format("t * {0} + {0}", u);
      if (pattern == Pattern::Halo) {
        last = fmt::format("min(n, t * {0} + {0} + 1)", u);
      }
      std::string end = t == 1 ? last : fmt::format("ceildiv({}, {})", last, t);
      if (pattern == Pattern::Same) {
        if (t == u) {
          indices.push_back("t");
        } else {
          std::string first = t == 1   ? fmt::format("t * {}", u)
                              : u == 1 ? fmt::format("t / {}", t)
                                       : fmt::format("t * {} / {}", u, t);
          indices.push_back(u % t == 0 || t % u != 0 ? first + " .. " + end : first);
        }
      } else if (pattern == Pattern::Halo) {
        std::string first = fmt::format("max(t * {} - 1, 0)", u);
        indices.push_back((t == 1 ? first : fmt::format("{} / {}", first, t)) + " .. " + end);
      } else {
        indices.push_back("*");
      }
      if (source.counters == Counters::Tasks) {
        indices.push_back("*");
      }
    }
    return fmt::format("%e{}{}", of, Indices(indices));
  }

  Random random_;
  GeneratedProgram program_;
  std::vector<std::vector<Use>> last_;     // who wrote the buffer last
  std::vector<std::vector<Use>> readers_;  // who has read it since
  Pass pass_{};
};

}  // namespace

std::string GenerateProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace etc::mutation
