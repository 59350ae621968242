#include "index_generator.h"

#include <fmt/format.h>

#include <vector>

#include "random.h"

namespace etc::mutation {
namespace {

/// One call stores items at indices, one reads them, and some programs store again. The indices are
/// chains of the caller's tensors, of one that the launch computes, and of some arithmetic. Each
/// task notifies and waits for elements that its own index names; one of ten names others.
class IndexGenerator {
 public:
  explicit IndexGenerator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    layers_ = random_.Chance(4) ? 2 : 0;
    AddIndices("p", true);
    AddIndices("q", true);
    AddIndices("r", false);
    if (random_.Chance(3)) {
      Compute();
    }
    std::string stored = Permutation();
    Store(stored);
    std::string read = random_.Chance(2) ? stored : random_.Chance(3) ? Index() : Permutation();
    Read(read);
    if (layers_ == 0 && random_.Chance(2)) {
      StoreAgain(random_.Chance(2) ? read : Permutation());
    }
    return Text();
  }

 private:
  struct Indices {
    std::string name;
    std::string type;  // with what is promised of it
    bool distinct;
  };

  void AddIndices(const std::string& name, bool distinct) {
    std::string type = fmt::format("i32[n] in 0..n{}", distinct            ? " distinct"
                                                       : random_.Chance(2) ? " monotone"
                                                                           : "");
    indices_.push_back({name, type, distinct});
    params_ += fmt::format("%{}: {}, ", name, type);
  }

  /// A tensor of indices that a call of its own stores.
  void Compute() {
    bool distinct = random_.Chance(2);
    std::string index = distinct ? Permutation() : Index();
    AddDevice("compute", fmt::format("%k: out i32[n]) tasks (i: n) {{ %k[i] = {}; }}", index));
    events_ += "  event %computed count n;\n";
    before_ = fmt::format("  call @compute({}%k) notify (i) => %computed;\n", Given());
    indices_.push_back({"k", distinct ? "i32[n] in 0..n distinct" : "i32[n] in 0..n", distinct});
    buffers_ += "  %k = buffer i32[n];\n";
  }

  /// An index in 0..n of a task's coordinate `i`, another one for each task.
  std::string Permutation() {
    static const std::vector<std::string> kPlain = {"i", "i", "i", "n - 1 - i", "(i + 1) % n"};
    std::string index = random_.Pick(kPlain);
    for (int64_t levels = random_.Below(4); levels > 0;) {
      const Indices& indices = random_.Pick(indices_);
      if (indices.distinct) {
        index = Turned(fmt::format("%{}[{}]", indices.name, index));
        --levels;
      }
    }
    return index;
  }

  std::string Turned(const std::string& element) {
    int64_t kind = random_.Below(8);
    return kind == 0   ? fmt::format("n - 1 - {}", element)
           : kind == 1 ? fmt::format("({} + 1) % n", element)
                       : element;
  }

  /// Any index in 0..n.
  std::string Index() {
    std::string index = random_.Pick(std::vector<std::string>{"i", "i / 2", "min(i + 1, n - 1)"});
    for (int64_t levels = 1 + random_.Below(2); levels > 0; --levels) {
      std::string first = fmt::format("%{}[{}]", random_.Pick(indices_).name, index);
      std::string second = fmt::format("%{}[{}]", random_.Pick(indices_).name, index);
      switch (random_.Below(6)) {
        case 0:
          index = fmt::format("{} / 2", first);
          break;
        case 1:
          index = fmt::format("max({}, {})", first, second);
          break;
        case 2:
          index = fmt::format("select({} < 2, {}, {})", first, first, second);
          break;
        default:
          index = first;
      }
    }
    return index;
  }

  /// The index itself, most of the time.
  std::string Or(const std::string& index) {
    int64_t kind = random_.Below(20);
    return kind < 18 ? index : kind < 19 ? Index() : Permutation();
  }

  /// `name[l, index]` in layers.
  std::string Element(const std::string& event, const std::string& index) const {
    return fmt::format("%{}[{}{}]", event, layers_ > 0 ? "l, " : "", index);
  }

