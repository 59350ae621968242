// What packs a piece of a parameter on a device, as the kernel runs it and a test on the host.
#pragma once

#include <cstdint>

#include "runtime/host_device.h"
#include "runtime/tile_order.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/float_rules.h"

namespace etc::runtime {

/// Elements of a checkpoint, row by row, that become bands of tiles. A unit is what a thread moves
/// at once: an element, or 16 bytes of elements that stay as they are. Both addresses are aligned
/// to a unit, and a line of a tile is whole units. Both sides have less than 2 GB.
struct PackJob {
  const void* from = nullptr;
  void* to = nullptr;
  uint32_t units = 0;
  TileOrder order;
  Conversion::Kind kind = Conversion::Kind::Copy;
  uint32_t unit_bytes = 0;  // of what is made
};
static_assert(sizeof(PackJob) == 64, "the host's compiler and the kernel's agree");

struct alignas(16) SixteenBytes {
  uint64_t words[2];
};

template <class Rule>
ETC_HOST_DEVICE void MoveUnit(const PackJob& job, uint32_t from, uint32_t to) {
  static_cast<typename Rule::To*>(job.to)[to] =
      Rule::Of(static_cast<const typename Rule::From*>(job.from)[from]);
}

template <class Bits>
ETC_HOST_DEVICE void CopyUnit(const PackJob& job, uint32_t from, uint32_t to) {
  static_cast<Bits*>(job.to)[to] = static_cast<const Bits*>(job.from)[from];
}

/// Makes the unit of that number.
ETC_HOST_DEVICE inline void PackUnit(const PackJob& job, uint32_t to) {
  const uint32_t from = job.order.InRows(to * job.unit_bytes) / job.unit_bytes;
  if (job.kind != Conversion::Kind::Copy) {
    WithFloatRule(job.kind, [&](auto rule) { MoveUnit<decltype(rule)>(job, from, to); });
    return;
  }
  switch (job.unit_bytes) {
    case 1:
      return CopyUnit<uint8_t>(job, from, to);
    case 2:
      return CopyUnit<uint16_t>(job, from, to);
    case 4:
      return CopyUnit<uint32_t>(job, from, to);
    case 8:
      return CopyUnit<uint64_t>(job, from, to);
    default:
      return CopyUnit<SixteenBytes>(job, from, to);
  }
}

}  // namespace etc::runtime
