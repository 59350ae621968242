#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generated_program.h"
#include "slice_program.h"

namespace etc::mutation {
namespace {

constexpr const char* kVariables[] = {"s", "l"};

/// The variable of a repeat; one that stands alone is `l`.
std::string Variable(const SliceProgram& program, size_t repeat) {
  return kVariables[program.iterations.size() == 1 ? 1 : repeat];
}

std::string Tasks(const SliceCall& call) {
  switch (call.work) {
    case Work::Each:
      return "n";
    case Work::Tiles:
    case Work::Guarded:
      return fmt::format("ceildiv(n, {})", call.tile);
    case Work::LowHalf:
    case Work::Odd:
      return "n / 2";
    case Work::HighHalf:
      return "n - n / 2";
    case Work::Even:
      return "ceildiv(n, 2)";
    case Work::First:
      return "1";
    case Work::Rest:
      return "n - 1";
    case Work::FullTiles:
      return fmt::format("n / {}", call.tile);
    case Work::Tail:
      return fmt::format("n % {}", call.tile);
  }
  return "";
}

std::string Read(const std::string& name, Reading reading, const std::string& i) {
  switch (reading) {
    case Reading::Same:
      return fmt::format("{}[{}]", name, i);
    case Reading::Mirror:
      return fmt::format("{}[n - 1 - ({})]", name, i);
    case Reading::Window:
      return fmt::format("{0}[max({1} - 1, 0)] + {0}[min({1} + 1, n - 1)]", name, i);
    case Reading::All:
      return fmt::format("(sum(k: n) {}[k])", name);
    case Reading::Prefix:
      return fmt::format("(sum(k: {} + 1) {}[k])", i, name);
  }
  return "";
}

/// The statement for element `i`.
std::string Store(const SliceCall& call, const std::string& i) {
  std::vector<std::string> values;
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    values.push_back(Read(fmt::format("%x{}", k), call.inputs[k].reading, i));
  }
  if (call.accumulates) {
    values.push_back(fmt::format("%y[{}]", i));
  }
  return fmt::format("%y[{}] = {};", i,
                     values.empty() ? "1.0" : fmt::format("{}", fmt::join(values, " + ")));
}

std::string Body(const SliceCall& call) {
  int64_t tile = call.tile;
  switch (call.work) {
    case Work::Each:
    case Work::LowHalf:
    case Work::First:
      return Store(call, "t");
    case Work::Tiles:
      return fmt::format("for (i: t * {0} .. min(n, t * {0} + {0})) {{ {1} }}", tile,
                         Store(call, "i"));
    case Work::Guarded:
      return fmt::format("for (r: {0}) {{ let i = t * {0} + r; if (i < n) {{ {1} }} }}", tile,
                         Store(call, "i"));
    case Work::HighHalf:
      return Store(call, "t + n / 2");
    case Work::Even:
      return Store(call, "2 * t");
    case Work::Odd:
      return Store(call, "2 * t + 1");
    case Work::Rest:
      return Store(call, "t + 1");
    case Work::FullTiles:
      return fmt::format("for (i: t * {0} .. t * {0} + {0}) {{ {1} }}", tile, Store(call, "i"));
    case Work::Tail:
      return Store(call, fmt::format("n / {0} * {0} + t", tile));
  }
  return "";
}

bool HasPlaces(const SharedBuffer& buffer) { return buffer.ring || buffer.places > 1; }

std::string Shape(const SharedBuffer& buffer) {
  return HasPlaces(buffer) ? fmt::format("f32[{}, n]", buffer.places) : "f32[n]";
}

std::string Argument(const SliceProgram& program, const SliceUse& use) {
  const SharedBuffer& buffer = program.buffers[use.buffer];
  if (!HasPlaces(buffer)) {
    return fmt::format("%b{}", use.buffer);
  }
  const Slice& slice = use.slice;
  std::string index = std::to_string(slice.shift);
  if (slice.repeat) {
    index = Variable(program, *slice.repeat);
    index = slice.factor == 1 ? index : fmt::format("{} * {}", slice.factor, index);
    index = slice.shift == 0 ? index : fmt::format("{} + {}", index, slice.shift);
    if (buffer.ring) {
      bool plain = slice.factor == 1 && slice.shift == 0;
      index = plain ? fmt::format("{} % {}", index, buffer.places)
                    : fmt::format("({}) % {}", index, buffer.places);
    }
  }
  return fmt::format("%b{}[{}]", use.buffer, index);
}

std::string DeviceText(const SliceProgram& program, size_t number) {
  const SliceCall& call = program.calls[number];
  if (call.starts && HasPlaces(program.buffers[call.output->buffer])) {
    const SharedBuffer& buffer = program.buffers[call.output->buffer];
    return fmt::format(
        "device @f{}(%x0: f32[n], %y: out {}) tasks (p: {}, t: n) {{ %y[p, t] = %x0[t]; }}\n",
        number, Shape(buffer), buffer.places);
  }
  std::string params;
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    params += fmt::format("%x{}: f32[n], ", k);
  }
  if (call.starts) {
    params = "%x0: f32[n], ";
  }
  std::string body = call.starts ? "%y[t] = %x0[t];" : Body(call);
  return fmt::format("device @f{}({}%y: {} f32[n]) tasks (t: {}) {{ {} }}\n", number, params,
                     call.accumulates ? "inout" : "out", Tasks(call), body);
}

