// The most expensive way in which isl joins two pieces of a set to one: it turns sides of the one
// until they touch the other ("wrapping", isl_coalesce.c).
#pragma once

namespace etc {

/// While one lives, isl joins pieces in its other ways only, in this thread. Has no effect where
/// isl is a shared library.
class WithoutWrapping {
 public:
  WithoutWrapping();
  ~WithoutWrapping();
  WithoutWrapping(const WithoutWrapping&) = delete;
  WithoutWrapping& operator=(const WithoutWrapping&) = delete;
};

}  // namespace etc
