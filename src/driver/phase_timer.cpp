#include "driver/phase_timer.h"

#include <fmt/format.h>

namespace etc {

std::string PhaseTimer::Report() const {
  std::string text;
  double total = 0;
  for (const auto& [name, milliseconds] : phases_) {
    text += fmt::format("{:>10.3f} ms  {}\n", milliseconds, name);
    total += milliseconds;
  }
  return text + fmt::format("{:>10.3f} ms  total\n", total);
}

}  // namespace etc
