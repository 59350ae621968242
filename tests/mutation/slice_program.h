// Programs whose calls share slices of buffers, or parts of a slice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::mutation {

/// The elements i of a slice that the tasks of a call write, and how they are dealt out.
enum class Work {
  Each,     // a task for each element
  Tiles,    // for each tile, the last one ragged
  Guarded,  // the same, with a condition in the body
  Sum,      // the same, each element with the sum of what stands before it in the tile
  Carried,  // the same, read from the element before
  Staged,   // for each tile, through a local array
  Sides,    // for each tile, even and odd elements on the two sides of an `else`
  LowHalf,
  HighHalf,
  Even,
  Odd,
  First,
  Rest,
  FullTiles,
  Tail,
  Below,  // those before the dimension `m`
  Behind,
};

/// What a task that writes element i reads of an input.
enum class Reading { Same, Mirror, Window, All, Prefix };

/// A slice of a buffer: `(factor * v + shift) % places`, of the variable of a repeat; without one
/// the number `shift`.
struct Slice {
  std::optional<size_t> repeat;  // 0 is the outermost
  int64_t factor = 1;
  int64_t shift = 0;

  bool operator==(const Slice&) const = default;
};

struct SharedBuffer {
  int64_t places = 1;
  bool ring = false;         // a slice is taken modulo the places
  bool places_last = false;  // the places are the last axis, so the first one of a slice is free
};

struct SliceUse {
  size_t buffer;
  Slice slice;
  Reading reading = Reading::Same;
  bool by_scalar = false;  // the call gets the whole buffer, and the place as a scalar
};

struct SliceCall {
  Work work = Work::Each;
  int64_t tile = 1;
  std::vector<SliceUse> inputs;
  std::optional<SliceUse> output;  // without one, of a call behind the repeats: the result
  bool accumulates = false;        // reads what it writes
  bool adds = false;               // by `+=`
  bool asks_first = false;         // the first iteration reads otherwise, by a scalar
  size_t repeats = 0;              // around it
  bool starts = false;             // fills all places of its output
  bool tells_tasks_apart = false;  // its event has an element for each
  std::vector<std::string> waits = {};
  bool notified = false;
};

/// Calls before, inside of and behind a repeat, or a repeat in a repeat.
struct SliceProgram {
  int64_t least = 1;  // the range of the dimension `n`
  int64_t most = 640;
  bool has_part = false;            // there is a dimension `m`, of no more than `n`
  std::vector<int64_t> iterations;  // of the repeats
  std::vector<SharedBuffer> buffers;
  std::vector<SliceCall> calls;  // those inside of repeats stand together
};

/// Lets each call wait for the calls before it that use a slice as well, one of them writing. False
/// where a call would wait for more than an author writes down.
bool AddWaits(SliceProgram& program);

std::string TextOf(const SliceProgram& program);

}  // namespace etc::mutation
