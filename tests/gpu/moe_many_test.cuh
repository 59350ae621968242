// The kernels of many tokens beside those of few, which do the same: each output has the same bits.
// ChooseByWarps beside ChooseExperts, MarkChoices and ListMarked beside ListExperts,
// CombineByWarps beside CombineExperts, and RmsNormByWarps beside RmsNorm.
#pragma once

#include "support.cuh"
#include "tile/moe/choose_by_warps.cuh"
#include "tile/moe/choose_experts.cuh"
#include "tile/moe/combine_by_warps.cuh"
#include "tile/moe/combine_experts.cuh"
#include "tile/moe/list_experts.cuh"
#include "tile/moe/list_marked.cuh"
#include "tile/moe/mark_choices.cuh"
#include "tile/pointwise/rms_norm.cuh"
#include "tile/pointwise/rms_norm_by_warps.cuh"

namespace etc::test {

struct ManyOf128 {
  static constexpr int kMostRows = 1030, kExperts = 128, kTop = 8, kSlots = 128;
  static constexpr int kParts = 1, kOutputs = 520, kDepth = 2048;
  static constexpr bool kRenormalise = true;
};
struct ManyOf60 {
  static constexpr int kMostRows = 300, kExperts = 60, kTop = 1, kSlots = 16;
  static constexpr int kParts = 2, kOutputs = 136, kDepth = 132;
  static constexpr bool kRenormalise = false;
};
struct ManyOf16 {
  static constexpr int kMostRows = 300, kExperts = 16, kTop = 4, kSlots = 32;
  static constexpr int kParts = 1, kOutputs = 1024, kDepth = 2564;
  static constexpr bool kRenormalise = false;
};

template <class S>
struct ManyTokensProgram {
  static constexpr int kTop = S::kTop;
  static constexpr int kPlaces = S::kExperts + S::kMostRows * kTop / S::kSlots;
  static constexpr int kTokens = 32;  // of a task of ChooseByWarps
  static constexpr int kOwnPlaces = 3;

  struct ChooseConfig {
    static constexpr i64 top = kTop, tokens = kTokens;
    static constexpr bool renormalise = S::kRenormalise;
  };
  struct ChooseArgs {
    const float* partials;
    static constexpr i64 partials_0 = S::kParts, partials_2 = S::kExperts;
    i64 partials_1;
    i32* chosen;
    float* weight;
  };
  struct ListConfig {
    static constexpr i64 experts = S::kExperts, own = S::kExperts, max_batch = S::kMostRows,
                         places = kOwnPlaces;
  };
  struct MarkArgs {
    const i32* chosen;
    i64 chosen_0;
    static constexpr i64 chosen_1 = kTop;
    u32* marks;
    static constexpr i64 marks_1 = S::kExperts;
  };
  struct Lists {
    i32* used;
    i32* n_used;
    i32* count;
    i32* token;
    i32* slot;
  };
  struct ListArgs : Lists {
    const i32* chosen;
    i64 chosen_0;
    static constexpr i64 chosen_1 = kTop;
    static constexpr i64 used_0 = kPlaces, token_0 = kPlaces * S::kSlots;
  };
  struct ListMarkedArgs : ListArgs {
    const u32* marks;
    i64 marks_0;
    static constexpr i64 marks_1 = S::kExperts;
  };
  struct CombineConfig {
    static constexpr i64 columns = 256, tokens = 16;
  };
  template <class Z>
  struct CombineArgs {
    const Z* z;
    static constexpr i64 z_1 = S::kOutputs;
    const i32* slot;
    i64 slot_0;
    static constexpr i64 slot_1 = kTop;
    const float* weight;
    const bf16* residual;
    bf16* y;
  };
  struct NormConfig {
    static constexpr float eps = 1e-6f;
    static constexpr i64 rows = 16;
  };
  struct NormArgs {
    const bf16* x;
    i64 x_0;
    static constexpr i64 x_1 = S::kDepth;
    const bf16* norm;
    bf16* y;
  };
  using Few = ChooseExperts<ChooseConfig, ChooseArgs>;
  using Many = ChooseByWarps<ChooseConfig, ChooseArgs>;
  using List = ListExperts<ListConfig, ListArgs>;
  using Mark = MarkChoices<ListConfig, MarkArgs>;
  using ListOfMany = ListMarked<ListConfig, ListMarkedArgs>;
  using Combine = CombineExperts<CombineConfig, CombineArgs<float>>;
  using CombineOfMany = CombineByWarps<CombineConfig, CombineArgs<bf16>>;
  using Norm = RmsNorm<NormConfig, NormArgs>;
  using NormOfMany = RmsNormByWarps<NormConfig, NormArgs>;
  static constexpr int kPieces = DivideUp(S::kOutputs, int(CombineConfig::columns));
  static constexpr int kSlotBytes = 0;
  static constexpr int kScratchBytes =
      std::max({Few::kScratchBytes, Many::kScratchBytes, List::kScratchBytes, Mark::kScratchBytes,
                ListOfMany::kScratchBytes, Norm::kScratchBytes});

