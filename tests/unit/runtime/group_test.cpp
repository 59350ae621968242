// Groups on the host: calls beside each other.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

#include "runtime/gather_run.h"

namespace etc::test {
namespace {

using nlohmann::json;

json RanksManifest() {
  json manifest = GatherManifest();
  AddRanks(manifest, {1, 2, 4});
  return manifest;
}

/// A launch sets the word of its rank, the first of `ids`, to kInside, and ends when it is kDone;
/// at once where it is so from the start.
constexpr int32_t kInside = 1;
constexpr int32_t kDone = 2;
constexpr char kHeldText[] = R"(
#include <atomic>
#include <cstdint>
extern "C" void gather_small(const uint64_t* block, int, int) {
  std::atomic_ref<int32_t> word(*reinterpret_cast<int32_t*>(block[0]));
  if (word != 2) {
    word = 1;
  }
  while (word != 2) {
  }
}
extern "C" void gather_large(const uint64_t*, int, int) {}
)";

/// Two ranks that have launched once, and whose next launches the test ends.
struct HeldRanks {
  HeldRanks()
      : program(WriteArtifact(dir, RanksManifest(), Compile(kHeldText))),
        group(program, 2),
        ranks{group.Rank(0), group.Rank(1)} {
    for (size_t rank = 0; rank < 2; ++rank) {
      tensors[rank].Bind(ranks[rank]);
      ranks[rank].SetSms(1);
      Word(rank) = kDone;
    }
    group.Launch();
    Word(0) = 0;
    Word(1) = 0;
  }
  std::atomic_ref<int32_t> Word(size_t rank) {
    return std::atomic_ref<int32_t>(tensors[rank].ids[0]);
  }
  void AwaitBegin(size_t rank) {
    while (Word(rank) != kInside) {
      std::this_thread::yield();
    }
  }

  TempDir dir;
  Program program;
  Group group;
  std::array<Instance, 2> ranks;
  std::array<GatherTensors, 2> tensors{GatherTensors(4, 8), GatherTensors(4, 8)};
};

void CheckBusy(const Failure& failure, const std::string& rank) {
  CHECK(failure.status == ETC_ERROR_BUSY);
  CHECK(failure.text ==
        "another thread is inside of a call with this group or with the instance of its rank " +
            rank);
}

TEST_CASE("a group of which one rank is busy begins nothing on the others") {
  HeldRanks held;
  std::thread launch([&] { held.ranks[1].Launch(); });
  held.AwaitBegin(1);
  std::atomic<bool> has_tried = false;
  Failure failures[3];
  std::thread group([&] {
    failures[0] = FailureOf([&] { held.group.Launch(); });
    failures[1] = FailureOf([&] { held.group.Reserve(); });
    failures[2] = FailureOf([&] { held.group.Synchronize(); });
    has_tried = true;
  });
  while (!has_tried && held.Word(0) == 0) {
    std::this_thread::yield();
  }
  CHECK(held.Word(0).load() == 0);
  held.Word(0) = kDone;
  held.Word(1) = kDone;
  launch.join();
  group.join();
  for (const Failure& failure : failures) {
    CheckBusy(failure, "1");
  }
  held.ranks[0].SetDim("batch", 4);  // what a busy call had taken is free again
}

TEST_CASE("a group has one call at a time, and so have its instances") {
  HeldRanks held;
  std::thread launch([&] { held.group.Launch(); });
  held.AwaitBegin(0);
  held.AwaitBegin(1);
  CheckBusy(FailureOf([&] { held.group.Launch(); }), "0");
  CheckBusy(FailureOf([&] { held.group.Reserve(); }), "0");
  CheckBusy(FailureOf([&] { held.group.Synchronize(); }), "0");
  char all[2] = {};
  CheckBusy(FailureOf([&] { held.group.Gather(all, 1, all); }), "0");
  CHECK(FailureOf([&] { held.ranks[1].SetDim("batch", 4); }).status == ETC_ERROR_BUSY);
  held.Word(0) = kDone;
  held.Word(1) = kDone;
  launch.join();
  held.group.Synchronize();
}

}  // namespace
}  // namespace etc::test
