#include "generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

namespace etc::mutation {
namespace {

/// What a task that writes the rows lo .. hi of its output reads of an input.
enum class Pattern { Same, Halo, All, Mirror, Gather };

struct Input {
  size_t tensor;
  Pattern pattern;
};

/// One device function and its call.
struct Stage {
  std::vector<Input> inputs;
  size_t output;
  bool accumulates = false;  // reads its output as well
  bool scatters = false;     // writes the rows that an index tensor names
  int64_t tile = 1;
  int64_t columns = 0;      // of the output; 0 when it has one axis
  bool per_column = false;  // a task for each tile and column
  int guard = 0;            // how the ragged tile is cut
  int event = 0;            // 0: one counter; 1: one for each tile; 2: one for each task
  size_t depth = 0;         // repeats around it
  bool notified = false;    // something waits for it
};

/// A repeat around the stages from `begin` to before `end`; a second one stands in the first.
struct Loop {
  std::string var;
  int64_t iterations;
  size_t begin = 0;
  size_t end = 0;
};

struct Buffer {
  std::string name;
  int64_t columns = 0;
  bool layered = false;  // has an axis for the iterations
  bool param = false;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    multiple_ = Chance(4) ? Pick({2, 4}) : 1;
    int64_t lo = multiple_ * Below(2) + (multiple_ == 1 ? 1 : multiple_);
    int64_t hi = Chance(2) ? multiple_ * Pick({6, 9, 12}) : multiple_ * Pick({64, 100, 1024});
    buffers_.push_back({"x", 0, false, true});
    if (Chance(3)) {
      buffers_.push_back({"z", Pick({2, 3}), false, true});
    }
    last_.resize(buffers_.size());
    readers_.resize(buffers_.size());
    int shape = static_cast<int>(Below(12));
    int64_t before = shape < 6 ? 1 + Below(4) : Below(2);
    for (int64_t i = 0; i < before; ++i) {
      AddStage();
    }
    if (shape >= 6) {
      if (shape < 10) {
        AddRepeat();
      } else {
        AddNest();
      }
      for (int64_t i = Below(2); i > 0; --i) {
        AddStage();
      }
    }
    return Text(lo, hi);
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool Chance(int64_t one_in) { return Below(one_in) == 0; }
  int64_t Pick(std::vector<int64_t> values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }

  size_t AddBuffer(int64_t columns, bool layered) {
    buffers_.push_back({fmt::format("b{}", buffers_.size()), columns, layered, false});
    last_.emplace_back();
    readers_.emplace_back();
    return buffers_.size() - 1;
  }

