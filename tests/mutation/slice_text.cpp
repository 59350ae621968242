#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

#include "generated_program.h"
#include "slice_program.h"

namespace etc::mutation {
namespace {

constexpr const char* kVariables[] = {"s", "l"};

/// The variable of a repeat; one that stands alone is `l`.
std::string Variable(const SliceProgram& program, size_t repeat) {
  return kVariables[program.iterations.size() == 1 ? 1 : repeat];
}

std::string Tasks(const SliceProgram& program, const SliceCall& call) {
  bool empty = program.least == 0;  // at some size
  switch (call.work) {
    case Work::Each:
      return "n";
    case Work::Tiles:
    case Work::Guarded:
    case Work::Sum:
    case Work::Carried:
    case Work::Staged:
    case Work::Sides:
      return fmt::format("ceildiv(n, {})", call.tile);
    case Work::LowHalf:
    case Work::Odd:
      return "n / 2";
    case Work::HighHalf:
      return "n - n / 2";
    case Work::Even:
      return "ceildiv(n, 2)";
    case Work::First:
      return empty ? "min(n, 1)" : "1";
    case Work::Rest:
      return empty ? "max(n - 1, 0)" : "n - 1";
    case Work::FullTiles:
      return fmt::format("n / {}", call.tile);
    case Work::Tail:
      return fmt::format("n % {}", call.tile);
    case Work::Below:
      return "m";
    case Work::Behind:
      return "n - m";
  }
  return "";
}

std::string Read(const std::function<std::string(const std::string&)>& at, Reading reading,
                 const std::string& i) {
  switch (reading) {
    case Reading::Same:
      return at(i);
    case Reading::Mirror:
      return at(fmt::format("n - 1 - ({})", i));
    case Reading::Window:
      return at(fmt::format("max({} - 1, 0)", i)) + " + " +
             at(fmt::format("min({} + 1, n - 1)", i));
    case Reading::All:
      return fmt::format("(sum(k: n) {})", at("k"));
    case Reading::Prefix:
      return fmt::format("(sum(k: {} + 1) {})", i, at("k"));
  }
  return "";
}

/// An element of the slice that parameter `name` has, or that a scalar says of its whole buffer.
std::string ElementOf(const SliceProgram& program, const std::string& name,
                      const std::optional<SliceUse>& use, const std::string& i) {
  if (!use || !use->by_scalar) {
    return fmt::format("%{}[{}]", name, i);
  }
  bool last = program.buffers[use->buffer].places_last;
  return last ? fmt::format("%{}[{}, of_{}]", name, i, name)
              : fmt::format("%{}[of_{}, {}]", name, name, i);
}

std::string Sum(const std::vector<std::string>& values) {
  return values.empty() ? "1.0" : fmt::format("{}", fmt::join(values, " + "));
}

/// What bodies of a call say of element `i`.
class Element {
 public:
  Element(const SliceProgram& program, const SliceCall& call, std::string i)
      : program_(program), call_(call), i_(std::move(i)) {}

  std::string Target() const { return At(i_); }
  std::string At(const std::string& i) const { return ElementOf(program_, "y", call_.output, i); }

  /// What is read of the inputs from number `first` on.
  std::string Inputs(size_t first = 0, size_t step = 1) const {
    std::vector<std::string> values;
    for (size_t k = first; k < call_.inputs.size(); k += step) {
      values.push_back(Input(k));
    }
    return Sum(values);
  }

  std::string Store(const std::string& value) const {
    if (!call_.accumulates) {
      return fmt::format("{} = {};", Target(), value);
    }
    return call_.adds ? fmt::format("{} += {};", Target(), value)
                      : fmt::format("{0} = {1} + {0};", Target(), value);
  }
  std::string Store() const { return Store(Inputs()); }

 private:
  std::string Input(size_t k) const {
    auto read = [&](Reading reading, const std::string& i) {
      return Read(
          [&](const std::string& at) {
            return ElementOf(program_, fmt::format("x{}", k), call_.inputs[k], at);
          },
          reading, i);
    };
    Reading reading = call_.inputs[k].reading;
    if (!call_.asks_first || k > 0) {
      return read(reading, i_);
    }
    Reading other = reading == Reading::Same ? Reading::Mirror : Reading::Same;
    return fmt::format("select(first, {}, {})", read(other, i_), read(reading, i_));
  }

