#include "slice_generator.h"

#include <algorithm>

#include "random.h"
#include "slice_program.h"

namespace etc::mutation {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, bool events) : random_(seed), events_(events) {}

  SliceText Run() {
    while (true) {
      program_ = {};
      family_.clear();
      factors_.clear();
      Make();
      if (!events_) {
        return {TextOf(program_), family_};
      }
      if (AddWaits(program_)) {
        if (random_.Chance(4)) {
          DropWait();
        }
        return {TextOf(program_), family_};
      }
    }
  }

 private:
  void Make() {
    program_.least = random_.Pick({0, 1, 1, 1, 2, 3});
    program_.most = random_.Pick({12, 40, 640});
    int64_t depth = random_.Pick({0, 1, 1, 1, 1, 2, 2});
    for (int64_t i = 0; i < depth; ++i) {
      program_.iterations.push_back(depth == 2 ? random_.Pick({2, 3, 4, 5})
                                               : random_.Pick({2, 3, 5, 6, 8, 9, 13}));
    }
    family_ = depth == 0 ? "no repeat" : depth == 1 ? "repeat" : "repeat in a repeat";
    family_ += program_.least == 0 ? ", empty sizes" : "";
    // The time that events take to derive grows with the pairs of calls, most of all in a nest.
    int64_t buffers = 1 + random_.Below(events_ ? 3 : 2);
    for (int64_t i = 0; i < buffers; ++i) {
      AddBuffer();
    }
    for (size_t depth_before = 1; depth_before < program_.iterations.size(); ++depth_before) {
      AddCalls(depth_before, random_.Below(2));
    }
    size_t inside = program_.iterations.size();
    AddCalls(inside, 1 + random_.Below(events_ ? 3 : inside == 2 ? 1 : 2));
    if (inside == 2) {
      AddCalls(1, random_.Below(2));
    }
    AddLast();
  }

  /// A buffer and the call that fills it. How many places it needs depends on how its slices move.
  void AddBuffer() {
    SharedBuffer buffer;
    int64_t kind = program_.iterations.empty() ? 0 : random_.Below(5);
    int64_t most = 0;
    for (int64_t iterations : program_.iterations) {
      most = std::max(most, iterations);
    }
    factors_.push_back(kind == 4 ? 2 : 1);
    if (kind == 1 || kind == 2) {
      buffer.ring = true;
      buffer.places = random_.Pick({2, 2, 3, 4});
      family_ += ", ring";
    } else if (kind == 3) {
      buffer.places = most + 2;
      family_ += ", slices";
    } else if (kind == 4) {
      buffer.places = 2 * most + 2;
      family_ += ", strides";
    }
    if (buffer.places > 1 && random_.Chance(4)) {
      buffer.places_last = true;
      family_ += ", free axis";
    }
    program_.buffers.push_back(buffer);
    SliceCall start;
    start.starts = true;
    start.output = SliceUse{program_.buffers.size() - 1, {}, Reading::Same};
    program_.calls.push_back(start);
  }

  SliceUse PickUse(size_t repeats) {
    size_t number =
        static_cast<size_t>(random_.Below(static_cast<int64_t>(program_.buffers.size())));
    const SharedBuffer& buffer = program_.buffers[number];
    SliceUse use{number, {}, Reading::Same};
    if (buffer.places == 1) {
      return use;
    }
    if (repeats == 0) {
      use.slice.shift = random_.Below(std::min<int64_t>(buffer.places, 3));
      return use;
    }
    use.by_scalar = random_.Chance(6);
    if (use.by_scalar) {
      family_ += ", scalar";
    }
    use.slice.repeat = random_.Chance(4) ? 0 : repeats - 1;
    use.slice.factor = factors_[number];
    use.slice.shift = random_.Below(buffer.ring ? buffer.places : 2);
    return use;
  }

  Reading PickReading() {
    int64_t kind = random_.Below(9);
    return kind < 4   ? Reading::Same
           : kind < 5 ? Reading::Mirror
           : kind < 7 ? Reading::Window
           : kind < 8 ? Reading::All
                      : Reading::Prefix;
  }

  void AddInputs(SliceCall& call) {
    int64_t inputs = random_.Chance(4) ? 2 : 1;
    for (int64_t i = 0; i < inputs; ++i) {
      SliceUse input = PickUse(call.repeats);
      // No slice is read and written by one call: its tasks are in no order.
      if (call.output && MayMeet(input, *call.output)) {
        continue;
      }
      input.reading = PickReading();
      call.inputs.push_back(input);
    }
  }

  /// Whether two slices of one call may be the same in some iteration.
  bool MayMeet(const SliceUse& a, const SliceUse& b) const {
    if (a.buffer != b.buffer) {
      return false;
    }
    return a.slice.repeat != b.slice.repeat || a.slice.factor != b.slice.factor ||
           a.slice.shift == b.slice.shift;
  }

  void AddCalls(size_t repeats, int64_t count) {
    for (; count > 0; --count) {
      SliceCall call;
      call.repeats = repeats;
      call.output = PickUse(repeats);
      call.accumulates = random_.Chance(3);
      call.adds = random_.Chance(2);
      call.tile = random_.Pick({2, 3, 4, 8});
      AddInputs(call);
      if (repeats > 0 && !call.inputs.empty() && random_.Chance(6)) {
        call.asks_first = true;
        family_ += ", flag";
      }
      int64_t kind = random_.Below(14);
      if (kind < 3) {
        call.work = Work::Each;
        call.tells_tasks_apart = random_.Chance(2);
      } else if (kind < 5) {
        call.work = random_.Chance(2) ? Work::Tiles : Work::Guarded;
      } else if (kind < 9) {
        AddLoop(call);
      } else {
        AddParts(call);
        continue;
      }
      program_.calls.push_back(call);
    }
  }

  /// A loop over a tile whose iterations hand something on, or do one of two things.
  void AddLoop(SliceCall& call) {
    static const std::vector<std::pair<Work, const char*>> kLoops = {
        {Work::Sum, ", scan"},
        {Work::Carried, ", scan"},
        {Work::Staged, ", local"},
        {Work::Sides, ", else"},
    };
    const auto& [work, name] = random_.Pick(kLoops);
    family_ += name;
    call.work = work;
  }

  /// Two calls on the two parts of a slice, or one on a part.
  void AddParts(SliceCall call) {
    static const std::vector<std::pair<std::pair<Work, Work>, const char*>> kParts = {
        {{Work::LowHalf, Work::HighHalf}, ", halves"},
        {{Work::Even, Work::Odd}, ", even and odd"},
        {{Work::First, Work::Rest}, ", first and rest"},
        {{Work::FullTiles, Work::Tail}, ", full tiles and tail"},
        {{Work::Below, Work::Behind}, ", required part"},
    };
    const auto& [parts, name] = random_.Pick(kParts);
    family_ += name;
    program_.has_part = program_.has_part || parts.first == Work::Below;
    std::pair order = random_.Chance(2) ? parts : std::pair{parts.second, parts.first};
    call.work = order.first;
    program_.calls.push_back(call);
    if (!random_.Chance(4)) {
      call.work = order.second;
      call.inputs.clear();
      AddInputs(call);
      program_.calls.push_back(call);
    }
  }

  void AddLast() {
    SliceCall last;
    last.work = random_.Chance(2) ? Work::Each : Work::Tiles;
    last.tile = random_.Pick({2, 3});
    last.inputs.push_back(PickUse(0));
    last.inputs.back().reading = PickReading();
    program_.calls.push_back(last);
  }

  void DropWait() {
    std::vector<SliceCall*> waiting;
    for (SliceCall& call : program_.calls) {
      if (!call.waits.empty()) {
        waiting.push_back(&call);
      }
    }
    if (!waiting.empty()) {
      std::vector<std::string>& waits = random_.Pick(waiting)->waits;
      waits.erase(waits.begin() + random_.Below(static_cast<int64_t>(waits.size())));
      family_ = "a wait dropped";
    }
  }

  Random random_;
  bool events_;
  SliceProgram program_;
  std::vector<int64_t> factors_;  // of each buffer's slices
  std::string family_;
};

}  // namespace

SliceText GenerateSlices(uint64_t seed, bool events) { return Generator(seed, events).Run(); }

}  // namespace etc::mutation
