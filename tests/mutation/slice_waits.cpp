// The waits of a program whose calls share slices, from a run through all of its iterations: each
// call waits for the iterations that were the last to use what it uses. A wait is for one distance
// between iterations, and holds wherever there is an iteration as far back.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "generated_program.h"
#include "slice_program.h"

namespace etc::mutation {
namespace {

constexpr size_t kMostWaits = 10;  // of one call

/// Parts that have elements in common: all but two of one kind.
enum class Part { All, LowHalf, HighHalf, Even, Odd, First, Rest, FullTiles, Tail, Below, Behind };

Part PartOf(Work work) {
  switch (work) {
    case Work::LowHalf:
      return Part::LowHalf;
    case Work::HighHalf:
      return Part::HighHalf;
    case Work::Even:
      return Part::Even;
    case Work::Odd:
      return Part::Odd;
    case Work::First:
      return Part::First;
    case Work::Rest:
      return Part::Rest;
    case Work::FullTiles:
      return Part::FullTiles;
    case Work::Tail:
      return Part::Tail;
    case Work::Below:
      return Part::Below;
    case Work::Behind:
      return Part::Behind;
    case Work::Each:
    case Work::Tiles:
    case Work::Guarded:
    case Work::Sum:
    case Work::Carried:
    case Work::Staged:
    case Work::Sides:
      break;
  }
  return Part::All;
}

/// Two parts of one kind, of which one is what the other leaves. `tile`: of full tiles and tails.
bool AreApart(Part a, int64_t a_tile, Part b, int64_t b_tile) {
  auto are = [&](Part x, Part y) { return (a == x && b == y) || (a == y && b == x); };
  return are(Part::LowHalf, Part::HighHalf) || are(Part::Even, Part::Odd) ||
         are(Part::First, Part::Rest) || are(Part::Below, Part::Behind) ||
         (are(Part::FullTiles, Part::Tail) && a_tile == b_tile);
}

using Iteration = std::vector<int64_t>;

struct Access {
  size_t call;
  Iteration at;
  Part part;
  int64_t tile;
  bool writes;
  bool by_element;  // task t touches element t
};

bool Meet(const Access& a, const Access& b) {
  return (a.writes || b.writes) && !AreApart(a.part, a.tile, b.part, b.tile);
}

/// What a call needs of another one, by how many iterations that is back in each repeat around
/// both.
struct Needs {
  /// For each repeat around the other call alone, its iterations that are needed.
  std::map<Iteration, std::vector<std::set<int64_t>>> back;
  bool by_element = true;
};

class Run {
 public:
  explicit Run(SliceProgram& program) : program_(program) {}

  bool Connect() {
    for (size_t at = 0; at < program_.calls.size();) {
      at = Block(at, 0);
    }
    for (const auto& [pair, needs] : needs_) {
      AddWaits(pair.first, pair.second, needs);
    }
    return std::all_of(program_.calls.begin(), program_.calls.end(),
                       [](const SliceCall& call) { return call.waits.size() <= kMostWaits; });
  }

 private:
  /// Runs the call at `begin`, or the repeat number `depth` that it stands in; where that ends.
  size_t Block(size_t begin, size_t depth) {
    if (program_.calls[begin].repeats <= depth) {
      RunCall(begin);
      return begin + 1;
    }
    size_t end = begin;
    while (end < program_.calls.size() && program_.calls[end].repeats > depth) {
      ++end;
    }
    iteration_.push_back(0);
    for (int64_t i = 0; i < program_.iterations[depth]; ++i) {
      iteration_.back() = i;
      for (size_t at = begin; at < end;) {
        at = Block(at, depth + 1);
      }
    }
    iteration_.pop_back();
    return end;
  }

