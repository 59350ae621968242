#include "tensor/npy.h"

#include <doctest/doctest.h>

#include <string>

namespace etc {
namespace {

/// A file with the given header text, padded as NumPy does, and elements.
std::string MakeFile(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  if (version > 1) {
    bytes += std::string(2, '\0');
  }
  return bytes + header + data;
}

std::string ErrorOf(const std::string& bytes) {
  std::string error;
  CHECK_FALSE(ParseNpy(bytes, error));
  return error;
}

TEST_CASE("an array survives printing and parsing") {
  for (const NpyArray& array :
       {NpyArray{"<f4", {2, 3}, std::string(24, 'x')}, NpyArray{"<i8", {2}, std::string(16, 'y')},
        NpyArray{"|b1", {}, std::string(1, '\1')}, NpyArray{"<u2", {0, 4}, ""}}) {
    std::string bytes = PrintNpy(array);
    CHECK((bytes.size() - array.data.size()) % 64 == 0);
    std::string error;
    auto parsed = ParseNpy(bytes, error);
    REQUIRE_MESSAGE(parsed, error);
    CHECK(parsed->descr == array.descr);
    CHECK(parsed->shape == array.shape);
    CHECK(parsed->data == array.data);
  }
}

TEST_CASE("headers of other writers and versions are read") {
  std::string error;
  auto parsed = ParseNpy(
      MakeFile("{\"shape\":(2,1),\"fortran_order\":False,\"descr\":\"|u1\"}\n", "ab", 2), error);
  REQUIRE_MESSAGE(parsed, error);
  CHECK(parsed->shape == std::vector<int64_t>{2, 1});
  CHECK(parsed->data == "ab");
}

TEST_CASE("one axis has no order") {
  std::string error;
  CHECK(ParseNpy(MakeFile("{'descr': '|u1', 'fortran_order': True, 'shape': (2,), }\n", "ab"),
                 error));
}

TEST_CASE("what is wrong with a file is said") {
  const std::string good = PrintNpy({"<f4", {2, 3}, std::string(24, 'x')});
  CHECK(ErrorOf("hello") == "is not a .npy file");
  CHECK(ErrorOf("") == "is not a .npy file");
  CHECK(ErrorOf(good.substr(0, 9)) == "is cut short: its header is not complete");
  CHECK(ErrorOf(good.substr(0, 40)) == "is cut short: its header is not complete");
  CHECK(ErrorOf(good.substr(0, good.size() - 1)) ==
        "is cut short: it holds 23 bytes of elements; its shape 2x3 of `<f4` needs 24");
  CHECK(ErrorOf(good + "x") ==
        "is too long: it holds 25 bytes of elements; its shape 2x3 of `<f4` needs 24");
  CHECK(ErrorOf(MakeFile("{'descr': '|u1'}", "", 9)) ==
        "has version 9 of the .npy format; expected 1, 2 or 3");
  CHECK(ErrorOf(MakeFile("{'descr': '|u1'}", "")) == "has a .npy header that cannot be read");
  CHECK(ErrorOf(MakeFile("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")) ==
        "has a .npy header that cannot be read");
  CHECK(ErrorOf(MakeFile("{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}", "")) ==
        "has a .npy header that cannot be read");
  CHECK(ErrorOf(MakeFile("{'descr': '|u1', 'fortran_order': True, 'shape': (1, 1)}", "a")) ==
        "is in Fortran order; expected row-major order (`numpy.ascontiguousarray`)");
  CHECK(ErrorOf(MakeFile("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "a")) ==
        "has elements of type `|O` and shape 1, which is not supported");
}

TEST_CASE("elements that are no plain numbers are refused") {
  for (const char* descr : {"<U5", "|S3", "<M8", "<f", "f4"}) {
    std::string header =
        std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (1,)}";
    CHECK(ErrorOf(MakeFile(header, "1234")).find("not supported") != std::string::npos);
  }
}

TEST_CASE("a shape whose size overflows is refused") {
  std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}";
  CHECK(ErrorOf(MakeFile(header, "")).starts_with("has elements of type `<f8` and shape"));
}

}  // namespace
}  // namespace etc