std::string EventText(const SliceProgram& program, size_t number) {
  const SliceCall& call = program.calls[number];
  std::vector<std::string> extents;
  for (size_t i = 0; i < call.repeats; ++i) {
    extents.push_back(std::to_string(program.iterations[i]));
  }
  std::string count = Tasks(call);
  if (call.starts && HasPlaces(program.buffers[call.output->buffer])) {
    count = fmt::format("{} * n", program.buffers[call.output->buffer].places);
  }
  if (call.tells_tasks_apart) {
    extents.push_back(count);
    count = "1";
  }
  return fmt::format("  event %e{}{} count {};\n", number, Indices(extents), count);
}

std::string CallText(const SliceProgram& program, size_t number) {
  const SliceCall& call = program.calls[number];
  std::string args = call.starts ? "%x, " : "";
  for (const SliceUse& input : call.inputs) {
    args += Argument(program, input) + ", ";
  }
  bool all_places = call.starts && HasPlaces(program.buffers[call.output->buffer]);
  args += !call.output ? "%out"
          : all_places ? fmt::format("%b{}", call.output->buffer)
                       : Argument(program, *call.output);
  std::string coordinates = all_places ? "p, t" : "t";
  std::string text = fmt::format("call @f{}({})", number, args);
  if (!call.waits.empty()) {
    text += fmt::format(" wait ({}) => {}", coordinates, fmt::join(call.waits, ", "));
  }
  if (call.notified) {
    std::vector<std::string> indices;
    for (size_t i = 0; i < call.repeats; ++i) {
      indices.push_back(Variable(program, i));
    }
    if (call.tells_tasks_apart) {
      indices.push_back("t");
    }
    text += fmt::format(" notify ({}) => %e{}{}", coordinates, number, Indices(indices));
  }
  return "  " + text + ";\n";
}

}  // namespace

std::string TextOf(const SliceProgram& program) {
  std::string devices;
  std::string events;
  for (size_t i = 0; i < program.calls.size(); ++i) {
    devices += DeviceText(program, i);
    events += program.calls[i].notified ? EventText(program, i) : "";
  }
  std::string text =
      fmt::format("etir 1;\ndim n in {}..{};\n{}graph @g(%x: f32[n], %out: out f32[n]) {{\n",
                  program.least, program.most, devices);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    text += fmt::format("  %b{} = buffer {};\n", i, Shape(program.buffers[i]));
  }
  text += events;
  size_t depth = 0;
  auto close_to = [&](size_t wanted) {
    for (; depth > wanted; --depth) {
      text += "  }\n";
    }
  };
  for (size_t i = 0; i < program.calls.size(); ++i) {
    close_to(program.calls[i].repeats);
    for (; depth < program.calls[i].repeats; ++depth) {
      text += fmt::format("  repeat {} in 0..{} {{\n", Variable(program, depth),
                          program.iterations[depth]);
    }
    text += CallText(program, i);
  }
  close_to(0);
  return text + "}\n";
}

}  // namespace etc::mutation
