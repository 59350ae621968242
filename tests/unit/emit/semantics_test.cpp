// What generated code computes: each program is emitted for the host, compiled, loaded and run.

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "emit/host_binary.h"

namespace etc {
namespace {

/// A program whose one graph is `@g`, ready to run on one SM.
class Program {
 public:
  explicit Program(const std::string& text) {
    path_ = std::filesystem::temp_directory_path() /
            ("etc_semantics_" + std::to_string(getpid()) + "_" + std::to_string(count_++) + ".so");
    std::ofstream(path_, std::ios::binary) << HostBinaryOf(text).binary;
    library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
    entry_ = reinterpret_cast<Entry>(dlsym(library_, "etc_g"));
    bool found = entry_ != nullptr;
    REQUIRE(found);
  }
  ~Program() {
    if (library_ != nullptr) {
      dlclose(library_);
    }
    std::filesystem::remove(path_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Run(const std::vector<void*>& tensors, const std::vector<int64_t>& dims) {
    std::vector<uint64_t> block;
    for (void* tensor : tensors) {
      block.push_back(std::bit_cast<uint64_t>(tensor));
    }
    for (int64_t dim : dims) {
      block.push_back(static_cast<uint64_t>(dim));
    }
    std::vector<char> workspace(1 << 16);
    std::vector<uint32_t> events(1 << 12);
    block.push_back(std::bit_cast<uint64_t>(workspace.data()));
    block.push_back(std::bit_cast<uint64_t>(events.data()));
    block.push_back(16);
    entry_(block.data(), 0, 1);
  }

 private:
  using Entry = void (*)(const uint64_t*, int, int);
  static inline int count_ = 0;
  std::filesystem::path path_;
  void* library_ = nullptr;
  Entry entry_ = nullptr;
};

/// Runs `%o[…] = …;` statements over integer inputs and yields the outputs.
template <class T>
std::vector<T> RunBody(const std::string& type, const std::string& body, std::vector<T> in,
                       size_t outputs) {
  std::string size = std::to_string(in.size());
  std::string out = std::to_string(outputs);
  Program program("etir 1;\ndim n in 1..9;\ndevice @f(%x: " + type + "[" + size + "], %o: out " +
                  type + "[" + out + "]) tasks (task: 1) {\n" + body + "}\ngraph @g(%x: " + type +
                  "[" + size + "], %o: out " + type + "[" + out + "]) { call @f(%x, %o); }\n");
  std::vector<T> result(outputs, T(-77));
  program.Run({in.data(), result.data()}, {3});
  return result;
}

TEST_CASE("integer division and remainder round towards minus infinity") {
  auto out = RunBody<int64_t>("i64",
                              "%o[0] = %x[0] / %x[1]; %o[1] = %x[0] % %x[1];\n"
                              "%o[2] = ceildiv(%x[0], %x[1]); %o[3] = align(%x[2], %x[1]);\n"
                              "%o[4] = %x[2] / -%x[1];\n",
                              {-7, 4, 9}, 5);
  CHECK(out == std::vector<int64_t>{-2, 1, -1, 12, -3});
}

TEST_CASE("reductions over no element, and argmax of equals") {
  auto out = RunBody<int64_t>("i64",
                              "%o[0] = sum(k: %x[0]) 5; %o[1] = argmax(k: 4) %x[k];\n"
                              "%o[2] = argmax(k: 2 .. 2) %x[k];\n"
                              "%o[3] = sum(i: 4, j: i) %x[j];\n",
                              {0, 8, 8, 3}, 4);
  CHECK(out == std::vector<int64_t>{0, 1, 2, (0) + (0 + 8) + (0 + 8 + 8)});
  auto floats =
      RunBody<float>("f32", "%o[0] = max(k: 0) %x[k]; %o[1] = min(k: 0) %x[k];\n", {1}, 2);
  CHECK(floats[0] == -INFINITY);
  CHECK(floats[1] == INFINITY);
}

TEST_CASE("a reduction binds like a product") {
  auto out = RunBody<int64_t>("i64", "%o[0] = sum(k: 4) %x[k] * 2 + 100;\n", {1, 2, 3, 4}, 1);
  CHECK(out[0] == 120);
}

TEST_CASE("integers promote to floats, and casts round") {
  auto out = RunBody<float>("f32",
                            "%o[0] = n / 2 + %x[0]; %o[1] = f32(n) / 2; %o[2] = bf16(%x[1]);\n"
                            "%o[3] = i32(%x[2]); %o[4] = select(%x[0] > 0, 1, 0.5);\n",
                            {0.25f, 1.00390625f, -2.75f}, 5);
  CHECK(out[0] == 1.25f);
  CHECK(out[1] == 1.5f);
  CHECK(out[2] == 1.0f);  // halfway between two bf16 values: to even
  CHECK(out[3] == -2.0f);
  CHECK(out[4] == 1.0f);
}

TEST_CASE("select and && evaluate only what they need") {
  auto out = RunBody<int64_t>("i64",
                              "%o[0] = select(%x[0] == 0, 7, 1 / %x[0]);\n"
                              "if (%x[0] != 0 && 10 / %x[0] > 1) { %o[1] = 1; }\n",
                              {0}, 2);
  CHECK(out[0] == 7);
  CHECK(out[1] == -77);
}

TEST_CASE("topk gives the largest first, and the lower index first among equals") {
  Program program(R"(etir 1;
device @f(%x: f32[6], %v: out f32[4], %i: out i32[4]) tasks (task: 1) {
  (%v[s], %i[s]) = topk(s: 4; e: 6) %x[e];
}
graph @g(%x: f32[6], %v: out f32[4], %i: out i32[4]) { call @f(%x, %v, %i); }
)");
  std::vector<float> x{1, 5, 3, 5, -2, 3}, v(4);
  std::vector<int32_t> i(4);
  program.Run({x.data(), v.data(), i.data()}, {});
  CHECK(v == std::vector<float>{5, 5, 3, 3});
  CHECK(i == std::vector<int32_t>{1, 3, 2, 5});
}

TEST_CASE("locals, lets and loops whose bound is read from a tensor") {
  auto out = RunBody<int64_t>("i64", R"(
  local %s: i64[2, 3];
  for (r: 2, c: 3) { let v = r * 10 + c; %s[r, c] = v; }
  for (r: 2) %o[r] = sum(t: %x[r]) %s[r, t];
)",
                              {2, 3}, 2);
  CHECK(out == std::vector<int64_t>{0 + 1, 10 + 11 + 12});
}

TEST_CASE("narrow types are converted at loads and stores") {
  Program program(R"(etir 1;
device @f(%x: bf16[2], %h: f16[3], %u: u8[1], %o: out bf16[2], %p: out f16[3], %q: out u8[1],
          %r: out f32[3])
    tasks (task: 1) {
  for (i: 2) %o[i] = %x[i] * 3;
  for (i: 3) { %p[i] = %h[i]; %r[i] = %h[i]; }
  %q[0] = %u[0] + 1;
}
graph @g(%x: bf16[2], %h: f16[3], %u: u8[1], %o: out bf16[2], %p: out f16[3], %q: out u8[1],
         %r: out f32[3]) {
  call @f(%x, %h, %u, %o, %p, %q, %r);
}
)");
  std::vector<uint16_t> x{0x3f80, 0xc000}, h{0x3c00, 0x0001, 0xfbff}, o(2),
      p(3);  // 1, -2; 1, 2^-24, -65504
  std::vector<uint8_t> u{41}, q(1);
  std::vector<float> r(3);
  program.Run({x.data(), h.data(), u.data(), o.data(), p.data(), q.data(), r.data()}, {});
  CHECK(o == std::vector<uint16_t>{0x4040, 0xc0c0});
  CHECK(p == h);
  CHECK(r == std::vector<float>{1.0f, 0x1p-24f, -65504.0f});
  CHECK(q[0] == 42);
}

TEST_CASE("a division by zero and a shift out of range have a value") {
  auto out = RunBody<int64_t>("i64",
                              "%o[0] = %x[0] / %x[1]; %o[1] = %x[0] % %x[1];\n"
                              "%o[2] = ceildiv(%x[0], %x[1]); %o[3] = align(%x[0], %x[1]);\n"
                              "%o[4] = %x[3] / %x[2]; %o[5] = %x[3] % %x[2];\n"
                              "%o[6] = %x[0] << %x[4]; %o[7] = %x[0] >> %x[4];\n"
                              "%o[8] = %x[0] << %x[2]; %o[9] = %x[0] >> %x[2];\n",
                              {-7, 0, -1, INT64_MIN, 64}, 10);
  CHECK(out == std::vector<int64_t>{0, -7, 0, 0, INT64_MIN, 0, 0, -1, 0, -1});
}

TEST_CASE("bits, and reductions that are not sums") {
  auto out = RunBody<int64_t>(
      "i64",
      "%o[0] = %x[0] & %x[1] | 8 ^ %x[2]; %o[1] = ~%x[0] << 2 >> 1;\n"
      "%o[2] = prod(k: 3) %x[k]; %o[3] = prod(k: 0) 5; %o[4] = argmin(k: 4) %x[k];\n"
      "%o[5] = select(any(k: 4) (%x[k] == 3), 1, 0) + select(any(k: 0) true, 2, 0);\n"
      "%o[6] = select(all(k: 4) (%x[k] > 3), 1, 0) + select(all(k: 0) false, 2, 0);\n"
      "%o[7] = max(k: 0) %x[k]; %o[8] = min(k: 0) %x[k];\n",
      {12, 10, 3, 3}, 9);
  CHECK(out == std::vector<int64_t>{(12 & 10) | (8 ^ 3), (~12 * 4) / 2, 360, 1, 2, 1, 2, INT64_MIN,
                                    INT64_MAX});
}

TEST_CASE("float functions, and infinity") {
  auto out = RunBody<float>("f32",
                            "%o[0] = floor(%x[0]); %o[1] = ceil(%x[0]); %o[2] = round(%x[0]);\n"
                            "%o[3] = round(%x[1]); %o[4] = exp2(%x[2]); %o[5] = log2(%x[3]);\n"
                            "%o[6] = sigmoid(%x[4]); %o[7] = erf(%x[5]);\n"
                            "%o[8] = select(%x[0] < inf, -inf, 0.0);\n",
                            {-2.5f, 3.5f, 5, 8, 0, 0.5f}, 9);
  CHECK(out[0] == -3);
  CHECK(out[1] == -2);
  CHECK(out[2] == -2);
  CHECK(out[3] == 4);
  CHECK(out[4] == 32);
  CHECK(out[5] == 3);
  CHECK(out[6] == 0.5f);
  CHECK(std::abs(out[7] - 0.5204999f) < 1e-6f);
  CHECK(out[8] == -INFINITY);
}

TEST_CASE("doubles are computed with in 64 bits, and rounded once") {
  Program program(R"(etir 1;
const big = 1e300;
device @f(%x: f64[2], %o: out f64[3], %h: out bf16[1], %f: out f32[2]) tasks (task: 1) {
  %o[0] = %x[0] * 0.1;
  %o[1] = sum(k: 2) %x[k] * big;
  %o[2] = exp(f64(1));
  %h[0] = %x[1];
  %f[0] = %x[0] * 0.1;
  %f[1] = select(%x[0] > 2.9999999999999996, 1, 0);
}
graph @g(%x: f64[2], %o: out f64[3], %h: out bf16[1], %f: out f32[2]) { call @f(%x, %o, %h, %f); }
)");
  // The second is just above the middle of two bf16, and a float has no room for that.
  std::vector<double> x{3, 1 + 0x1p-8 + 0x1p-40}, o(3);
  std::vector<uint16_t> h(1);
  std::vector<float> f(2);
  program.Run({x.data(), o.data(), h.data(), f.data()}, {});
  CHECK(o == std::vector<double>{3 * 0.1, 3 * 1e300 + x[1] * 1e300, std::exp(1.0)});
  CHECK(h[0] == 0x3f81);
  CHECK(f == std::vector<float>{static_cast<float>(3 * 0.1), 1});
}

TEST_CASE("narrow integers keep the low bits, and 8-bit floats are saturated") {
  Program program(R"(etir 1;
device @f(%x: i64[2], %a: out u16[2], %b: out i8[2], %c: out u32[2], %v: f32[3], %q: out f8e4m3[3],
          %r: out f8e5m2[3], %s: out f32[3]) tasks (task: 1) {
  for (i: 2) { %a[i] = %x[i]; %b[i] = %x[i]; %c[i] = %x[i]; }
  for (i: 3) { %q[i] = %v[i]; %r[i] = %v[i]; %s[i] = f8e4m3(%v[i]); }
}
graph @g(%x: i64[2], %a: out u16[2], %b: out i8[2], %c: out u32[2], %v: f32[3], %q: out f8e4m3[3],
         %r: out f8e5m2[3], %s: out f32[3]) {
  call @f(%x, %a, %b, %c, %v, %q, %r, %s);
}
)");
  std::vector<int64_t> x{-1, 0x123456789};
  std::vector<uint16_t> a(2);
  std::vector<int8_t> b(2);
  std::vector<uint32_t> c(2);
  std::vector<float> v{1.0625f, -1e9f, 0.0f}, s(3);
  std::vector<uint8_t> q(3), r(3);
  program.Run({x.data(), a.data(), b.data(), c.data(), v.data(), q.data(), r.data(), s.data()}, {});
  CHECK(a == std::vector<uint16_t>{0xffff, 0x6789});
  CHECK(b == std::vector<int8_t>{-1, -119});
  CHECK(c == std::vector<uint32_t>{0xffffffff, 0x23456789});
  CHECK(q == std::vector<uint8_t>{0x38, 0xfe, 0});  // a tie: to even
  CHECK(r == std::vector<uint8_t>{0x3c, 0xfb, 0});
  CHECK(s == std::vector<float>{1, -448, 0});
}

TEST_CASE("a layout says where elements stand") {
  Program program(R"(etir 1;
dim n in 2..8 multiple 2;
device @f(%x: i32[2, n, 6] layout tile(2, 3), %o: out i32[n, 6])
    tasks (task: 1) {
  for (i: n, j: 6) %o[i, j] = %x[0, i, j] * 100 + %x[1, i, j];
}
device @h(%o: i32[n, 6], %y: out i32[n, 6] layout tile(2, 2)) tasks (i: n) {
  for (j: 6) %y[i, j] = %o[i, j];
}
graph @g(%x: i32[3, 2, n, 6] layout tile(2, 3), %y: out i32[n, 6] layout tile(2, 2)) {
  %o = buffer i32[n, 6];
  event %done count 1;
  call @f(%x[1], %o) notify (t) => %done;
  call @h(%o, %y) wait (i) => %done;
}
)");
  constexpr size_t n = 4;
  std::vector<int32_t> x(3 * 2 * n * 6), y(n * 6);
  auto at = [](size_t a, size_t b, size_t i, size_t j) {
    return ((a * 2 + b) * n / 2 + i / 2) * 12 + j / 3 * 6 + i % 2 * 3 + j % 3;
  };
  auto value = [](size_t a, size_t b, size_t i, size_t j) {
    return static_cast<int32_t>((a * 2 + b) * 1000 + i * 10 + j);
  };
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < 6; ++j) {
      for (size_t slice = 0; slice < 6; ++slice) {
        x[at(slice / 2, slice % 2, i, j)] = value(slice / 2, slice % 2, i, j);
      }
    }
  }
  program.Run({x.data(), y.data()}, {n});
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < 6; ++j) {
      CHECK(y[(i / 2 * 3 + j / 2) * 4 + i % 2 * 2 + j % 2] ==
            value(1, 0, i, j) * 100 + value(1, 1, i, j));
    }
  }
}