  ChooseArgs few, many;
  ListArgs list;
  MarkArgs mark;
  ListMarkedArgs list_marked;
  CombineArgs<float> combine;
  CombineArgs<bf16> combine_of_many;
  NormArgs norm, norm_of_many;

  ETC_DEVICE void Load(Loader&) const {}
  ETC_DEVICE void Consume(Consumer& consumer, const Events& events) const {
    int rows = int(few.partials_1);
    int blocks = DivideUp(rows, 32);
    Each<Many>(consumer, events, many, DivideUp(rows, kTokens), -1, 0, 0);
    Each<Few>(consumer, events, few, rows, -1, 0, 1);
    Each<List>(consumer, events, list, 1, 1, rows, 2);
    Each<Mark>(consumer, events, mark, blocks, 1, rows, 3);
    Each<ListOfMany>(consumer, events, list_marked, max(blocks, DivideUp(kPlaces, kOwnPlaces)), 3,
                     blocks, 4);
    Each<Norm>(consumer, events, norm, rows, -1, 0, 5);
    Each<NormOfMany>(consumer, events, norm_of_many, DivideUp(rows, int(NormConfig::rows)), -1, 0,
                     6);
    EachPiece<Combine>(consumer, combine, rows);
    EachPiece<CombineOfMany>(consumer, combine_of_many, DivideUp(rows, int(CombineConfig::tokens)));
  }

