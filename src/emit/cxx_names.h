// Names of the program in C++. One that only generated text uses begins with what kind of thing it
// is: then it is no keyword, macro or name of the prelude, and hides no other. Names that an
// implementation sees stay what they are.
#pragma once

#include <string>

#include "ir/module.h"

namespace etc {

/// A name that an implementation sees: its own, with an underscore where C++ or the prelude has
/// another use for it. Different names stay different.
std::string CxxIdentifier(const std::string& name);

/// The members of the arguments of a device function: `p_x` and `n0_x` or, where an implementation
/// uses them, `x` and `x_0`.
class ArgsNames {
 public:
  explicit ArgsNames(bool has_impl) : has_impl_(has_impl) {}

  std::string Pointer(const Tensor& tensor) const;
  std::string Extent(const Tensor& tensor, size_t axis) const;
  std::string Tile(const Tensor& tensor, size_t axis) const;
  std::string Swizzle(const Tensor& tensor) const;

 private:
  bool has_impl_;
};

}  // namespace etc
