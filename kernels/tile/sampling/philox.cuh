// Random bits of a counter: Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1,
// 2, 3, 2011).
#pragma once

#include "arch/common/types.cuh"

namespace etc {

struct RandomWords {
  u32 words[4];
};

ETC_DEVICE RandomWords Philox(u64 seed, u32 counter) {
  u32 x[4] = {counter, 0, 0, 0};
  u32 key[2] = {u32(seed), u32(seed >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    u64 a = u64(0xD2511F53u) * x[0], b = u64(0xCD9E8D57u) * x[2];
    u32 first = u32(b >> 32) ^ x[1] ^ key[0];
    u32 third = u32(a >> 32) ^ x[3] ^ key[1];
    x[0] = first, x[1] = u32(b), x[2] = third, x[3] = u32(a);
    key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
  }
  return {{x[0], x[1], x[2], x[3]}};
}

}  // namespace etc
