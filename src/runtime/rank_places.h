// Where the ranks of a group are on GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda_driver.h"
#include "runtime/status.h"

namespace etc::runtime {

struct RankPlace {
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;  // the primary one
  cuda::Device device = 0;
  int sharers = 0;  // ranks on the device, this one counted

  /// Calls `work(sharers)` with the context current.
  template <class Work>
  Status Within(Work work) const {
    const cuda::ScopedContext scope(*driver, context);
    ETC_RETURN_IF_BAD(scope.status());
    return work(sharers);
  }
};

/// That of the only rank of this process, alone on its device as far as is known.
Status PlaceRank(int32_t device, RankPlace* place);

/// One place for each rank, each of which reaches the memory of all others. `devices` null: rank 0
/// is on device 0, and so on.
Status PlaceRanks(int32_t ranks, const int32_t* devices, std::vector<RankPlace>* places);

}  // namespace etc::runtime
