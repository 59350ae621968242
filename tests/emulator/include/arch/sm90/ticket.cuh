// Emulated: see kernels/arch/sm90/ticket.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 TakeTickets(u32* counter, u32 tickets) {
  emulator::CheckGlobal("TakeTickets", counter, 4);
  const u32 first = *counter;
  *counter += tickets;
  emulator::Progress();
  return first;
}
ETC_DEVICE u32 TakeTicket(u32* counter) { return TakeTickets(counter, 1); }

}  // namespace etc
