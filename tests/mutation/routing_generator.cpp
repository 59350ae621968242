#include "routing_generator.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "random.h"

namespace etc::mutation {
namespace {

/// The steps: choose a group for each item; count the items of each group; begin each group behind
/// the one before; give each item a place in its group; move the items to their places; work on
/// the places of each group; take each item's result back. In layers, each does so with what the
/// one before has left.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Run() {
    groups_ = random_.Pick({2, 3, 4});
    layers_ = random_.Chance(2) ? random_.Pick({2, 3}) : 0;
    reused_ = layers_ > 0 && random_.Chance(3);
    chosen_ = !random_.Chance(3);
    in_one_ = random_.Chance(2);
    slots_apart_ = !in_one_ && random_.Chance(2);
    tiles_ = random_.Chance(3) ? 2 : 1;
    related_ = !random_.Chance(3);
    arrivals_ = random_.Chance(2);
    done_ = static_cast<Done>(random_.Below(4));
    Choose();
    Sort();
    Move();
    Work();
    Merge();
    return Text();
  }

 private:
  /// What the last step waits for: a counter of all tasks, that of each group, by the extents of
  /// the ranges or by a sum, the group that an item is in.
  enum class Done { AllBySum, Groups, GroupsBySum, OwnGroup };

  /// The extents of what each layer has its own of.
  std::string Layered(const std::string& extents) const {
    return layers_ == 0 ? extents : fmt::format("{}, {}", layers_, extents);
  }

  void AddBuffer(const std::string& name, const std::string& type, const std::string& extents) {
    // A range must stay what it was: SMs without a task may read it at any time.
    bool floats = name == "rows" || name == "y";
    bool reused = reused_ && name != "begin" && (floats || random_.Chance(4));
    buffers_ +=
        fmt::format("  %{} = buffer {}[{}];\n", name, type, reused ? extents : Layered(extents));
    if (!reused) {
      layered_.insert(name);
    }
  }

  /// `%name[g: groups]`, and its count.
  void AddEvent(std::string name, const std::string& count) {
    size_t bracket = name.find('[');
    layered_.insert(name.substr(1, bracket - 1));
    if (layers_ > 0 && bracket == std::string::npos) {
      name += fmt::format("[l: {}]", layers_);
    } else if (layers_ > 0) {
      name.insert(bracket + 1, fmt::format("l: {}, ", layers_));
    }
    events_ += fmt::format("  event {} count {};\n", name, InLayer(count));
  }

