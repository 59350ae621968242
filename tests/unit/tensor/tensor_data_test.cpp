#include "tensor/tensor_data.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "support/files.h"
#include "support/scratch_directory.h"
#include "tensor/npy.h"

namespace etc {
namespace {

constexpr etc_dtype kAllTypes[] = {ETC_F32, ETC_F16,    ETC_BF16,  ETC_I64, ETC_I32,
                                   ETC_U8,  ETC_BOOL,   ETC_U16,   ETC_I8,  ETC_U32,
                                   ETC_F64, ETC_F8E4M3, ETC_F8E5M2};

TensorData MakeTensor(etc_dtype dtype, std::vector<int64_t> shape) {
  return {"t", ETC_IN, dtype, std::move(shape), {}};
}

/// The message of the one error that reading `contents` as `tensor` gives; `FILE` is its path.
std::string MessageOf(const std::string& name, const std::string& contents, TensorData tensor) {
  ScratchDirectory scratch;
  REQUIRE(scratch.Write(name, contents));
  std::string path = scratch.path() + "/" + name;
  Diagnostics diagnostics;
  CHECK_FALSE(ReadTensor(path, tensor, diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  std::string message = diagnostics.all()[0].message;
  REQUIRE(message.find(path) != std::string::npos);
  return message.replace(message.find(path), path.size(), "FILE");
}

TEST_CASE("random floats are normal and do not depend on the machine") {
  TensorData tensor = MakeTensor(ETC_F32, {200, 1000});
  FillRandom(tensor, {.seed = 7, .scale = 2.0});
  double sum = 0;
  double squares = 0;
  for (int64_t i = 0; i < tensor.Elements(); ++i) {
    double value = ElementAsDouble(ETC_F32, tensor.bytes.data(), i);
    sum += value;
    squares += value * value;
  }
  auto count = static_cast<double>(tensor.Elements());
  CHECK(std::fabs(sum / count) < 0.02);
  CHECK(std::sqrt(squares / count) == doctest::Approx(2.0).epsilon(0.01));

  TensorData prefix = MakeTensor(ETC_F32, {10});
  FillRandom(prefix, {.seed = 7, .scale = 2.0});
  CHECK(std::equal(prefix.bytes.begin(), prefix.bytes.end(), tensor.bytes.begin()));
  TensorData other = prefix;
  other.name = "u";
  FillRandom(other, {.seed = 7, .scale = 2.0});
  CHECK(other.bytes != prefix.bytes);
  FillRandom(prefix, {.seed = 8, .scale = 2.0});
  CHECK_FALSE(std::equal(prefix.bytes.begin(), prefix.bytes.end(), tensor.bytes.begin()));
}

TEST_CASE("random integers take every value of their range and no other") {
  for (etc_dtype dtype : {ETC_I64, ETC_I32, ETC_U8, ETC_U16, ETC_I8, ETC_U32}) {
    TensorData tensor = MakeTensor(dtype, {1000});
    FillRandom(tensor, {.seed = 1, .int_min = 3, .int_max = 6});
    std::set<int64_t> seen;
    for (int64_t i = 0; i < tensor.Elements(); ++i) {
      seen.insert(ElementAsInt(dtype, tensor.bytes.data(), i));
    }
    CHECK(seen == std::set<int64_t>{3, 4, 5, 6});
  }
}

TEST_CASE("distinct random integers are, and monotone ones ascend in each row") {
  for (int64_t max : {11, 12, 40}) {
    TensorData tensor = MakeTensor(ETC_I32, {3, 4});
    FillRandom(tensor, {.seed = 5, .int_max = max, .distinct = true});
    std::set<int64_t> seen;
    for (int64_t i = 0; i < tensor.Elements(); ++i) {
      seen.insert(ElementAsInt(ETC_I32, tensor.bytes.data(), i));
    }
    CHECK(seen.size() == 12);
    CHECK(*seen.begin() >= 0);
    CHECK(*seen.rbegin() <= max);
  }
  TensorData tensor = MakeTensor(ETC_I32, {3, 4});
  FillRandom(tensor, {.seed = 5, .int_max = 40, .monotone = true});
  for (int64_t i = 1; i < tensor.Elements(); ++i) {
    CHECK((i % 4 == 0 || ElementAsInt(ETC_I32, tensor.bytes.data(), i) >=
                             ElementAsInt(ETC_I32, tensor.bytes.data(), i - 1)));
  }
}

TEST_CASE("poison is NaN or extreme") {
  for (etc_dtype dtype : kAllTypes) {
    TensorData tensor = MakeTensor(dtype, {3});
    FillPoison(tensor);
    REQUIRE(tensor.bytes.size() == static_cast<size_t>(3 * etc_dtype_bytes(dtype)));
    if (IsFloat(dtype)) {
      CHECK(std::isnan(ElementAsDouble(dtype, tensor.bytes.data(), 2)));
    }
  }
  TensorData tensor = MakeTensor(ETC_I32, {1});
  FillPoison(tensor);
  CHECK(ElementAsInt(ETC_I32, tensor.bytes.data(), 0) == std::numeric_limits<int32_t>::min());
}

TEST_CASE("every dtype survives a file, .npy or raw") {
  ScratchDirectory scratch;
  for (etc_dtype dtype : kAllTypes) {
    TensorData tensor = MakeTensor(dtype, {2, 5});
    FillRandom(tensor, {.seed = 3});
    for (const char* name : {"/t.npy", "/t.bin"}) {
      std::string path = scratch.path() + name;
      Diagnostics diagnostics;
      REQUIRE(WriteFiles({{path, FileContents(path, tensor, tensor.bytes)}}, diagnostics));
      TensorData read = MakeTensor(dtype, {2, 5});
      REQUIRE(ReadTensor(path, read, diagnostics));
      CHECK(read.bytes == tensor.bytes);
      CHECK(read.shape == tensor.shape);
    }
  }
}

TEST_CASE("a file that does not fit is refused by name") {
  CHECK(
      MessageOf("t.npy", PrintNpy({"<f8", {2}, std::string(16, 'x')}), MakeTensor(ETC_F32, {2})) ==
      "`FILE` for parameter `%t` has elements of type `<f8`; f32 needs `<f4`");
  CHECK(MessageOf("t.npy", "nonsense", MakeTensor(ETC_F32, {2})) ==
        "`FILE` for parameter `%t` is not a .npy file");
  CHECK(MessageOf("t.bin", "seven..", MakeTensor(ETC_F32, {2})) ==
        "`FILE` for parameter `%t` has 7 bytes; f32[2] needs 8");
}

}  // namespace
}  // namespace etc