TEST_CASE("a swizzle says where the pieces of a tile's row stand") {
  Program program(R"(etir 1;
dim n in 8..32 multiple 8;
device @f(%x: bf16[n, 64] layout tile(8, 32, swizzle), %p: out f32[n, 64] layout tile(8, 8, swizzle))
    tasks (i: n) {
  for (j: 64) %p[i, j] = %x[i, j];
}
device @h(%p: f32[n, 64] layout tile(8, 8, swizzle), %y: out u8[n, 64]) tasks (i: n) {
  for (j: 64) %y[i, j] = i32(%p[i, j]);
}
graph @g(%x: bf16[2, n, 64] layout tile(8, 32, swizzle), %p: out f32[n, 64] layout tile(8, 8, swizzle),
         %y: out u8[n, 64]) {
  event %done[n] count 1;
  call @f(%x[1], %p) notify (i) => %done[i];
  call @h(%p, %y) wait (i) => %done[i];
}
)");
  constexpr size_t n = 16;
  std::vector<uint16_t> x(2 * n * 64);
  std::vector<float> p(n * 64);
  std::vector<uint8_t> y(n * 64);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < 64; ++j) {
      // The four pieces of a row of 64 bytes.
      const size_t place = (j / 8 % 4) ^ (i / 2 % 4);
      const auto value = static_cast<float>((i * 5 + j) % 100);
      x[n * 64 + (i / 8 * 2 + j / 32) * 256 + i % 8 * 32 + place * 8 + j % 8] =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    }
  }
  program.Run({x.data(), p.data(), y.data()}, {n});
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < 64; ++j) {
      // The two pieces of a row of 32 bytes: they change places in each second group of four rows.
      const size_t place = (j / 4 % 2) ^ (i / 4 % 2);
      const auto value = static_cast<uint8_t>((i * 5 + j) % 100);
      CHECK(p[(i / 8 * 8 + j / 8) * 64 + i % 8 * 8 + place * 4 + j % 4] == value);
      CHECK(y[i * 64 + j] == value);
    }
  }
}

}  // namespace
}  // namespace etc