  const SliceProgram& program_;
  const SliceCall& call_;
  std::string i_;
};

std::string Body(const SliceProgram& program, const SliceCall& call) {
  int64_t tile = call.tile;
  auto element = [&](const std::string& i) { return Element(program, call, i); };
  auto store = [&](const std::string& i) { return element(i).Store(); };
  std::string of_tile = fmt::format("i: t * {0} .. min(n, t * {0} + {0})", tile);
  switch (call.work) {
    case Work::Each:
    case Work::LowHalf:
    case Work::First:
    case Work::Below:
      return store("t");
    case Work::Tiles:
      return fmt::format("for ({}) {{ {} }}", of_tile, store("i"));
    case Work::Sum:
      return fmt::format("local %sum: f32[]; %sum[] = 0.0; scan ({}) {{ %sum[] += {}; {} }}",
                         of_tile, element("i").Inputs(), element("i").Store("%sum[]"));
    case Work::Carried: {
      std::string before = element("i").At("i - 1");
      return fmt::format("scan ({}) {{ if (i > t * {}) {{ {} }} else {{ {} }} }}", of_tile, tile,
                         element("i").Store(before + " + " + element("i").Inputs()), store("i"));
    }
    case Work::Staged:
      return fmt::format(
          "local %s: f32[{0}]; for (r: {0}) %s[r] = 0.0; "
          "for (r: min({0}, n - t * {0})) %s[r] += {1}; for ({2}) {{ {3} }}",
          tile, element(fmt::format("(t * {} + r)", tile)).Inputs(), of_tile,
          element("i").Store(fmt::format("%s[i - t * {}]", tile)));
    case Work::Sides:
      return fmt::format("for ({}) {{ if (i % 2 == 0) {{ {} }} else {{ {} }} }}", of_tile,
                         element("i").Store(element("i").Inputs(0, 2)),
                         element("i").Store(element("i").Inputs(1, 2)));
    case Work::Guarded:
      return fmt::format("for (r: {0}) {{ let i = t * {0} + r; if (i < n) {{ {1} }} }}", tile,
                         store("i"));
    case Work::HighHalf:
      return store("t + n / 2");
    case Work::Even:
      return store("2 * t");
    case Work::Odd:
      return store("2 * t + 1");
    case Work::Rest:
      return store("t + 1");
    case Work::FullTiles:
      return fmt::format("for (i: t * {0} .. t * {0} + {0}) {{ {1} }}", tile, store("i"));
    case Work::Tail:
      return store(fmt::format("n / {0} * {0} + t", tile));
    case Work::Behind:
      return store("t + m");
  }
  return "";
}

bool HasPlaces(const SharedBuffer& buffer) { return buffer.ring || buffer.places > 1; }

std::string Shape(const SharedBuffer& buffer) {
  if (!HasPlaces(buffer)) {
    return "f32[n]";
  }
  return buffer.places_last ? fmt::format("f32[n, {}]", buffer.places)
                            : fmt::format("f32[{}, n]", buffer.places);
}

/// The place of a slice.
std::string Place(const SliceProgram& program, const SliceUse& use) {
  const SharedBuffer& buffer = program.buffers[use.buffer];
  const Slice& slice = use.slice;
  if (!slice.repeat) {
    return std::to_string(slice.shift);
  }
  std::string index = Variable(program, *slice.repeat);
  index = slice.factor == 1 ? index : fmt::format("{} * {}", slice.factor, index);
  index = slice.shift == 0 ? index : fmt::format("{} + {}", index, slice.shift);
  if (!buffer.ring) {
    return index;
  }
  bool plain = slice.factor == 1 && slice.shift == 0;
  return fmt::format(fmt::runtime(plain ? "{} % {}" : "({}) % {}"), index, buffer.places);
}

std::string Argument(const SliceProgram& program, const SliceUse& use) {
  const SharedBuffer& buffer = program.buffers[use.buffer];
  if (!HasPlaces(buffer) || use.by_scalar) {
    return fmt::format("%b{}", use.buffer);
  }
  return fmt::format("%b{}[{}{}]", use.buffer, buffer.places_last ? "*, " : "",
                     Place(program, use));
}

std::string DeviceText(const SliceProgram& program, size_t number) {
  const SliceCall& call = program.calls[number];
  if (call.starts && HasPlaces(program.buffers[call.output->buffer])) {
    const SharedBuffer& buffer = program.buffers[call.output->buffer];
    return fmt::format(
        "device @f{}(%x0: f32[n], %y: out {}) tasks (p: {}, t: n) {{ %y[{}] = %x0[t]; }}\n", number,
        Shape(buffer), buffer.places, buffer.places_last ? "t, p" : "p, t");
  }
  std::string params;
  std::string scalars;
  auto shape = [&](const std::string& name, const SliceUse& use) -> std::string {
    if (!use.by_scalar) {
      return "f32[n]";
    }
    const SharedBuffer& buffer = program.buffers[use.buffer];
    scalars += fmt::format(", of_{}: int in 0..{}", name, buffer.places);
    return Shape(buffer);
  };
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    std::string name = fmt::format("x{}", k);
    params += fmt::format("%{}: {}, ", name, shape(name, call.inputs[k]));
  }
  if (call.starts) {
    params = "%x0: f32[n], ";
  }
  std::string output = call.output ? shape("y", *call.output) : "f32[n]";
  if (call.asks_first) {
    scalars += ", first: bool";
  }
  std::string body = call.starts ? "%y[t] = %x0[t];" : Body(program, call);
  return fmt::format("device @f{}({}%y: {} {}{}) tasks (t: {}) {{ {} }}\n", number, params,
                     call.accumulates ? "inout" : "out", output, scalars, Tasks(program, call),
                     body);
}

std::string EventText(const SliceProgram& program, size_t number) {
  const SliceCall& call = program.calls[number];
  std::vector<std::string> extents;
  for (size_t i = 0; i < call.repeats; ++i) {
    extents.push_back(std::to_string(program.iterations[i]));
  }
  std::string count = Tasks(program, call);
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
  for (const SliceUse& input : call.inputs) {
    args += input.by_scalar ? ", " + Place(program, input) : "";
  }
  args += call.output && call.output->by_scalar ? ", " + Place(program, *call.output) : "";
  args += call.asks_first ? fmt::format(", {} == 0", Variable(program, call.repeats - 1)) : "";
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
  std::string text = fmt::format(
      "etir 1;\ndim n in {}..{};\n{}{}graph @g(%x: f32[n], %out: out f32[n]) {{\n", program.least,
      program.most,
      program.has_part ? fmt::format("dim m in 0..{};\nrequire m <= n;\n", program.most) : "",
      devices);
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