  void RunCall(size_t number) {
    const SliceCall& call = program_.calls[number];
    bool each = call.work == Work::Each && !call.starts;
    std::vector<std::pair<std::pair<size_t, int64_t>, Access>> uses;
    auto add = [&](const SliceUse& use, bool writes, Part part, bool by_element) {
      const SharedBuffer& buffer = program_.buffers[use.buffer];
      int64_t place = use.slice.shift;
      place += use.slice.repeat ? use.slice.factor * iteration_[*use.slice.repeat] : 0;
      place = buffer.ring ? place % buffer.places : place;
      uses.push_back(
          {{use.buffer, place}, {number, iteration_, part, call.tile, writes, by_element}});
    };
    for (const SliceUse& input : call.inputs) {
      add(input, false, Part::All, each && input.reading == Reading::Same && !call.asks_first);
    }
    if (call.starts) {
      for (int64_t place = 0; place < program_.buffers[call.output->buffer].places; ++place) {
        uses.push_back(
            {{call.output->buffer, place}, {number, iteration_, Part::All, 1, true, false}});
      }
    } else if (call.output) {
      add(*call.output, true, PartOf(call.work), each);
    }
    for (const auto& [place, access] : uses) {
      for (const Access& earlier : since_[place]) {
        if (Meet(earlier, access) && !(earlier.call == number && earlier.at == iteration_)) {
          Need(earlier, access);
        }
      }
    }
    for (const auto& [place, access] : uses) {
      std::vector<Access>& since = since_[place];
      std::erase_if(since, [&](const Access& earlier) {
        return access.writes && (access.part == Part::All ||
                                 (earlier.part == access.part && earlier.tile == access.tile));
      });
      since.push_back(access);
    }
  }

  size_t CommonRepeats(size_t a, size_t b) const {
    return std::min(program_.calls[a].repeats, program_.calls[b].repeats);
  }

  void Need(const Access& earlier, const Access& later) {
    Needs& needs = needs_[{earlier.call, later.call}];
    Iteration back;
    size_t common = CommonRepeats(earlier.call, later.call);
    for (size_t i = 0; i < common; ++i) {
      back.push_back(later.at[i] - earlier.at[i]);
    }
    auto& rest = needs.back[back];
    rest.resize(earlier.at.size() - common);
    for (size_t i = common; i < earlier.at.size(); ++i) {
      rest[i - common].insert(earlier.at[i]);
    }
    needs.by_element = needs.by_element && earlier.by_element && later.by_element;
  }

  void AddWaits(size_t from, size_t to, const Needs& needs) {
    program_.calls[from].notified = true;
    for (const auto& [back, rest] : needs.back) {
      std::vector<std::string> indices;
      std::string guard;
      auto require = [&](const std::string& condition) {
        guard += (guard.empty() ? " if " : " && ") + condition;
      };
      for (size_t i = 0; i < back.size(); ++i) {
        std::string variable = program_.iterations.size() == 1 ? "l" : i == 0 ? "s" : "l";
        if (back[i] == 0) {
          indices.push_back(variable);
        } else if (back[i] > 0) {
          indices.push_back(fmt::format("{} - {}", variable, back[i]));
          require(fmt::format("{} >= {}", variable, back[i]));
        } else {
          indices.push_back(fmt::format("{} + {}", variable, -back[i]));
          require(fmt::format("{} < {}", variable, program_.iterations[i] + back[i]));
        }
      }
      for (const std::set<int64_t>& values : rest) {
        bool one = values.size() == 1;
        indices.push_back(one ? std::to_string(*values.begin()) : "*");
      }
      if (program_.calls[from].tells_tasks_apart) {
        indices.push_back(needs.by_element ? "t" : "*");
      }
      program_.calls[to].waits.push_back(fmt::format("%e{}{}{}", from, Indices(indices), guard));
    }
  }

  SliceProgram& program_;
  Iteration iteration_;
  std::map<std::pair<size_t, int64_t>, std::vector<Access>> since_;  // by buffer and place
  std::map<std::pair<size_t, size_t>, Needs> needs_;                 // by the two calls
};

}  // namespace

bool AddWaits(SliceProgram& program) { return Run(program).Connect(); }

}  // namespace etc::mutation
