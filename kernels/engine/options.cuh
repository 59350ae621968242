// Config members that an impl may leave out: a trait for each, with the value that then holds.
#pragma once

#include "arch/common/types.cuh"

namespace etc {

template <class...>
using Void = void;

#define ETC_OPTION(Trait, member, Type, fallback)               \
  template <class Config, class = void>                         \
  struct Trait {                                                \
    static constexpr Type value = fallback;                     \
  };                                                            \
  template <class Config>                                       \
  struct Trait<Config, ::etc::Void<decltype(Config::member)>> { \
    static constexpr Type value = Config::member;               \
  }

#define ETC_WORD_OPTION(Trait, member, fallback)               \
  template <class Config, class = void>                        \
  struct Trait {                                               \
    using type = fallback;                                     \
  };                                                           \
  template <class Config>                                      \
  struct Trait<Config, ::etc::Void<typename Config::member>> { \
    using type = typename Config::member;                      \
  }

/// A scalar parameter that a device function may have or not: `fallback` where it has none.
#define ETC_SCALAR(Trait, name, Type, fallback)                                     \
  template <class Args, class = void>                                               \
  struct Trait {                                                                    \
    static constexpr bool kExists = false;                                          \
    static ETC_DEVICE Type Of(const Args&) { return fallback; }                     \
  };                                                                                \
  template <class Args>                                                             \
  struct Trait<Args, ::etc::Void<decltype(Args::scalars.name)>> {                   \
    static constexpr bool kExists = true;                                           \
    static ETC_DEVICE Type Of(const Args& args) { return Type(args.scalars.name); } \
  }

template <bool yes, class A, class B>
struct Choose {
  using type = A;
};
template <class A, class B>
struct Choose<false, A, B> {
  using type = B;
};

template <class A, class B>
struct IsSame {
  static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
  static constexpr bool value = true;
};

/// Stores with the rounding of the element's type.
template <class T>
ETC_DEVICE void StoreFloat(T* address, float value) {
  *address = FromFloat<T>(value);
}

__host__ __device__ constexpr int DivideUp(int a, int b) { return (a + b - 1) / b; }

}  // namespace etc
