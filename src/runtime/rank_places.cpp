#include "runtime/rank_places.h"

namespace etc::runtime {
namespace {

/// Has the rank's kernels reach what is allocated in the context of a peer.
Status EnableAccess(const RankPlace& own, const RankPlace& peer) {
  const cuda::Driver& driver = *own.driver;
  int possible = 0;
  ETC_RETURN_IF_BAD(driver.Check(driver.cuDeviceCanAccessPeer(&possible, own.device, peer.device),
                                 "cuDeviceCanAccessPeer"));
  if (possible == 0) {
    return Fail(ETC_ERROR_NO_DEVICE, "device ", own.device, " cannot reach the memory of device ",
                peer.device);
  }
  return own.Within([&](int) -> Status {
    const cuda::Result result = driver.cuCtxEnablePeerAccess(peer.context, 0);
    return result == cuda::kPeerAccessAlreadyEnabled
               ? Status{}
               : driver.Check(result, "cuCtxEnablePeerAccess");
  });
}

}  // namespace

Status PlaceRank(int32_t device, RankPlace* place) {
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&place->driver));
  const cuda::Driver& driver = *place->driver;
  ETC_RETURN_IF_BAD(cuda::ContextOf(driver, device, &place->context));
  place->sharers = 1;
  return driver.Check(driver.cuDeviceGet(&place->device, device), "cuDeviceGet");
}

Status PlaceRanks(int32_t ranks, const int32_t* devices, std::vector<RankPlace>* places) {
  const cuda::Driver* driver = nullptr;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const int32_t device = devices != nullptr ? devices[rank] : rank;
    RankPlace& place = places->emplace_back();
    if (Status status = PlaceRank(device, &place); !status.Ok()) {
      return Fail(status.code, "rank ", rank, ": ", status.message);
    }
    place.sharers = 0;  // counted below
  }
  for (size_t rank = 0; rank < places->size(); ++rank) {
    RankPlace& own = (*places)[rank];
    for (const RankPlace& peer : *places) {
      if (peer.device == own.device) {
        ++own.sharers;
      } else if (Status status = EnableAccess(own, peer); !status.Ok()) {
        return Fail(status.code, "rank ", rank, ": ", status.message);
      }
    }
  }
  return {};
}

}  // namespace etc::runtime
