#include <fmt/format.h>

#include <algorithm>

#include "generated_program.h"

namespace etc::mutation {
namespace {

std::string Tiles(const Stage& stage) {
  return stage.ragged == Ragged::None ? fmt::format("n / {}", stage.tile)
                                      : fmt::format("ceildiv(n, {})", stage.tile);
}

std::string Element(const GeneratedProgram& program, const Input& input, size_t number,
                    bool column) {
  int64_t columns = program.buffers[input.tensor].columns;
  std::string x = fmt::format("%x{}", number);
  std::string rest = columns > 0 && column ? fmt::format(", j % {}", columns) : "";
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
  return "";
}

bool Gathers(const Stage& stage) {
  return std::any_of(stage.inputs.begin(), stage.inputs.end(),
                     [](const Input& input) { return input.pattern == Pattern::Gather; });
}

std::string Shape(int64_t columns) {
  return columns > 0 ? fmt::format("f32[n, {}]", columns) : "f32[n]";
}

std::string DeviceText(const GeneratedProgram& program, size_t s) {
  const Stage& stage = program.stages[s];
  bool column = stage.columns > 0;
  std::string params;
  std::string value;
  for (size_t i = 0; i < stage.inputs.size(); ++i) {
    params += fmt::format("%x{}: {}, ", i, Shape(program.buffers[stage.inputs[i].tensor].columns));
    value += (i > 0 ? " + " : "") + Element(program, stage.inputs[i], i, column);
  }
  if (Gathers(stage)) {
    params += "%ids: i32[n], ";
  }
  if (stage.scatters) {
    params += "%to: i32[n], ";
  }
  std::string row = stage.scatters ? "%to[i]" : "i";
  std::string target = column ? fmt::format("%y[{}, j]", row) : fmt::format("%y[{}]", row);
  bool sums = stage.sums && !column;
  std::string before = sums ? fmt::format("%sum[] += {}; ", value) : "";
  value = sums ? "%sum[]" : value;
  if (stage.accumulates) {
    value = target + " + " + value;
  }
  std::string store = fmt::format("{}{} = {};", before, target, value);
  if (column && !stage.per_column) {
    store = fmt::format("for (j: {}) {}", stage.columns, store);
  }
  std::string body = sums ? "local %sum: f32[]; %sum[] = 0.0; scan" : "for";
  int64_t u = stage.tile;
  if (stage.ragged == Ragged::Range) {
    body += fmt::format(" (i: t * {0} .. min(n, t * {0} + {0})) {{ {1} }}", u, store);
  } else {
    std::string guarded =
        stage.ragged == Ragged::If ? fmt::format("if (i < n) {{ {} }}", store) : store;
    body += fmt::format(" (r: {0}) {{ let i = t * {0} + r; {1} }}", u, guarded);
  }
  return fmt::format("device @s{}({}%y: {} {}) tasks (t: {}{}) {{ {} }}\n", s, params,
                     stage.accumulates ? "inout" : "out", Shape(stage.columns), Tiles(stage),
                     stage.per_column ? fmt::format(", j: {}", stage.columns) : "", body);
}

std::string EventText(const GeneratedProgram& program, size_t s) {
  const Stage& stage = program.stages[s];
  std::vector<std::string> extents;
  for (size_t d = 0; d < stage.depth; ++d) {
    extents.push_back(fmt::format("{}", program.loops[d].iterations));
  }
  std::string count = "1";
  if (stage.counters == Counters::One) {
    count = Tiles(stage);
    if (stage.per_column) {
      count += fmt::format(" * {}", stage.columns);
    }
  } else {
    extents.push_back(Tiles(stage));
    if (stage.counters == Counters::Tasks) {
      extents.push_back(fmt::format("{}", stage.columns));
    } else if (stage.per_column) {
      count = fmt::format("{}", stage.columns);
    }
  }
  return fmt::format("  event %e{}{} count {};\n", s, Indices(extents), count);
}

/// Of a buffer with an axis for the iterations: iteration l reads l and writes l + 1.
std::string Slice(const GeneratedProgram& program, const Buffer& buffer, const Stage& stage,
                  bool writes) {
  if (!buffer.layered) {
    return "";
  }
  if (stage.depth > 0) {
    return writes ? "[l + 1]" : "[l]";
  }
  return writes ? "[0]" : fmt::format("[{}]", program.loops[0].iterations);
}

std::string CallText(const GeneratedProgram& program, size_t s) {
  const Stage& stage = program.stages[s];
  std::string args;
  for (const Input& input : stage.inputs) {
    const Buffer& buffer = program.buffers[input.tensor];
    args += fmt::format("%{}{}, ", buffer.name, Slice(program, buffer, stage, false));
  }
  if (Gathers(stage)) {
    args += "%ids, ";
  }
  if (stage.scatters) {
    args += "%to, ";
  }
  const Buffer& output = program.buffers[stage.output];
  args += fmt::format("%{}{}", s + 1 == program.stages.size() ? "out" : output.name,
                      s + 1 == program.stages.size() ? "" : Slice(program, output, stage, true));
  std::string coordinates = stage.per_column ? "t, j" : "t";
  std::string text = fmt::format("call @s{}({})", s, args);
  if (!stage.waits.empty()) {
    text += fmt::format(" wait ({}) => {}", coordinates, fmt::join(stage.waits, ", "));
  }
  if (stage.notified) {
    std::vector<std::string> indices;
    for (size_t d = 0; d < stage.depth; ++d) {
      indices.push_back(program.loops[d].var);
    }
    if (stage.counters != Counters::One) {
      indices.push_back("t");
    }
    if (stage.counters == Counters::Tasks) {
      indices.push_back("j");
    }
    text += fmt::format(" notify ({}) => %e{}{}", coordinates, s, Indices(indices));
  }
  return "  " + text + ";\n";
}

}  // namespace

std::string Indices(const std::vector<std::string>& indices) {
  return indices.empty() ? "" : fmt::format("[{}]", fmt::join(indices, ", "));
}

std::string TextOf(const GeneratedProgram& program) {
  std::string devices;
  std::string events;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    devices += DeviceText(program, s);
    events += program.stages[s].notified ? EventText(program, s) : "";
  }
  std::string text = fmt::format(
      "etir 1;\ndim n in {}..{}{};\n{}", program.lo, program.hi,
      program.multiple > 1 ? fmt::format(" multiple {}", program.multiple) : "", devices);
  text += "graph @g(";
  bool gathers = std::any_of(program.stages.begin(), program.stages.end(), Gathers);
  if (gathers) {
    text += "%ids: i32[n] in 0..n, ";
  }
  if (std::any_of(program.stages.begin(), program.stages.end(),
                  [](const Stage& s) { return s.scatters; })) {
    text += "%to: i32[n] in 0..n distinct, ";
  }
  std::string buffers;
  for (size_t i = 0; i + 1 < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.param) {
      text += fmt::format("%{}: {}, ", buffer.name, Shape(buffer.columns));
    } else {
      std::string shape = buffer.layered
                              ? fmt::format("f32[{}, n]", program.loops[0].iterations + 1)
                              : Shape(buffer.columns);
      buffers += fmt::format("  %{} = buffer {};\n", buffer.name, shape);
    }
  }
  text += "%out: out f32[n]) {\n" + buffers + events;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    for (const Loop& loop : program.loops) {
      if (s == loop.begin) {
        text += fmt::format("  repeat {} in 0..{} {{\n", loop.var, loop.iterations);
      }
    }
    text += CallText(program, s);
    for (const Loop& loop : program.loops) {
      text += s + 1 == loop.end ? "  }\n" : "";
    }
  }
  return text + "}\n";
}

}  // namespace etc::mutation
