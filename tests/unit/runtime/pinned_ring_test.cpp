// The buffers of an upload: what threads fill while a device copies.
#include "runtime/weights/pinned_ring.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/fake_session.h"

namespace etc::test {
namespace {

using runtime::PinnedRing;
using std::chrono::milliseconds;

constexpr int64_t kBuffer = 16384;

const runtime::cuda::Driver& FakeDriver() {
  const runtime::cuda::Driver* driver = nullptr;
  REQUIRE(runtime::cuda::OpenDriver(&driver).Ok());
  return *driver;
}

/// Pieces of one parameter, each filled with bytes of its own, and a ring for them.
struct Pieces {
  explicit Pieces(const std::vector<int64_t>& sizes) {
    int64_t end = 0;
    for (const int64_t size : sizes) {
      runtime::WeightPiece piece;
      piece.conversion = {runtime::Conversion::Kind::Copy, 1, 1};
      piece.first = end;
      piece.elements = size;
      list.push_back(piece);
      end += size;
    }
    device.resize(static_cast<size_t>(end));
  }
  static char Mark(size_t index) { return static_cast<char>(index * 7 + 1); }
  void Fill(size_t index, char* to) const {
    std::memset(to, Mark(index), static_cast<size_t>(list[index].elements));
  }
  bool Arrived() const {
    for (size_t i = 0; i < list.size(); ++i) {
      for (int64_t at = 0; at < list[i].elements; ++at) {
        if (device[static_cast<size_t>(list[i].first + at)] != Mark(i)) {
          return false;
        }
      }
    }
    return true;
  }

  std::vector<char> device;
  std::vector<runtime::WeightPiece> list;
  const runtime::WeightPlan plan;
};

struct Ring {
  Ring(Pieces* pieces, size_t buffers)
      : memory{pieces->device.data()},
        packer(FakeDriver(), pieces->plan, memory),
        ring(FakeDriver(), memory, packer, pieces->list) {
    REQUIRE(ring.Reserve(buffers, kBuffer).Ok());
  }
  const std::vector<void*> memory;
  const runtime::DevicePacker packer;
  PinnedRing ring;
};

/// Sends all pieces through a ring that other threads fill.
void Send(Pieces* pieces, size_t buffers, size_t threads) {
  Ring made(pieces, buffers);
  PinnedRing& ring = made.ring;
  std::atomic<size_t> next{0};
  std::vector<std::thread> team;
  for (size_t i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      for (size_t at = next++; at < pieces->list.size(); at = next++) {
        pieces->Fill(at, ring.Place(at));
        ring.Give(at);
      }
    });
  }
  while (ring.delivered_bytes() < static_cast<int64_t>(pieces->device.size())) {
    REQUIRE(ring.Deliver(milliseconds(100)).Ok());
  }
  REQUIRE(ring.WaitForCopies().Ok());
  for (std::thread& thread : team) {
    thread.join();
  }
}

TEST_CASE("a device that always has copies under way gets all of them") {
  FakeCuda& fake = OpenFakeCuda();
  fake.copies_under_way = 4;  // a fifth has to be enqueued before the first is done
  Pieces pieces(std::vector<int64_t>(200, kBuffer));
  Send(&pieces, 8, 3);
  CHECK(pieces.Arrived());
  CHECK(fake.uploads == 200);
  CHECK(fake.most_under_way > 4);
  CHECK(fake.most_under_way <= 8);
  CHECK(fake.most_registered > 4);
  CHECK(fake.most_registered <= 8);
  CHECK(fake.pinned == 0);
  CHECK(fake.events == 0);
}

TEST_CASE("pieces of all sizes share buffers, and none is overwritten before it is copied") {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < 1000; ++i) {
    sizes.push_back(i % 3 == 0 ? kBuffer - i * 5 : 1 + i * i % (kBuffer / 3));
  }
  for (const size_t buffers : {2, 4}) {
    for (const size_t threads : {1, 2, 5, 16}) {
      for (const size_t under_way : {size_t{0}, buffers - 1}) {
        CAPTURE(buffers);
        CAPTURE(threads);
        CAPTURE(under_way);
        FakeCuda& fake = OpenFakeCuda();
        fake.copies_under_way = under_way;
        Pieces pieces(sizes);
        Send(&pieces, buffers, threads);
        CHECK(pieces.Arrived());
        CHECK(fake.uploads == sizes.size());
        CHECK(fake.most_registered <= buffers);
      }
    }
  }
}

TEST_CASE("small pieces are many in one buffer") {
  FakeCuda& fake = OpenFakeCuda();
  fake.copies_under_way = 3;  // as one buffer of four pages holds
  Pieces pieces(std::vector<int64_t>(4, 100));
  Send(&pieces, 4, 4);
  CHECK(pieces.Arrived());
  CHECK(fake.most_under_way == 4);
  CHECK(fake.most_registered == 1);
}

TEST_CASE("buffers that are not needed are never pinned") {
  FakeCuda& fake = OpenFakeCuda();
  Pieces pieces(std::vector<int64_t>(3, kBuffer));
  Send(&pieces, 8, 1);
  CHECK(pieces.Arrived());
  CHECK(fake.most_registered <= 3);
}

TEST_CASE("a piece that is larger than a buffer makes all of them larger") {
  FakeCuda& fake = OpenFakeCuda();
  fake.copies_under_way = 1;
  Pieces pieces({10, 3 * kBuffer + 1, 20, 3 * kBuffer, 30, kBuffer, 40});
  Send(&pieces, 2, 2);
  CHECK(pieces.Arrived());
}

TEST_CASE("pieces are copied in their order, whichever is filled first") {
  FakeCuda& fake = OpenFakeCuda();
  Pieces pieces(std::vector<int64_t>(3, kBuffer));
  Ring made(&pieces, 3);
  PinnedRing& ring = made.ring;
  for (const size_t at : {1, 2}) {
    pieces.Fill(at, ring.Place(at));
    ring.Give(at);
    REQUIRE(ring.Deliver(milliseconds(1)).Ok());
    CHECK(fake.uploads == 0);
  }
  pieces.Fill(0, ring.Place(0));
  ring.Give(0);
  REQUIRE(ring.Deliver(milliseconds(1)).Ok());
  CHECK(fake.uploads == 3);
  CHECK(ring.WaitForCopies().Ok());
  CHECK(pieces.Arrived());
}

TEST_CASE("who waits for room gets none from a ring that is closed") {
  OpenFakeCuda();
  Pieces pieces(std::vector<int64_t>(9, kBuffer));
  Ring made(&pieces, 2);
  PinnedRing& ring = made.ring;
  CHECK(ring.Place(0) != nullptr);
  CHECK(ring.Place(1) != nullptr);
  std::atomic<int> given{0};
  std::vector<std::thread> team;
  for (const size_t at : {2, 2, 3, 8}) {
    team.emplace_back([&, at] { given += ring.Place(at) != nullptr ? 1 : 0; });
  }
  std::this_thread::sleep_for(milliseconds(5));  // asleep by then, most of them
  ring.Close();
  for (std::thread& thread : team) {
    thread.join();
  }
  CHECK(given == 0);
}

}  // namespace
}  // namespace etc::test