  /// With the slice or the element of layer `l` for each tensor and event that has one.
  std::string InLayer(const std::string& text) const {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      size_t end = at + 1;
      while (text[at] == '%' && end < text.size() && std::isalpha(text[end]) != 0) {
        ++end;
      }
      result += text.substr(at, end - at);
      if (layers_ > 0 && text[at] == '%' && layered_.contains(text.substr(at + 1, end - at - 1))) {
        bool element = end < text.size() && text[end] == '[';
        result += element ? "[l, " : "[l]";
        end += element ? 1 : 0;
      }
      at = end;
    }
    return result;
  }

  void AddDevice(const std::string& name, const std::string& rest) {
    devices_ += fmt::format("device @{}{}\n", name, rest);
  }
  void AddCall(const std::string& call) { calls_ += fmt::format("  call {};\n", InLayer(call)); }

  /// Some rows of a tile of items, written in one of two ways.
  std::string Rows(int64_t tile, const std::string& store) {
    if (random_.Chance(2)) {
      return fmt::format("for (i: t * {0} .. min(n, t * {0} + {0})) {{ {1} }}", tile, store);
    }
    return fmt::format("for (r: {0}) {{ let i = t * {0} + r; if (i < n) {{ {1} }} }}", tile, store);
  }

  void Choose() {
    if (!chosen_) {
      layered_.insert("which");
      params_ += fmt::format("%which: i32[{}] in 0..{}, ", Layered("n"), groups_);
      return;
    }
    int64_t tile = random_.Pick({1, 2, 3});
    bool floats = random_.Chance(3);
    std::string extents = floats ? fmt::format("n, {}", groups_) : "n";
    std::string type = floats ? "f32" : "i32";
    std::string group = floats              ? fmt::format("argmax(g: {}) %key[i, g]", groups_)
                        : random_.Chance(2) ? fmt::format("(%key[i] + i) % {}", groups_)
                                            : fmt::format("min(%key[i], {})", groups_ - 1);
    AddDevice("choose",
              fmt::format("(%key: {}[{}], %which: out i32[n]) tasks (t: ceildiv(n, {})) {{ {} }}",
                          type, extents, tile, Rows(tile, fmt::format("%which[i] = {};", group))));
    params_ += fmt::format("%key: {}[{}]{}, ", type, Layered(extents), floats ? "" : " in 0..n");
    layered_.insert("key");
    AddBuffer("which", "i32", "n");
    AddEvent("%chosen", fmt::format("ceildiv(n, {})", tile));
    AddCall(fmt::format("@choose(%key, %which){} notify (t) => %chosen",
                        reused_ ? " wait (t) => " + AfterLayer() : ""));
  }

  static std::string AfterLayer() { return "%ready[l] if l > 0"; }

  std::string AfterChoice(const std::string& coordinates) const {
    return chosen_   ? fmt::format(" wait ({}) => %chosen", coordinates)
           : reused_ ? fmt::format(" wait ({}) => {}", coordinates, AfterLayer())
                     : "";
  }

  void Sort() {
    AddBuffer("tokens", "i32", fmt::format("{}", groups_));
    AddBuffer("begin", "i32", fmt::format("{}", groups_ + 1));
    AddBuffer("slot", "i32", "n");
    std::string which = Which();
    std::string count = "sum(i: n) select(%which[i] == g, 1, 0)";
    std::string begin = tiles_ == 1 ? "sum(f: g) %tokens[f]"
                                    : fmt::format("sum(f: g) ceildiv(%tokens[f], {})", tiles_);
    std::string slot = fmt::format(
        "%begin[%which[i]] * {} + sum(k: i) select(%which[k] == %which[i], 1, 0)", tiles_);
    if (in_one_) {
      AddDevice("sort",
                fmt::format("({}, %tokens: out i32[{}], %begin: out i32[{}], %slot: out i32[n])"
                            " tasks (one: 1) {{\n  for (g: {}) %tokens[g] = {};\n"
                            "  for (g: {}) %begin[g] = {};\n  for (i: n) %slot[i] = {};\n}}",
                            which, groups_, groups_ + 1, groups_, count, groups_ + 1, begin, slot));
      AddEvent("%sorted", "1");
      AddCall("@sort(%which, %tokens, %begin, %slot)" + AfterChoice("one") +
              " notify (one) => %sorted");
      return;
    }
    AddDevice("count",
              fmt::format("({}, %tokens: out i32[{}]) tasks (g: {}) {{ %tokens[g] = {}; }}", which,
                          groups_, groups_, count));
    AddEvent("%counted", fmt::format("{}", groups_));
    AddCall("@count(%which, %tokens)" + AfterChoice("g") + " notify (g) => %counted");
    AddDevice("scan", fmt::format("(%tokens: i32[{}], %begin: out i32[{}]) tasks (one: 1) "
                                  "{{ for (g: {}) %begin[g] = {}; }}",
                                  groups_, groups_ + 1, groups_ + 1, begin));
    AddEvent("%scanned", "1");
    AddCall("@scan(%tokens, %begin) wait (one) => %counted notify (one) => %scanned");
    int64_t tile = slots_apart_ ? random_.Pick({1, 2}) : 0;
    std::string tasks = slots_apart_ ? fmt::format("t: ceildiv(n, {})", tile) : "t: 1";
    std::string rows = slots_apart_ ? Rows(tile, fmt::format("%slot[i] = {};", slot))
                                    : fmt::format("for (i: n) %slot[i] = {};", slot);
    AddDevice("place", fmt::format("({}, %begin: i32[{}], %slot: out i32[n]) tasks ({}) {{ {} }}",
                                   which, groups_ + 1, tasks, rows));
    AddEvent("%sorted", slots_apart_ ? fmt::format("ceildiv(n, {})", tile) : "1");
    AddCall("@place(%which, %begin, %slot) wait (t) => %scanned notify (t) => %sorted");
  }

  /// Places of items: each group's are whole tiles.
  std::string Places() const { return tiles_ == 1 ? "n" : fmt::format("n + {}", groups_ * tiles_); }

  std::string Which() const { return fmt::format("%which: i32[n] in 0..{}", groups_); }
  std::string Begin() const {
    return fmt::format("%begin: i32[{}] in 0..{} monotone", groups_ + 1,
                       tiles_ == 1 ? "n + 1" : fmt::format("n / {} + {}", tiles_, groups_ + 1));
  }

  /// What each task waits for that reads what the sorting has written.
  std::string AfterSort() const {
    return std::string(chosen_ ? "%chosen, " : "") + (in_one_ ? "" : "%counted, %scanned, ") +
           "%sorted";
  }

  void Move() {
    AddBuffer("rows", "f32", Places());
    std::string slot = fmt::format("%slot: i32[n] in 0..{} distinct", Places());
    if (related_) {  // an item's place lies among those of its group
      slot = fmt::format(
          "{}, {}, %slot: i32[i: n] in %begin[%which[i]] * {} .. "
          "%begin[%which[i] + 1] * {} distinct",
          Which(), Begin(), tiles_, tiles_);
    }
    AddDevice("move", fmt::format("(%x: f32[n], {}, %rows: out f32[{}]) tasks (i: n) "
                                  "{{ %rows[%slot[i]] = %x[i]; }}",
                                  slot, Places()));
    params_ += layers_ > 0 ? fmt::format("%x: inout f32[{}, n]", layers_ + 1) : "%x: f32[n], ";
    std::string notify = "%moved";
    if (arrivals_) {
      AddEvent(fmt::format("%arrived[g: {}]", groups_), "%tokens[g]");
      moved_ = random_.Chance(2);
      notify = moved_ ? "%moved, %arrived[%which[i]]" : "%arrived[%which[i]]";
    }
    if (moved_) {
      AddEvent("%moved", "n");
    }
    AddCall(fmt::format("@move({}, {}%slot, %rows) wait (i) => {}{} notify (i) => {}",
                        layers_ > 0 ? "%x[l]" : "%x", related_ ? "%which, %begin, " : "",
                        AfterSort(), layers_ > 0 ? ", " + AfterLayer() : "", notify));
  }

  void Work() {
    AddBuffer("y", "f32", Places());
    std::string tokens = fmt::format("%tokens: i32[{}]", groups_);
    if (related_) {
      tokens = Which() + ", " + tokens + " counts %which";
    }
    std::string store = "%y[p] = 2.0 * %rows[p] + f32(g);";
    std::string body =
        tiles_ == 1 ? fmt::format("let p = m; {}", store)
                    : fmt::format(
                          "for (p: m * {0} .. min(m * {0} + {0}, %begin[g] * {0} + %tokens[g])) "
                          "{{ {1} }}",
                          tiles_, store);
    AddDevice("work", fmt::format("(%rows: f32[{0}], {1}, {2}, %y: out f32[{0}])\n    tasks "
                                  "(g: {3}, m: %begin[g] .. %begin[g + 1]) {{ {4} }}",
                                  Places(), Begin(), tokens, groups_, body));
    std::string sum = fmt::format("sum(g: {}, m: %begin[g] .. %begin[g + 1]) 1", groups_);
    std::string notify = "%done";
    switch (done_) {
      case Done::AllBySum:
        AddEvent("%done", sum);
        break;
      case Done::GroupsBySum:
        AddEvent(fmt::format("%done[g: {}]", groups_), "sum(m: %begin[g] .. %begin[g + 1]) 1");
        notify = "%done[g]";
        break;
      default:
        AddEvent(fmt::format("%done[g: {}]", groups_), "%begin[g + 1] - %begin[g]");
        notify = "%done[g]";
    }
    std::string arrived = moved_ ? "%moved" : "%arrived[*]";
    if (arrivals_ && !(moved_ && random_.Chance(2))) {
      arrived = "%arrived[g]";
    }
    AddCall(
        fmt::format("@work(%rows, %begin, {}%tokens, %y) wait (g, m) => {}, {} "
                    "notify (g, m) => {}",
                    related_ ? "%which, " : "", AfterSort(), arrived, notify));
  }

  void Merge() {
    int64_t tile = done_ == Done::OwnGroup ? 1 : random_.Pick({1, 2, 3});
    AddDevice("merge", fmt::format("(%y: f32[{0}], %slot: i32[n] in 0..{0}, %z: out f32[n]) tasks "
                                   "(t: ceildiv(n, {1})) {{ {2} }}",
                                   Places(), tile, Rows(tile, "%z[i] = %y[%slot[i]];")));
    std::string done = done_ == Done::AllBySum   ? "%done"
                       : done_ == Done::OwnGroup ? "%done[%which[t]]"
                                                 : "%done[*]";
    if (layers_ > 0) {
      events_ += fmt::format("  event %ready[l: {}] count ceildiv(n, {});\n", layers_ + 1, tile);
    } else {
      params_ += "%z: out f32[n]";
    }
    AddCall(fmt::format("@merge(%y, %slot, {}) wait (t) => {}, {}{}",
                        layers_ > 0 ? "%x[l + 1]" : "%z", AfterSort(), done,
                        layers_ > 0 ? " notify (t) => %ready[l + 1]" : ""));
  }

  std::string Text() {
    int64_t hi = random_.Chance(2) ? random_.Pick({6, 9}) : random_.Pick({64, 1024});
    std::string calls =
        layers_ > 0 ? fmt::format("  repeat l in 0..{} {{\n{}  }}\n", layers_, calls_) : calls_;
    return fmt::format("etir 1;\ndim n in {}..{};\n{}graph @g({}) {{\n{}{}{}}}\n",
                       1 + random_.Below(3), hi, devices_, params_, buffers_, events_, calls);
  }

  Random random_;
  int64_t layers_ = 0;             // 0: no repeat
  bool reused_ = false;            // some buffers hold what one layer after the other puts there
  std::set<std::string> layered_;  // what has an element or a slice for each layer
  int64_t groups_ = 2;
  bool chosen_ = false;       // the launch chooses the groups, not the caller
  bool in_one_ = false;       // one task sorts
  bool slots_apart_ = false;  // several tasks find the places
  int64_t tiles_ = 1;         // places of a task
  bool related_ = false;      // functions ask how the tensors belong together
  bool arrivals_ = false;     // an event of each group counts its items
  bool moved_ = true;         // an event counts all items
  Done done_ = Done::Groups;
  std::string devices_;
  std::string params_;
  std::string buffers_;
  std::string events_;
  std::string calls_;
};

}  // namespace

std::string GenerateRouting(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace etc::mutation
