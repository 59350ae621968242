#include <doctest/doctest.h>
#include <gmp.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/sets/isl.h"

namespace etc {
namespace {

extern "C" {
// What the linker has put in the place of isl's functions of rows, and these themselves.
void isl_seq_clr(mpz_t* row, unsigned length);
void isl_seq_cpy(mpz_t* to, mpz_t* row, unsigned length);
void isl_seq_neg(mpz_t* to, mpz_t* row, unsigned length);
int isl_seq_eq(mpz_t* a, mpz_t* b, unsigned length);
void isl_seq_combine(mpz_t* to, mpz_t m1, mpz_t* a, mpz_t m2, mpz_t* b, unsigned length);
void isl_seq_inner_product(mpz_t* a, mpz_t* b, unsigned length, mpz_t* product);
void isl_seq_gcd(mpz_t* row, unsigned length, mpz_t* divisor);
void isl_seq_normalize(isl_ctx* ctx, mpz_t* row, unsigned length);
uint32_t isl_seq_get_hash_bits(mpz_t* row, unsigned length, unsigned bits);
void RealNeg(mpz_t* to, mpz_t* row, unsigned length) asm("__real_isl_seq_neg");
int RealEq(mpz_t* a, mpz_t* b, unsigned length) asm("__real_isl_seq_eq");
void RealCombine(mpz_t* to, mpz_t m1, mpz_t* a, mpz_t m2, mpz_t* b,
                 unsigned length) asm("__real_isl_seq_combine");
void RealInnerProduct(mpz_t* a, mpz_t* b, unsigned length,
                      mpz_t* product) asm("__real_isl_seq_inner_product");
void RealGcd(mpz_t* row, unsigned length, mpz_t* divisor) asm("__real_isl_seq_gcd");
void RealNormalize(isl_ctx* ctx, mpz_t* row, unsigned length) asm("__real_isl_seq_normalize");
}

using Texts = std::vector<std::string>;

/// Numbers as isl has them, one behind the other.
class NumberRow {
 public:
  explicit NumberRow(const Texts& texts) : numbers_(texts.size()) {
    for (size_t i = 0; i < texts.size(); ++i) {
      mpz_init(&numbers_[i]);  // without memory, as in a new row
      if (texts[i] != "0") {
        mpz_set_str(&numbers_[i], texts[i].c_str(), 16);
      }
    }
  }
  NumberRow(const NumberRow&) = delete;
  NumberRow& operator=(const NumberRow&) = delete;
  ~NumberRow() {
    for (auto& each : numbers_) {
      mpz_clear(&each);
    }
  }

  mpz_t* get() { return reinterpret_cast<mpz_t*>(numbers_.data()); }
  unsigned size() const { return static_cast<unsigned>(numbers_.size()); }
  Texts All() const {
    Texts texts;
    for (const auto& each : numbers_) {
      std::vector<char> text(mpz_sizeinbase(&each, 16) + 2);
      texts.emplace_back(mpz_get_str(text.data(), 16, &each));
    }
    return texts;
  }

 private:
  std::vector<__mpz_struct> numbers_;
};

/// Mostly zeros and small numbers, at times those around the borders of one and two words.
class Numbers {
 public:
  std::string Next() {
    static const Texts kSmall = {"1", "1", "2", "3", "6", "c", "80", "1000"};
    static const Texts kLarge = {"7fffffffffffffff",
                                 "8000000000000000",
                                 "fffffffffffffffe",
                                 "ffffffffffffffff",
                                 "10000000000000000",
                                 "ffffffffffffffffffffffffffffffff",
                                 "100000000000000000000000000000000"};
    size_t kind = Below(20);
    if (kind < 8) {
      return "0";
    }
    const Texts& texts = kind < 17 || !with_large_ ? kSmall : kLarge;
    return (Below(2) == 0 ? "-" : "") + texts[Below(texts.size())];
  }

  Texts Row(size_t length) {
    with_large_ = Below(3) == 0;
    Texts texts;
    for (size_t i = 0; i < length; ++i) {
      texts.push_back(Next());
    }
    return texts;
  }

  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

