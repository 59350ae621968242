#include "verify/wording.h"

#include <fmt/format.h>

namespace etc {

std::string Counted(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string_view Describe(const Tensor& tensor) {
  switch (tensor.kind) {
    case TensorKind::Buffer:
      return "a buffer";
    case TensorKind::Local:
      return "a local";
    case TensorKind::Param:
      break;
  }
  switch (tensor.access) {
    case Access::In:
      return "an `in` parameter";
    case Access::Out:
      return "an `out` parameter";
    case Access::InOut:
      break;
  }
  return "an `inout` parameter";
}

Note DeclaredHere(const Tensor& tensor) {
  return {tensor.range, fmt::format("`%{}` is declared here", tensor.name)};
}

Note DeclaredHere(const Event& event) {
  return {event.range, fmt::format("`%{}` is declared here", event.name)};
}

Note DeclaredHere(const Device& device) {
  return {device.range, fmt::format("`@{}` is declared here", device.name)};
}

}  // namespace etc