  void AddEvent(const std::string& name, const std::string& elements, const std::string& count) {
    events_ += fmt::format("  event %{}[{}{}] count {};\n", name,
                           layers_ > 0 ? fmt::format("{}, ", layers_) : "", elements, count);
  }

  std::string Waits(std::vector<std::string> others) const {
    if (!before_.empty()) {
      others.insert(others.begin(), "%computed");
    }
    return others.empty() ? "" : fmt::format(" wait (i) => {}", fmt::join(others, ", "));
  }

  void Store(const std::string& index) {
    AddDevice("store",
              fmt::format("%x: f32[n], %a: out f32[n]) tasks (i: n) {{ %a[{}] = %x[i]; }}", index));
    AddEvent("stored", "n", "1");
    std::vector<std::string> waits;
    if (layers_ > 0) {
      waits.push_back(random_.Chance(2) ? fmt::format("%read[l - 1, {}] if l > 0", Or(index))
                                        : "%all[l - 1, 0] if l > 0");
    }
    calls_ += fmt::format("  call @store({}%x, %a){} notify (i) => {};\n", Given(), Waits(waits),
                          Element("stored", Or(index)));
  }

  /// The tasks notify the element that they read, if each reads another, and one for all.
  void Read(const std::string& index) {
    bool all = random_.Chance(8);
    AddDevice("read", fmt::format("%a: f32[n], %y: out f32[n]) tasks (i: n) {{ %y[i] = {}; }}",
                                  all ? "sum(k: n) %a[k]" : fmt::format("%a[{}]", index)));
    std::string read = all ? "i" : index;
    AddEvent("read", "n", "1");
    AddEvent("all", "1", "n");
    calls_ +=
        fmt::format("  call @read({}%a, {}){} notify (i) => {}, {};\n", Given(),
                    layers_ > 0 ? "%y[l]" : "%y", Waits({Element("stored", all ? "*" : Or(index))}),
                    Element("read", Or(read)), Element("all", "0"));
  }

  void StoreAgain(const std::string& index) {
    AddDevice(
        "again",
        fmt::format("%x: f32[n], %a: out f32[n]) tasks (i: n) {{ %a[{}] = -%x[i]; }}", index));
    calls_ += fmt::format("  call @again({}%x, %a){};\n", Given(),
                          Waits({random_.Chance(2) ? Element("read", Or(index)) : "%all[0]"}));
  }

  /// A device function that has all indices.
  void AddDevice(const std::string& name, const std::string& rest) {
    std::string asked;
    for (const Indices& indices : indices_) {
      asked += fmt::format("%{}: {}, ", indices.name, indices.type);
    }
    devices_ += fmt::format("device @{}({}{}\n", name, asked, rest);
  }

  std::string Given() const {
    std::string result;
    for (const Indices& indices : indices_) {
      result += fmt::format("%{}, ", indices.name);
    }
    return result;
  }

  std::string Text() {
    std::string calls =
        layers_ > 0 ? fmt::format("  repeat l in 0..{} {{\n{}  }}\n", layers_, calls_) : calls_;
    return fmt::format(
        "etir 1;\ndim n in {}..{};\n{}graph @g({}%x: f32[n], %y: out f32[{}n]) {{\n"
        "  %a = buffer f32[n];\n{}{}{}{}}}\n",
        1 + random_.Below(3), random_.Pick({5, 9, 64, 1024}), devices_, params_,
        layers_ > 0 ? fmt::format("{}, ", layers_) : "", buffers_, events_, before_, calls);
  }

  Random random_;
  int64_t layers_ = 0;  // 0: no repeat
  std::vector<Indices> indices_;
  std::string devices_;
  std::string params_;
  std::string buffers_;
  std::string events_;
  std::string before_;  // the call that computes indices, if any
  std::string calls_;
};

}  // namespace

std::string GenerateIndices(uint64_t seed) { return IndexGenerator(seed).Run(); }

}  // namespace etc::mutation