 private:
  std::mt19937 random_{11};
  bool with_large_ = false;
};

TEST_CASE("what is done to rows is what isl does to them") {
  IslContext context;
  Numbers numbers;
  for (int round = 0; round < 4000; ++round) {
    const Texts a = numbers.Row(numbers.Below(7)), b = numbers.Row(a.size());
    const Texts factors = numbers.Row(2), start = numbers.Row(a.size());
    CAPTURE(round);
    NumberRow first(a), second(b), by(factors), ours(start), isls(start);

    isl_seq_combine(ours.get(), by.get()[0], first.get(), by.get()[1], second.get(), ours.size());
    RealCombine(isls.get(), by.get()[0], first.get(), by.get()[1], second.get(), isls.size());
    CHECK(ours.All() == isls.All());
    NumberRow added(a), isl_added(a);
    isl_seq_combine(added.get(), by.get()[0], added.get(), by.get()[1], second.get(), added.size());
    RealCombine(isl_added.get(), by.get()[0], isl_added.get(), by.get()[1], second.get(),
                isl_added.size());
    CHECK(added.All() == isl_added.All());
    if (!a.empty()) {  // a factor that the sum replaces on the way
      size_t at = numbers.Below(a.size());
      NumberRow reduced(a), isl_reduced(a);
      isl_seq_combine(reduced.get(), by.get()[0], reduced.get(), reduced.get()[at], second.get(),
                      reduced.size());
      RealCombine(isl_reduced.get(), by.get()[0], isl_reduced.get(), isl_reduced.get()[at],
                  second.get(), isl_reduced.size());
      CHECK(reduced.All() == isl_reduced.All());
    }

    NumberRow results({"5", "7"});
    isl_seq_inner_product(first.get(), second.get(), first.size(), results.get());
    RealInnerProduct(first.get(), second.get(), first.size(), results.get() + 1);
    CHECK(results.All()[0] == results.All()[1]);
    isl_seq_gcd(first.get(), first.size(), results.get());
    RealGcd(first.get(), first.size(), results.get() + 1);
    CHECK(results.All()[0] == results.All()[1]);

    isl_seq_neg(ours.get(), first.get(), ours.size());
    RealNeg(isls.get(), first.get(), isls.size());
    CHECK(ours.All() == isls.All());
    isl_seq_neg(ours.get(), ours.get(), ours.size());
    CHECK(ours.All() == a);

    isl_seq_cpy(ours.get(), second.get(), ours.size());
    CHECK(ours.All() == b);
    CHECK(isl_seq_eq(ours.get(), second.get(), ours.size()) == 1);
    CHECK(isl_seq_eq(first.get(), second.get(), first.size()) ==
          RealEq(first.get(), second.get(), first.size()));
    for (unsigned bits : {1U, 5U, 16U, 31U}) {
      uint32_t hash = isl_seq_get_hash_bits(ours.get(), ours.size(), bits);
      CHECK(hash == isl_seq_get_hash_bits(second.get(), second.size(), bits));
      CHECK((hash >> bits) == 0);
    }

    isl_seq_normalize(context.get(), ours.get(), ours.size());
    RealNormalize(context.get(), second.get(), second.size());
    CHECK(ours.All() == second.All());
    isl_seq_clr(ours.get(), ours.size());
    CHECK(ours.All() == Texts(a.size(), "0"));
  }
}

TEST_CASE("rows that differ have hashes that differ, mostly") {
  NumberRow one({"0", "1", "0"});
  size_t equal = 0;
  for (const Texts& other : {Texts{"1", "0", "0"}, Texts{"0", "0", "1"}, Texts{"0", "-1", "0"},
                             Texts{"0", "2", "0"}, Texts{"1", "1", "0"}, Texts{"0", "1", "-1"}}) {
    NumberRow row(other);
    bool are_equal =
        isl_seq_get_hash_bits(one.get(), 3, 16) == isl_seq_get_hash_bits(row.get(), 3, 16);
    equal += are_equal ? 1 : 0;
  }
  CHECK(equal <= 1);
}

}  // namespace
}  // namespace etc