 private:
  /// A share whose tasks wait for `count` notifies of the event `before`, and notify `after`.
  template <class Op, class Args>
  static ETC_DEVICE void Each(Consumer& consumer, const Events& events, const Args& args, int tasks,
                              int before, int count, int after) {
    if (HasTask(tasks, 0)) {
      if (before >= 0) {
        events.Wait(consumer, before, count);
      }
      consumer.Sync();
      Op op(consumer, args);
      Share(tasks, 0, [&](int t) {
        op.Run(consumer, args, t);
        events.Notify(consumer, after, 1);
      });
    }
  }
  /// A share that waits for nothing, of so many tasks for each piece of the columns.
  template <class Op, class Args>
  static ETC_DEVICE void EachPiece(Consumer& consumer, const Args& args, int tasks) {
    Op op(consumer, args);
    Share(tasks * kPieces, 0, [&](int t) { op.Run(consumer, args, t / kPieces, t % kPieces); });
  }
};

/// Logits of which some rows are hard: equal ones, zeros of both signs, no numbers, infinite ones.
inline std::vector<float> HardLogits(int parts, int rows, int experts) {
  Random random(uint64_t(rows + experts));
  std::vector<float> logits(size_t(parts) * rows * experts);
  for (size_t i = 0; i < logits.size(); ++i) {
    int e = int(i) % experts;
    switch (int(i) / experts % 7) {
      case 0:
        logits[i] = 1.5f;
        break;
      case 1:
        logits[i] = e % 2 == 0 ? -0.0f : 0.0f;
        break;
      case 2:
        logits[i] = e % 3 == 0 ? std::nanf("") : random.Value(3.0f);
        break;
      case 3:
        logits[i] = e < experts - 1 ? -INFINITY : -2.0f;
        break;
      case 4:
        logits[i] = float(int(random.Bits() % 4));
        break;
      default:
        logits[i] = random.Value(3.0f);
    }
  }
  return logits;
}

struct HostOutputs {
  Buffer<i32> used, number, count, token, slot;
  HostOutputs(size_t places, size_t slots, size_t choices)
      : used(places), number(1), count(places), token(places * slots), slot(choices) {}
  bool SameAs(const HostOutputs& other) const {
    return SameBits(used.Read(), other.used.Read()) &&
           SameBits(number.Read(), other.number.Read()) &&
           SameBits(count.Read(), other.count.Read()) &&
           SameBits(token.Read(), other.token.Read()) && SameBits(slot.Read(), other.slot.Read());
  }
};

template <class S>
void TestManyTokensOf(int rows, Report& report) {
  using P = ManyTokensProgram<S>;
  size_t choices = size_t(rows) * S::kTop, blocks = size_t(DivideUp(rows, 32));
  Buffer<float> logits(HardLogits(S::kParts, rows, S::kExperts));
  Buffer<i32> chosen(choices), chosen_of_many(choices);
  Buffer<float> weight(choices), weight_of_many(choices);
  Buffer<u32> marks(blocks * S::kExperts);
  HostOutputs few(P::kPlaces, S::kSlots, choices), many(P::kPlaces, S::kSlots, choices);
  Random random(uint64_t(7 * rows));
  size_t slots = size_t(P::kPlaces) * S::kSlots;
  std::vector<bf16> found = random.Bf16(slots * S::kOutputs, 1.0f);
  std::vector<float> exact(found.size()), weights(choices);
  std::vector<i32> places(choices);
  std::transform(found.begin(), found.end(), exact.begin(), [](bf16 v) { return HostFloat(v); });
  std::generate(weights.begin(), weights.end(), [&] { return random.Value(1.0f); });
  std::generate(places.begin(), places.end(), [&] { return i32(random.Bits() % slots); });
  Buffer<bf16> z_of_many(found);
  Buffer<float> z(exact), any_weight(weights);
  Buffer<i32> slot(places);
  Buffer<bf16> residual(random.Bf16(size_t(rows) * S::kOutputs, 1.0f));
  Buffer<bf16> y(size_t(rows) * S::kOutputs), y_of_many(size_t(rows) * S::kOutputs);
  auto lists = [](const HostOutputs& outputs) {
    return typename P::Lists{outputs.used.data(), outputs.number.data(), outputs.count.data(),
                             outputs.token.data(), outputs.slot.data()};
  };
  P program;
  program.few = {logits.data(), rows, chosen.data(), weight.data()};
  program.many = {logits.data(), rows, chosen_of_many.data(), weight_of_many.data()};
  program.list = {lists(few), chosen.data(), rows};
  program.mark = {chosen.data(), rows, marks.data()};
  program.list_marked = {{lists(many), chosen.data(), rows}, marks.data(), i64(blocks)};
  Buffer<bf16> x(random.Bf16(size_t(rows) * S::kDepth, 2.0f)), norm(random.Bf16(S::kDepth, 1.0f));
  Buffer<bf16> n(size_t(rows) * S::kDepth), n_of_many(size_t(rows) * S::kDepth);
  program.norm = {x.data(), rows, norm.data(), n.data()};
  program.norm_of_many = {x.data(), rows, norm.data(), n_of_many.data()};
  program.combine = {z.data(), slot.data(), rows, any_weight.data(), residual.data(), y.data()};
  program.combine_of_many = {z_of_many.data(),  slot.data(),     rows,
                             any_weight.data(), residual.data(), y_of_many.data()};
  Launcher<P> launcher;
  launcher.Launch(program);
  std::string name =
      "many tokens, " + std::to_string(rows) + " rows, " + std::to_string(S::kExperts) + " experts";
  report.Check(SameBits(chosen.Read(), chosen_of_many.Read()), name + ": what is chosen");
  report.Check(SameBits(weight.Read(), weight_of_many.Read()), name + ": the weights");
  report.Check(few.SameAs(many), name + ": the lists");
  report.Check(SameBits(y.Read(), y_of_many.Read()), name + ": the sums");
  report.Check(SameBits(n.Read(), n_of_many.Read()), name + ": the norm");
}

inline void TestManyTokens(Report& report) {
  TestManyTokensOf<ManyOf128>(1030, report);
  TestManyTokensOf<ManyOf60>(129, report);
  TestManyTokensOf<ManyOf60>(300, report);
  TestManyTokensOf<ManyOf16>(161, report);
}

}  // namespace etc::test
