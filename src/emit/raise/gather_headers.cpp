#include "emit/raise/gather_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace etc {
namespace {

/// Whether `name` stands in `text` as a whole word.
bool HasWord(const std::string& text, const std::string& name) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

bool AppendImpl(const Impl& impl, HeaderText& headers, Diagnostics& diagnostics,
                std::string& text) {
  if (!headers.Append(impl.header, impl.range, text)) {
    return false;
  }
  if (!HasWord(text, impl.name)) {
    diagnostics.Error(DiagnosticKind::Impl, impl.range,
                      fmt::format("header `{}` does not define `{}`", impl.header, impl.name));
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> GatherHeaders(const RaisedModule& raised, const HeaderReader& reader,
                                         Diagnostics& diagnostics) {
  std::vector<const char*> names = {"arch/sm90/launch.cuh", "engine/roles.cuh", "engine/events.cuh",
                                    "tile/pointwise/scalar.cuh"};
  HeaderText headers(reader, diagnostics);
  if (raised.arch == Arch::Host) {
    names = {"host_prelude.h", "tile/pointwise/scalar.cuh"};
    if (raised.module.mesh) {
      names.push_back("host_peers.h");
    }
    headers.Skip("arch/common/types.cuh");  // the prelude has the host's own
    headers.Skip("arch/sm90/memory.cuh");
    headers.Skip("arch/sm90/await.cuh");
    headers.Skip("arch/sm90/watch.cuh");
  } else if (raised.has_profile) {
    names.insert(names.begin(), "engine/profile_waits.cuh");  // times the waits of what follows
  }
  if (std::any_of(raised.kernels.begin(), raised.kernels.end(),
                  [](const RaisedKernel& kernel) { return !kernel.shared_reductions.empty(); })) {
    names.push_back("engine/reduction.cuh");
  }
  if (raised.module.mesh && raised.arch != Arch::Host) {
    names.push_back("engine/peers.cuh");
  }
  if (raised.arch != Arch::Host &&
      std::any_of(raised.kernels.begin(), raised.kernels.end(),
                  [](const RaisedKernel& kernel) { return !kernel.maps.empty(); })) {
    names.push_back("arch/sm90/tensor_copy.cuh");
  }
  if (std::any_of(raised.kernels.begin(), raised.kernels.end(), [](const RaisedKernel& kernel) {
        return std::any_of(kernel.shares.begin(), kernel.shares.end(),
                           [](const auto& share) { return !share.second.next.empty(); });
      })) {
    names.push_back("engine/prefetcher.cuh");
  }
  if (raised.has_checks || raised.has_counted_queues) {
    names.push_back("engine/checks.cuh");
  }
  if (raised.has_task_ranges && raised.arch != Arch::Host) {
    names.push_back("engine/task_ranges.cuh");
  }
  if (raised.has_dispatches && raised.arch != Arch::Host) {
    names.push_back("engine/tickets.cuh");
  }
  if (raised.has_queues) {
    names.push_back(raised.arch == Arch::Host ? "host_queue.h" : "engine/queue.cuh");
  }
  if (raised.has_counted_queues) {
    names.push_back(raised.arch == Arch::Host ? "host_counted_queue.h"
                                              : "engine/counted_queue.cuh");
  }
  if (raised.has_cta_counters) {
    names.push_back(raised.arch == Arch::Host ? "host_cta_events.h" : "engine/cta_events.cuh");
  }
  if (raised.has_watchdog) {
    names.push_back("engine/stalled.cuh");
    names.push_back(raised.arch == Arch::Host ? "host_watchdog.h" : "engine/watchdog.cuh");
    if (raised.has_cta_counters && raised.arch == Arch::Host) {
      names.push_back("host_cta_watchdog.h");
    }
  }
  if (raised.has_profile) {
    names.push_back("engine/profile_record.cuh");
    names.push_back(raised.arch == Arch::Host ? "host_profile.h" : "engine/profile.cuh");
  }
  bool ok = true;
  std::string text;
  for (const char* name : names) {
    ok &= headers.Append(name, {}, text);
  }
  for (const RaisedKernel& kernel : raised.kernels) {
    for (const RaisedDevice& device : kernel.devices) {
      if (device.impl != nullptr && !device.impl->header.empty()) {
        ok &= AppendImpl(*device.impl, headers, diagnostics, text);
      }
    }
  }
  return ok ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace etc
