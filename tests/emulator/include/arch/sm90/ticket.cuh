// Emulated: see kernels/arch/sm90/ticket.cuh.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

ETC_DEVICE u32 TakeTicket(u32* counter) {
  emulator::CheckGlobal("TakeTicket", counter, 4);
  const u32 ticket = *counter;
  *counter += 1;
  emulator::Progress();
  return ticket;
}

}  // namespace etc
