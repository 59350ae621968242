#include "analysis/sets/isl_numbers.h"

#include <doctest/doctest.h>
#include <gmp.h>

#include <string>
#include <vector>

namespace etc {
namespace {

/// GMP itself, beside what the linker has put in its place.
extern "C" {
using Two = void(mpz_ptr, mpz_srcptr, mpz_srcptr);
using Compared = int(mpz_srcptr, mpz_srcptr);
Two RealAdd asm("__real___gmpz_add");
Two RealSub asm("__real___gmpz_sub");
Two RealMul asm("__real___gmpz_mul");
Two RealAddMul asm("__real___gmpz_addmul");
Two RealSubMul asm("__real___gmpz_submul");
Two RealDivExact asm("__real___gmpz_divexact");
Two RealGcd asm("__real___gmpz_gcd");
Two RealLcm asm("__real___gmpz_lcm");
Compared RealCmp asm("__real___gmpz_cmp");
Compared RealCmpAbs asm("__real___gmpz_cmpabs");
Compared RealDivisible asm("__real___gmpz_divisible_p");
int RealCmpSi(mpz_srcptr, long) asm("__real___gmpz_cmp_si");
int RealCmpUi(mpz_srcptr, unsigned long) asm("__real___gmpz_cmp_ui");
void RealSet(mpz_ptr, mpz_srcptr) asm("__real___gmpz_set");
void RealSetSi(mpz_ptr, long) asm("__real___gmpz_set_si");
}

class Number {
 public:
  Number() { mpz_init(value_); }
  explicit Number(const std::string& text) : Number() { mpz_set_str(value_, text.c_str(), 16); }
  Number(const Number& other) : Number() { RealSet(value_, other.value_); }
  Number& operator=(const Number&) = delete;
  ~Number() { mpz_clear(value_); }

  mpz_ptr get() { return value_; }
  mpz_srcptr get() const { return value_; }
  std::string Text() const {
    std::vector<char> text(mpz_sizeinbase(value_, 16) + 2);
    return mpz_get_str(text.data(), 16, value_);
  }

 private:
  mpz_t value_;
};

/// Around all borders of one and two words.
std::vector<Number> Numbers() {
  std::vector<Number> numbers;
  numbers.reserve(100);
  numbers.emplace_back("0");
  for (const char* text : {"1",
                           "2",
                           "3",
                           "6",
                           "c",
                           "ff",
                           "7fffffff",
                           "80000000",
                           "ffffffff",
                           "100000000",
                           "123456789abcdef",
                           "7fffffffffffffff",
                           "8000000000000000",
                           "8000000000000001",
                           "ffffffffffffffff",
                           "10000000000000000",
                           "10000000000000001",
                           "fffffffffffffffe00000001",
                           "ffffffffffffffffffffffffffffffff",
                           "100000000000000000000000000000000"}) {
    numbers.emplace_back(text);
    numbers.emplace_back(std::string("-") + text);
  }
  return numbers;
}

int SignOf(int value) { return (value > 0) - (value < 0); }

/// `to` starts as `start`; in turn it is another number than the operands, and each of them.
void Agree(Two* ours, Two* gmp, const Number& a, const Number& b, const Number& start) {
  Number to(start);
  Number expected(start);
  ours(to.get(), a.get(), b.get());
  gmp(expected.get(), a.get(), b.get());
  CHECK(to.Text() == expected.Text());
  Number first(a);
  Number expected_first(a);
  ours(first.get(), first.get(), b.get());
  gmp(expected_first.get(), expected_first.get(), b.get());
  CHECK(first.Text() == expected_first.Text());
  Number second(b);
  Number expected_second(b);
  ours(second.get(), a.get(), second.get());
  gmp(expected_second.get(), a.get(), expected_second.get());
  CHECK(second.Text() == expected_second.Text());
}

TEST_CASE("numbers of one word and of more are those of GMP") {
  UseBlocksForNumbers();
  const std::vector<Number> numbers = Numbers();
  for (const Number& a : numbers) {
    Number fresh;
    mpz_set(fresh.get(), a.get());
    CHECK(fresh.Text() == a.Text());
    for (const Number& b : numbers) {
      CAPTURE(a.Text());
      CAPTURE(b.Text());
      for (const Number& start : {numbers[0], numbers[1], numbers[30], numbers[35]}) {
        Agree(mpz_add, RealAdd, a, b, start);
        Agree(mpz_sub, RealSub, a, b, start);
        Agree(mpz_mul, RealMul, a, b, start);
        Agree(mpz_addmul, RealAddMul, a, b, start);
        Agree(mpz_submul, RealSubMul, a, b, start);
        Agree(mpz_gcd, RealGcd, a, b, start);
        Agree(mpz_lcm, RealLcm, a, b, start);
        if (mpz_sgn(b.get()) != 0 && RealDivisible(a.get(), b.get()) != 0) {
          Agree(mpz_divexact, RealDivExact, a, b, start);
        }
      }
      CHECK(SignOf(mpz_cmp(a.get(), b.get())) == SignOf(RealCmp(a.get(), b.get())));
      CHECK(SignOf(mpz_cmpabs(a.get(), b.get())) == SignOf(RealCmpAbs(a.get(), b.get())));
      CHECK((mpz_divisible_p(a.get(), b.get()) != 0) == (RealDivisible(a.get(), b.get()) != 0));
      Number left(a);
      Number right(b);
      mpz_swap(left.get(), right.get());
      CHECK(left.Text() == b.Text());
      CHECK(right.Text() == a.Text());
    }
  }
}

TEST_CASE("C integers as numbers are those of GMP") {
  UseBlocksForNumbers();
  constexpr long kLeast = -0x7fffffffffffffff - 1;
  for (long value : {0L, 1L, -1L, 7L, -7L, 0x7fffffffffffffffL, -0x7fffffffffffffffL, kLeast}) {
    Number number;
    Number expected;
    mpz_set_si(number.get(), value);
    RealSetSi(expected.get(), value);
    CHECK(number.Text() == expected.Text());
    for (const Number& other : Numbers()) {
      auto as_unsigned = static_cast<unsigned long>(value);
      // gmp.h compares constants by other means.
      CHECK(SignOf(_mpz_cmp_si(other.get(), value)) == SignOf(RealCmpSi(other.get(), value)));
      CHECK(SignOf(_mpz_cmp_ui(other.get(), as_unsigned)) ==
            SignOf(RealCmpUi(other.get(), as_unsigned)));
    }
  }
}

}  // namespace
}  // namespace etc
