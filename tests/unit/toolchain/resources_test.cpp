#include "toolchain/resources.h"

#include <doctest/doctest.h>

#include "toolchain/environment.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

/// Instructions of sm_90, as nvdisasm -hex prints them.
class Code {
 public:
  Code& Other(int count = 1) {
    for (int i = 0; i < count; ++i) {
      Add(0x000000000f067224, 0);  // MOV
    }
    return *this;
  }
  Code& Load() { return Add(0x0000180001077983, 0); }   // LDL R7, [R1+0x18]
  Code& Store() { return Add(0x0000180701007387, 0); }  // STL [R1+0x18], R7
  /// To the instruction at `target`.
  Code& Branch(int target) {
    auto words = static_cast<uint64_t>((target - (Size() + 1)) * 16 / 4);
    uint64_t upper = words >> 8;
    return Add(0x947 | (words & 0xff) << 16 | upper << 34, upper >> 30 & 0x3ffff);
  }
  int Size() const { return static_cast<int>(bytes_.size() / 16); }
  const std::string& bytes() const { return bytes_; }

 private:
  Code& Add(uint64_t low, uint64_t high) {
    bytes_.append(reinterpret_cast<const char*>(&low), 8);
    bytes_.append(reinterpret_cast<const char*>(&high), 8);
    return *this;
  }
  std::string bytes_;
};

TEST_CASE("accesses to local memory are counted, and those in inner loops") {
  Code code;
  code.Store().Other(3);  // before
  int outer = code.Size();
  code.Load().Other(2);  // once for each round of the outer loop
  int inner = code.Size();
  code.Load().Other(20).Store().Branch(inner);
  code.Store().Branch(outer);
  code.Load();  // behind
  LocalAccesses found = CountLocalAccesses(code.bytes());
  CHECK(found.all == 6);
  CHECK(found.in_inner_loops == 2);
}

TEST_CASE("a loop that only polls does not make the loop around it an outer one") {
  Code code;
  int outer = code.Size();
  code.Load().Other(20);
  int polling = code.Size();
  code.Other(3).Branch(polling);
  code.Other(2).Branch(outer);
  CHECK(CountLocalAccesses(code.bytes()).in_inner_loops == 1);
}

TEST_CASE("a branch ahead makes no loop, and one far back does") {
  CHECK(CountLocalAccesses(Code().Branch(3).Load().Other(5).bytes()).in_inner_loops == 0);
  Code code;
  code.Other(5000).Load().Other(5000).Branch(17);
  CHECK(CountLocalAccesses(code.bytes()).in_inner_loops == 1);
  // What a driver's tools print: @!P0 BRA from 0x144e0 to 0x3a30.
  std::string real(0x144e0, '\0');
  uint64_t words[2] = {0xfffffef400508947, 0x000fea000383ffff};
  real.append(reinterpret_cast<const char*>(words), 16);
  const std::string load = Code().Load().bytes();
  CHECK(CountLocalAccesses(std::string(real).replace(0x3a30, 16, load)).in_inner_loops == 1);
  CHECK(CountLocalAccesses(std::string(real).replace(0x3a20, 16, load)).in_inner_loops == 0);
}

TEST_CASE("what is no cubin has nothing in it") {
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7f"
                                               "ELF\x02"),
                                   std::string("text"), std::string(64, 'x')}) {
    CHECK_FALSE(ElfSection(bytes, ".text.k"));
    CHECK(ElfIntegers(bytes, "k").empty());
  }
}

TEST_CASE("the report of ptxas is read, and what is none of it is left") {
  const std::string log =
      "ptxas info    : 48 bytes gmem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90a'\n"
      "ptxas info    : Function properties for b\n"
      "ptxas         .     224 bytes stack frame, 220 bytes spill stores, 288 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers, 224 bytes cumulative stack size\n"
      "etc.cu(7): warning: something\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 24 registers\n"
      "ptxas info    : (C7510) Potential Performance Loss\n";
  auto kernels = ReadResources(log, {""});
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].entry == "a");
  CHECK(kernels[0].registers == 24);
  CHECK(kernels[1].entry == "b");
  CHECK(kernels[1].registers == 168);
  CHECK(kernels[1].barriers == 2);
  CHECK(kernels[1].stack_bytes == 224);
  CHECK(kernels[1].spill_store_bytes == 220);
  CHECK(kernels[1].spill_load_bytes == 288);
  CHECK(kernels[1].ring_slots == 0);
  CHECK(WithoutReport(log) ==
        "etc.cu(7): warning: something\nptxas info    : (C7510) Potential Performance Loss\n");
}

TEST_CASE("a compiled kernel tells of its ring and its loops") {
  const CompileOutput output = CompileWithNvrtc(R"(
extern "C" __device__ int ring_of_Gather[2] = {13, 16384};
extern "C" __global__ void Gather(const int* x, int* y) {
  int table[64];
#pragma unroll 1
  for (int k = 0; k < 64; ++k) { table[k] = x[k] * 3; }
#pragma unroll 1
  for (int k = 0; k < 64; ++k) { y[k] = table[x[k] & 63]; }
}
extern "C" __global__ void Plain(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }
)",
                                                {.resource_usage = true});
  INFO(output.log);
  REQUIRE(output.ok);
  auto kernels = ReadResources(output.log, {output.binary});
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].entry == "Gather");
  CHECK(kernels[0].ring_slots == 13);
  CHECK(kernels[0].ring_slot_bytes == 16384);
  CHECK(kernels[0].stack_bytes == 256);
  CHECK(kernels[0].local_accesses.in_inner_loops > 0);
  CHECK(kernels[1].registers > 0);
  CHECK(kernels[1].local_accesses.all == 0);
  CHECK(kernels[1].ring_slots == 0);
}

}  // namespace
}  // namespace etc
