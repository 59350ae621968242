#include "rank_generator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "random.h"

namespace etc::mutation {
namespace {

/// Each call reads what some calls in front of it have made, and the last one what is left. In
/// layers, each begins with what the one before has made.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    layers_ = random_.Chance(3) ? 2 : 0;
    made_.push_back({"x"});
    if (layers_ > 0) {
      made_.front() = Declare({"h"}, "layers + 1");
    }
    const int64_t calls = random_.Pick({2, 3, 3, 4, 5});
    for (int64_t i = 0; i < calls; ++i) {
      AddCall(i + 1 == calls);
    }
    return Text();
  }

 private:
  struct Made {
    std::string name;
    enum class By { Own, All, Others } by = By::Own;  // ranks that write it
    bool whole = false;                               // its event counts all of it
    bool read = false;
  };

  static std::string Writers(const Made& made) {
    return made.by == Made::By::Own ? "1" : made.by == Made::By::All ? "tp" : "tp - 1";
  }
  static std::string Type(const Made& made) {
    return made.by == Made::By::Own ? "f32[n]" : fmt::format("f32[{}, n]", Writers(made));
  }
  /// An index in front of others where there are layers.
  std::string Layered(const std::string& layer, const std::string& others) const {
    std::string all = layers_ == 0 ? others : layer + (others.empty() ? "" : ", " + others);
    return all.empty() ? "" : "[" + all + "]";
  }
  std::string Slice(const std::string& layer) const {
    return layers_ == 0 ? "" : "[" + layer + "]";
  }

  Made Declare(Made made, const std::string& layers) {
    made.whole = random_.Chance(4);
    const bool own = made.by == Made::By::Own;
    const std::string shape = own ? "n" : Writers(made) + ", n";
    if (made.name != "y") {
      declarations_ += fmt::format("  %{} = buffer {}f32{};\n", made.name, own ? "" : "symmetric ",
                                   Layered(layers, shape));
      declarations_ +=
          fmt::format("  event {}%{}_done{} count {};\n", own ? "" : "symmetric ", made.name,
                      Layered(layers, made.whole ? "" : "n"),
                      made.whole ? fmt::format("n * ({})", Writers(made)) : Writers(made));
    }
    return made;
  }

  void AddCall(bool last) {
    std::vector<size_t> reads;
    for (size_t i = 0; i < made_.size(); ++i) {
      bool left = last && i > 0 && !made_[i].read;
      if (left || (reads.empty() && i + 1 == made_.size()) || random_.Chance(4)) {
        reads.push_back(i);
        made_[i].read = true;
      }
    }
    Made made{last ? (layers_ > 0 ? "h" : "y") : fmt::format("b{}", made_.size())};
    if (last) {
      made.whole = made_.front().whole;
    } else {
      made.by = static_cast<Made::By>(random_.Below(3));
      made = Declare(made, "layers");
    }
    const bool sends = made.by != Made::By::Own;
    const std::string to = made.by == Made::By::All ? "to" : "(rank + 1 + to) % tp";
    const std::string other = fmt::format("to: {}", Writers(made));
    const bool ranks_first = random_.Chance(2);
    const std::string axes = !sends ? "i: n" : ranks_first ? other + ", i: n" : "i: n, " + other;
    const std::string coords = !sends ? "i" : ranks_first ? "to, i" : "i, to";
    std::string params, args, sum, waits;
    for (size_t i : reads) {
      const Made& from = made_[i];
      const bool own = from.by == Made::By::Own;
      const bool all = random_.Chance(4);  // of its rows
      params += fmt::format("%a{}: {}, ", i, Type(from));
      args += fmt::format("%{}{}, ", from.name, from.name == "x" ? "" : Slice("l"));
      const std::string row = all ? "k" : "i";
      std::vector<std::string> loops;
      if (!own) {
        loops.push_back("r: " + Writers(from));
      }
      if (all) {
        loops.push_back("k: n");
      }
      sum += (sum.empty() ? "" : " + ") +
             (loops.empty() ? "" : fmt::format("sum({}) ", fmt::join(loops, ", "))) +
             fmt::format("%a{}[{}{}]", i, own ? "" : "r, ", row);
      if (from.name != "x") {
        waits += fmt::format("{}%{}_done{}", waits.empty() ? "" : ", ", from.name,
                             Layered("l", from.whole ? ""
                                          : all      ? "*"
                                                     : "i"));
      }
    }
    const std::string place = made.by == Made::By::Own   ? "[i]"
                              : made.by == Made::By::All ? "@(to)[rank, i]"
                                                         : fmt::format("@({})[tp - 2 - to, i]", to);
    devices_ +=
        fmt::format("device @f{}({}%o: out {}{}) tasks ({}) {{ %o{} = {}; }}\n", made_.size(),
                    params, sends ? "symmetric " : "", Type(made), axes, place, sum);
    const std::string target = last ? "l + 1" : "l";
    calls_ += fmt::format("  call @f{}({}%{}{})", made_.size(), args, made.name,
                          made.name == "y" ? "" : Slice(target));
    calls_ += waits.empty() ? "" : fmt::format(" wait ({}) => {}", coords, waits);
    if (made.name != "y") {
      calls_ += fmt::format(" notify ({}) => %{}_done{}{}", coords, made.name,
                            sends ? fmt::format("@({})", to) : "",
                            Layered(target, made.whole ? "" : "i"));
    }
    calls_ += ";\n";
    made_.push_back(made);
  }

  std::string Text() const {
    std::string text = "etir 1;\nmesh tp = 2;\ndim n in 1..4;\n";
    if (layers_ == 0) {
      return text + devices_ + "graph @g(%x: f32[n], %y: out f32[n]) {\n" + declarations_ + calls_ +
             "}\n";
    }
    const bool whole = made_.front().whole;
    text += fmt::format("const layers = {};\n", layers_) + devices_;
    text += "device @copy(%x: f32[n], %y: out f32[n]) tasks (i: n) { %y[i] = %x[i]; }\n";
    text += "graph @g(%x: f32[n], %y: out f32[n]) {\n" + declarations_;
    text +=
        fmt::format("  call @copy(%x, %h[0]) notify (i) => %h_done[0{}];\n", whole ? "" : ", i");
    text += "  repeat l in 0..layers {\n" + calls_ + "  }\n";
    text += fmt::format("  call @copy(%h[layers], %y) wait (i) => %h_done[layers{}];\n}}\n",
                        whole ? "" : ", i");
    return text;
  }

  Random random_;
  int64_t layers_ = 0;
  std::vector<Made> made_;
  std::string devices_, declarations_, calls_;
};

}  // namespace

std::string GenerateRanks(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace etc::mutation
