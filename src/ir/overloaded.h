// One function for each kind of a variant, of which none may be forgotten.
#pragma once

#include <concepts>

namespace etc {

/// `std::visit(Overloaded{[&](const For& loop) {…}, [&](const If& branch) {…}, …}, stmt)`: a kind
/// that no function takes fails the build. A function for `const auto&` would take them all, so
/// kinds that are treated alike are named, with OneOf.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// `[](const OneOf<BufferDecl, EventDecl> auto&) {}`
template <class T, class... Kinds>
concept OneOf = (std::same_as<T, Kinds> || ...);

}  // namespace etc
