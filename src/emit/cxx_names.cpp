#include "emit/cxx_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace etc {
namespace {

/// Keywords, macros of the C library and of CUDA, the types of the prelude, and the members that
/// all arguments have.
constexpr std::string_view kReserved[] = {"alignas",       "alignof",     "and",
                                          "and_eq",        "asm",         "auto",
                                          "bitand",        "bitor",       "bool",
                                          "break",         "case",        "catch",
                                          "char",          "char16_t",    "char32_t",
                                          "char8_t",       "class",       "co_await",
                                          "co_return",     "co_yield",    "compl",
                                          "concept",       "const",       "const_cast",
                                          "consteval",     "constexpr",   "constinit",
                                          "continue",      "decltype",    "default",
                                          "delete",        "do",          "double",
                                          "dynamic_cast",  "else",        "enum",
                                          "explicit",      "export",      "extern",
                                          "false",         "float",       "for",
                                          "friend",        "goto",        "if",
                                          "inline",        "int",         "long",
                                          "mutable",       "namespace",   "new",
                                          "noexcept",      "not",         "not_eq",
                                          "nullptr",       "operator",    "or",
                                          "or_eq",         "private",     "protected",
                                          "public",        "register",    "reinterpret_cast",
                                          "requires",      "return",      "short",
                                          "signed",        "sizeof",      "static",
                                          "static_assert", "static_cast", "struct",
                                          "switch",        "template",    "this",
                                          "thread_local",  "throw",       "true",
                                          "try",           "typedef",     "typeid",
                                          "typename",      "union",       "unsigned",
                                          "using",         "virtual",     "void",
                                          "volatile",      "wchar_t",     "while",
                                          "xor",           "xor_eq",      "EOF",
                                          "NULL",          "NAN",         "INFINITY",
                                          "HUGE_VAL",      "HUGE_VALF",   "HUGE_VALL",
                                          "BUFSIZ",        "RAND_MAX",    "EXIT_SUCCESS",
                                          "EXIT_FAILURE",  "assert",      "errno",
                                          "stdin",         "stdout",      "stderr",
                                          "signbit",       "isnan",       "isinf",
                                          "isfinite",      "isnormal",    "math_errhandling",
                                          "INT_MIN",       "INT_MAX",     "FLT_MAX",
                                          "FLT_MIN",       "DBL_MAX",     "DBL_MIN",
                                          "M_PI",          "M_E",         "linux",
                                          "unix",          "i386",        "warpSize",
                                          "threadIdx",     "blockIdx",    "blockDim",
                                          "gridDim",       "i8",          "i32",
                                          "i64",           "u8",          "u16",
                                          "u32",           "u64",         "bf16",
                                          "f16",           "f64",         "f8e4m3",
                                          "f8e5m2",        "Flagged",     "Dims",
                                          "Checks",        "Vec4",        "args",
                                          "checks",        "consumer",    "dims",
                                          "scalars"};

}  // namespace

std::string CxxIdentifier(const std::string& name) {
  // One that is reserved but for underscores at its end gets one more, so that no two are equal.
  std::string stem = name.substr(0, name.find_last_not_of('_') + 1);
  bool reserved =
      std::find(std::begin(kReserved), std::end(kReserved), stem) != std::end(kReserved);
  return reserved ? name + "_" : name;
}

std::string ArgsNames::Pointer(const Tensor& tensor) const {
  return has_impl_ ? CxxIdentifier(tensor.name) : "p_" + tensor.name;
}

std::string ArgsNames::Extent(const Tensor& tensor, size_t axis) const {
  return has_impl_ ? fmt::format("{}_{}", tensor.name, axis)
                   : fmt::format("n{}_{}", axis, tensor.name);
}

std::string ArgsNames::Tile(const Tensor& tensor, size_t axis) const {
  return has_impl_ ? fmt::format("{}_tile_{}", tensor.name, axis)
                   : fmt::format("tile{}_{}", axis, tensor.name);
}

std::string ArgsNames::Swizzle(const Tensor& tensor) const {
  return has_impl_ ? tensor.name + "_swizzle" : "swizzle_" + tensor.name;
}

}  // namespace etc