  /// A stage that reads what there is and writes a new buffer or one that was used before.
  Stage MakeStage() {
    Stage stage;
    std::vector<size_t> defined;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].param || !last_[i].empty()) {
        defined.push_back(i);
      }
    }
    int64_t inputs = Chance(3) ? 2 : 1;
    for (int64_t i = 0; i < inputs; ++i) {
      bool latest = !Chance(3);
      size_t tensor =
          latest ? defined.back()
                 : defined[static_cast<size_t>(Below(static_cast<int64_t>(defined.size())))];
      stage.inputs.push_back({tensor, PickPattern(buffers_[tensor].columns > 0)});
    }
    stage.tile = Pick({1, 2, 3, 4});
    stage.columns = Chance(3) ? Pick({2, 3}) : 0;
    stage.per_column = stage.columns > 0 && !Chance(3);
    stage.guard = static_cast<int>(Below(2));
    if (multiple_ % stage.tile == 0 && Chance(2)) {
      stage.guard = 2;
    }
    stage.event = static_cast<int>(Below(stage.per_column ? 3 : 2));
    stage.scatters = Chance(8);
    return stage;
  }

  Pattern PickPattern(bool columns) {
    int64_t kind = Below(columns ? 6 : 10);
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
    for (size_t i = 0; i < buffers_.size(); ++i) {
      bool fits = !buffers_[i].param && !buffers_[i].layered && !last_[i].empty() &&
                  buffers_[i].columns == stage.columns && !Reads(stage, i);
      if (fits && Chance(2)) {
        stage.output = i;
        stage.accumulates = Chance(3);
        return;
      }
    }
    stage.output = AddBuffer(stage.columns, false);
  }

  void AddStage() {
    Stage stage = MakeStage();
    ChooseOutput(stage);
    stages_.push_back(stage);
    waits_.emplace_back();
    Connect(stages_.size() - 1);
  }

  /// Either a buffer for each iteration, or one or two buffers that iterations hand on.
  void AddRepeat() {
    if (Chance(2)) {
      AddStage();
    }
    loops_ = {{"l", Pick({2, 3, 4})}};
    size_t begin = stages_.size();
    if (Chance(2)) {
      Stage first = MakeStage();
      first.columns = 0;
      first.per_column = false;
      first.event = std::min(first.event, 1);
      first.output = AddBuffer(0, true);
      stages_.push_back(first);  // writes iteration 0, before the repeat
      waits_.emplace_back();
      Connect(begin);
      Stage next = MakeStage();
      next.columns = 0;
      next.per_column = false;
      next.event = std::min(next.event, 1);
      next.inputs = {{first.output, PickPattern(false)}};
      next.output = first.output;
      next.depth = 1;
      ++begin;
      stages_.push_back(next);
    } else {
      AddIterated(1, 1 + Below(3), begin);
      RestoreLast(begin);
    }
    loops_[0].begin = begin;
    loops_[0].end = stages_.size();
    ConnectLoop(0);
  }

  /// A repeat in a repeat, over buffers that iterations of both hand on.
  void AddNest() {
    if (Chance(2)) {
      AddStage();
    }
    loops_ = {{"o", Pick({2, 3})}, {"l", Pick({2, 3})}};
    size_t begin = stages_.size();
    AddIterated(1, Below(2), begin);
    loops_[1].begin = stages_.size();
    AddIterated(2, 1 + Below(2), begin);
    loops_[1].end = stages_.size();
    AddIterated(1, Below(2), begin);
    loops_[0].begin = begin;
    loops_[0].end = stages_.size();
    RestoreLast(begin);
    ConnectLoop(0);
  }

  /// Stages of a repeat that begins at stage `begin`, not connected yet.
  void AddIterated(size_t depth, int64_t count, size_t begin) {
    for (; count > 0; --count) {
      Stage stage = MakeStage();
      ChooseOutput(stage);
      bool chains = stages_.size() > begin && stages_.back().output != stage.output;
      if (Chance(2) && !buffers_[stage.inputs[0].tensor].param && chains) {
        stage.inputs[0].tensor = stages_.back().output;
      }
      stage.depth = depth;
      last_[stage.output] = {stages_.size()};  // defined for the stages behind it
      stages_.push_back(stage);
    }
  }

  /// Connects the stages of a repeat, twice: the second time every dependence on the iteration
  /// before has shown itself.
  void ConnectLoop(size_t depth) {
    waits_.resize(stages_.size());
    for (pass_[depth] = 0; pass_[depth] < 2; ++pass_[depth]) {
      for (size_t s = loops_[depth].begin; s < loops_[depth].end; ++s) {
        if (stages_[s].depth == depth + 1) {
          Connect(s);
        } else {
          ConnectLoop(depth + 1);
          s = loops_[depth + 1].end - 1;
        }
      }
    }
  }

  /// As before the stages from `end` on.
  void RestoreLast(size_t end) {
    for (size_t s = end; s < stages_.size(); ++s) {
      last_[stages_[s].output].clear();
    }
    for (size_t s = 0; s < end; ++s) {
      last_[stages_[s].output] = {s};
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
    Stage& stage = stages_[s];
    auto now = [&](Pattern pattern) {
      Use use(s, pass_);
      use.pattern = pattern;
      return use;
    };
    for (const Input& input : stage.inputs) {
      for (const Use& writer : last_[input.tensor]) {
        Wait(s, writer, stages_[writer.stage].scatters ? Pattern::All : input.pattern);
      }
      readers_[input.tensor].push_back(now(input.pattern));
    }
    if (!buffers_[stage.output].layered) {
      for (const Use& writer : last_[stage.output]) {
        bool rows = !stage.scatters && !stages_[writer.stage].scatters;
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
    Stage& source = stages_[on.stage];
    size_t around = stages_[s].depth;
    std::vector<std::string> iterations;
    std::string guard;
    auto require = [&](const std::string& condition) {
      guard += (guard.empty() ? " if " : " && ") + condition;
    };
    bool earlier = false;
    for (size_t d = 0; d < source.depth; ++d) {
      const Loop& loop = loops_[d];
      if (d >= around || earlier) {
        iterations.push_back(fmt::format("{}", loop.iterations - 1));
      } else if (on.pass[d] == pass_[d]) {
        iterations.push_back(loop.var);
      } else {
        earlier = true;
        iterations.push_back(loop.var + " - 1");
        require(loop.var + " > 0");
        for (size_t inner = d + 1; inner < around; ++inner) {
          require(loops_[inner].var + " == 0");
        }
      }
    }
    if (!earlier && on.stage >= s) {
      return;
    }
    source.notified = true;
    waits_[s].insert(Reference(stages_[s], on.stage, pattern, std::move(iterations)) + guard);
  }

  std::string Tiles(const Stage& stage) const {
    return stage.guard == 2 ? fmt::format("n / {}", stage.tile)
                            : fmt::format("ceildiv(n, {})", stage.tile);
  }

  /// The elements of a stage's event that cover the rows a task of `by` needs.
  std::string Reference(const Stage& by, size_t of, Pattern pattern,
                        std::vector<std::string> indices) {
    const Stage& source = stages_[of];
    if (source.event > 0) {
      int64_t t = source.tile;
      int64_t u = by.tile;
      bool cut = by.guard != 2;
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
      if (source.event == 2) {
        indices.push_back("*");
      }
    }
    std::string text;
    for (const std::string& index : indices) {
      text += (text.empty() ? "" : ", ") + index;
    }
    return fmt::format("%e{}{}", of, text.empty() ? text : "[" + text + "]");
  }

  std::string Element(const Input& input, size_t number, bool column) {
    int64_t columns = buffers_[input.tensor].columns;
    std::string x = fmt::format("%x{}", number);
    std::string rest = columns == 0            ? ""
                       : column && columns > 0 ? fmt::format(", j % {}", columns)
                                               : "";
    std::string value;
    auto at = [&](const std::string& row) {
      if (columns > 0 && !column) {
        return fmt::format("(sum(c: {}) {}[{}, c])", columns, x, row);
      }
      return fmt::format("{}[{}{}]", x, row, rest);
    };
    switch (input.pattern) {
      case Pattern::Same:
        return at("i");
      case Pattern::Halo:
        return at("max(i - 1, 0)") + " + " + at("min(i + 1, n - 1)");
      case Pattern::All:
        return columns > 0 ? fmt::format("(sum(k: n, c: {}) {}[k, c])", columns, x)
                           : fmt::format("(sum(k: n) {}[k])", x);
      case Pattern::Mirror:
        return at("n - 1 - i");
      case Pattern::Gather:
        return at("%ids[i]");
    }
    return value;
  }

  static bool Gathers(const Stage& stage) {
    return std::any_of(stage.inputs.begin(), stage.inputs.end(),
                       [](const Input& input) { return input.pattern == Pattern::Gather; });
  }

  static std::string Shape(int64_t columns) {
    return columns > 0 ? fmt::format("f32[n, {}]", columns) : "f32[n]";
  }

  std::string DeviceText(size_t s) {
    const Stage& stage = stages_[s];
    bool column = stage.columns > 0;
    std::string params;
    std::string value;
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      params += fmt::format("%x{}: {}, ", i, Shape(buffers_[stage.inputs[i].tensor].columns));
      value += (i > 0 ? " + " : "") + Element(stage.inputs[i], i, column);
    }
    if (Gathers(stage)) {
      params += "%ids: i32[n], ";
    }
    if (stage.scatters) {
      params += "%to: i32[n], ";
    }
    std::string row = stage.scatters ? "%to[i]" : "i";
    std::string target = column ? fmt::format("%y[{}, j]", row) : fmt::format("%y[{}]", row);
    if (stage.accumulates) {
      value = target + " + " + value;
    }
    std::string store = fmt::format("{} = {};", target, value);
    if (column && !stage.per_column) {
      store = fmt::format("for (j: {}) {}", stage.columns, store);
    }
    std::string body;
    int64_t u = stage.tile;
    if (stage.guard == 0) {
      body = fmt::format("for (i: t * {0} .. min(n, t * {0} + {0})) {{ {1} }}", u, store);
    } else {
      std::string guarded = stage.guard == 1 ? fmt::format("if (i < n) {{ {} }}", store) : store;
      body = fmt::format("for (r: {0}) {{ let i = t * {0} + r; {1} }}", u, guarded);
    }
    return fmt::format("device @s{}({}%y: {} {}) tasks (t: {}{}) {{ {} }}\n", s, params,
                       stage.accumulates ? "inout" : "out", Shape(stage.columns), Tiles(stage),
                       stage.per_column ? fmt::format(", j: {}", stage.columns) : "", body);
  }

  std::string EventText(size_t s) {
    const Stage& stage = stages_[s];
    std::vector<std::string> extents;
    for (size_t d = 0; d < stage.depth; ++d) {
      extents.push_back(fmt::format("{}", loops_[d].iterations));
    }
    std::string count = "1";
    if (stage.event == 0) {
      count = Tiles(stage);
      if (stage.per_column) {
        count += fmt::format(" * {}", stage.columns);
      }
    } else {
      extents.push_back(Tiles(stage));
      if (stage.event == 2) {
        extents.push_back(fmt::format("{}", stage.columns));
      } else if (stage.per_column) {
        count = fmt::format("{}", stage.columns);
      }
    }
    std::string shape;
    for (const std::string& extent : extents) {
      shape += (shape.empty() ? "" : ", ") + extent;
    }
    return fmt::format("  event %e{}{} count {};\n", s, shape.empty() ? shape : "[" + shape + "]",
                       count);
  }

  std::string CallText(size_t s) {
    const Stage& stage = stages_[s];
    std::string args;
    for (const Input& input : stage.inputs) {
      const Buffer& buffer = buffers_[input.tensor];
      args += fmt::format("%{}{}, ", buffer.name, Slice(buffer, stage, false));
    }
    if (Gathers(stage)) {
      args += "%ids, ";
    }
    if (stage.scatters) {
      args += "%to, ";
    }
    const Buffer& output = buffers_[stage.output];
    args += fmt::format("%{}{}", s + 1 == stages_.size() ? "out" : output.name,
                        s + 1 == stages_.size() ? "" : Slice(output, stage, true));
    std::string coordinates = stage.per_column ? "t, j" : "t";
    std::string text = fmt::format("call @s{}({})", s, args);
    std::string waits;
    for (const std::string& wait : waits_[s]) {
      waits += (waits.empty() ? "" : ", ") + wait;
    }
    if (!waits.empty()) {
      text += fmt::format(" wait ({}) => {}", coordinates, waits);
    }
    if (stage.notified) {
      std::string indices;
      for (size_t d = 0; d < stage.depth; ++d) {
        indices += (indices.empty() ? "" : ", ") + loops_[d].var;
      }
      for (int i = 0; i < stage.event; ++i) {
        indices += (indices.empty() ? "" : ", ") + std::string(i == 0 ? "t" : "j");
      }
      text += fmt::format(" notify ({}) => %e{}{}", coordinates, s,
                          indices.empty() ? indices : "[" + indices + "]");
    }
    return "  " + text + ";\n";
  }

  /// Of a buffer with an axis for the iterations: iteration l reads l and writes l + 1.
  std::string Slice(const Buffer& buffer, const Stage& stage, bool writes) const {
    if (!buffer.layered) {
      return "";
    }
    if (stage.depth > 0) {
      return writes ? "[l + 1]" : "[l]";
    }
    return writes ? "[0]" : fmt::format("[{}]", loops_[0].iterations);
  }

  std::string Text(int64_t lo, int64_t hi) {
    // The result leaves by a stage of its own, which reads the last buffer.
    Stage last = MakeStage();
    last.inputs = {{stages_.back().output, PickPattern(stages_.back().columns > 0)}};
    last.columns = 0;
    last.per_column = false;
    last.event = 0;
    last.output = AddBuffer(0, false);
    stages_.push_back(last);
    waits_.emplace_back();
    Connect(stages_.size() - 1);

    std::string devices;
    std::string events;
    for (size_t s = 0; s < stages_.size(); ++s) {
      devices += DeviceText(s);
      events += stages_[s].notified ? EventText(s) : "";
    }
    std::string text =
        fmt::format("etir 1;\ndim n in {}..{}{};\n{}", lo, hi,
                    multiple_ > 1 ? fmt::format(" multiple {}", multiple_) : "", devices);
    text += "graph @g(";
    bool gathers = std::any_of(stages_.begin(), stages_.end(), Gathers);
    if (gathers) {
      text += "%ids: i32[n] in 0..n, ";
    }
    if (std::any_of(stages_.begin(), stages_.end(), [](const Stage& s) { return s.scatters; })) {
      text += "%to: i32[n] in 0..n distinct, ";
    }
    std::string buffers;
    for (size_t i = 0; i + 1 < buffers_.size(); ++i) {
      const Buffer& buffer = buffers_[i];
      if (buffer.param) {
        text += fmt::format("%{}: {}, ", buffer.name, Shape(buffer.columns));
      } else {
        std::string shape = buffer.layered ? fmt::format("f32[{}, n]", loops_[0].iterations + 1)
                                           : Shape(buffer.columns);
        buffers += fmt::format("  %{} = buffer {};\n", buffer.name, shape);
      }
    }
    text += "%out: out f32[n]) {\n" + buffers + events;
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (const Loop& loop : loops_) {
        if (s == loop.begin) {
          text += fmt::format("  repeat {} in 0..{} {{\n", loop.var, loop.iterations);
        }
      }
      text += CallText(s);
      for (const Loop& loop : loops_) {
        text += s + 1 == loop.end ? "  }\n" : "";
      }
    }
    return text + "}\n";
  }

  std::mt19937_64 random_;
  int64_t multiple_ = 1;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<Use>> last_;     // who wrote the buffer last
  std::vector<std::vector<Use>> readers_;  // who has read it since
  std::vector<Stage> stages_;
  std::vector<std::set<std::string>> waits_;
  std::vector<Loop> loops_;
  Pass pass_{};
};

}  // namespace

std::string GenerateProgram(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace etc::mutation
