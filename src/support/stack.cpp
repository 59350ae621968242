#include "support/stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

namespace etc {

void UseDeepStacks() {
  constexpr rlim_t kBytes = 100 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kBytes) {
    return;
  }
  limit.rlim_cur = std::min(kBytes, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_setstacksize(&attributes, limit.rlim_cur);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
}

}  // namespace etc
