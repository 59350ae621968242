// Which steps of a play have made what a slice of a tensor holds.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ir/ids.h"

namespace etc {

/// A tensor at leading indices.
using TensorSlice = std::pair<TensorId, std::vector<int64_t>>;

class SliceWriters {
 public:
  /// Who wrote a slice last, and whether anybody has read it since.
  struct Writers {
    std::vector<uint32_t> steps;
    bool was_read = false;
  };

  /// Who wrote the slice; where its round is not played, who wrote the tensor last. Null where
  /// nobody did.
  Writers* Of(const TensorSlice& slice);

  /// Who writes what nobody has read yet writes a part of it.
  void Add(const TensorSlice& slice, uint32_t step);

 private:
  std::map<TensorSlice, Writers> writers_;
  std::map<TensorId, TensorSlice> last_;
};

}  // namespace etc
