#include "simulator/slice_writers.h"

namespace etc {

SliceWriters::Writers* SliceWriters::Of(const TensorSlice& slice) {
  auto found = writers_.find(slice);
  if (found == writers_.end()) {
    auto last = last_.find(slice.first);
    found = last == last_.end() ? found : writers_.find(last->second);
  }
  return found == writers_.end() ? nullptr : &found->second;
}

void SliceWriters::Add(const TensorSlice& slice, uint32_t step) {
  Writers& writers = writers_[slice];
  if (writers.was_read) {
    writers = {};
  }
  writers.steps.push_back(step);
  last_[slice.first] = slice;
}

}  // namespace etc
