#include "target/arch.h"

#include "support/diagnostics.h"

namespace etc {

std::string_view Spelling(Arch arch) {
  switch (arch) {
    case Arch::Host:
      return "host";
    case Arch::Sm90a:
      return "sm_90a";
  }
  InternalError(__FILE__, __LINE__, "an architecture without a spelling");
}

std::optional<Arch> ArchOf(std::string_view spelling) {
  for (Arch arch : {Arch::Host, Arch::Sm90a}) {
    if (Spelling(arch) == spelling) {
      return arch;
    }
  }
  return std::nullopt;
}

std::string_view DeviceOf(Arch arch) { return arch == Arch::Sm90a ? "sm_90" : ""; }

std::optional<int64_t> MostLaunchBytes(Arch arch) {
  return arch == Arch::Sm90a ? std::optional<int64_t>(32764) : std::nullopt;
}

std::vector<int64_t> ConsumerWarps(Arch arch) {
  return arch == Arch::Sm90a ? std::vector<int64_t>{8, 12, 16} : std::vector<int64_t>();
}

int64_t ThreadsOf(int64_t consumer_warps) {
  constexpr int64_t kWarp = 32;
  constexpr int64_t kWarpgroup = 4 * kWarp;
  return consumer_warps * kWarp + kWarpgroup;
}

}  // namespace etc
