// Tickets: numbers that each are given to one CTA.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

// The first of so many tickets that follow each other. Relaxed at GPU scope: a ticket says whose
// task it is, and nothing of what others have written.
ETC_DEVICE u32 TakeTickets(u32* counter, u32 tickets) {
  u32 first;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(first)
               : "l"(counter), "r"(tickets)
               : "memory");
  return first;
}
ETC_DEVICE u32 TakeTicket(u32* counter) { return TakeTickets(counter, 1); }

}  // namespace etc
