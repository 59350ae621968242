// The decisions in a form to read.

#include <fmt/format.h>

#include "emit/raise/raise.h"
#include "ir/printer.h"

namespace etc {
namespace {

class Describer {
 public:
  explicit Describer(const RaisedKernel& raised) : raised_(raised), module_(raised.module) {}

  std::string Run() {
    Line(0, fmt::format("kernel @{} runs {}", raised_.kernel.name, Devices()));
    Parameters("flagged", raised_.flagged);
    Parameters("computed in the launch", raised_.computed);
    for (const ShareSite& site : SharesOf(module_, raised_.kernel)) {
      if (auto share = raised_.shares.find(site.share); share != raised_.shares.end()) {
        Add(share->second);
      }
    }
    Divisions("divided in 32 bits", Division::Small);
    Divisions("divided in 64 bits", Division::Floor);
    Divisions("divided in 64 bits, perhaps by 0", Division::Total);
    Expressions("shifted by perhaps too many places", raised_.open_shifts);
    Expressions("literals", raised_.limits);
    Expressions("literals of 64 bits", raised_.doubles);
    return std::move(text_);
  }

 private:
  void Line(int depth, const std::string& text) {
    text_ += fmt::format("// {}{}\n", std::string(static_cast<size_t>(2 * depth), ' '), text);
  }

  std::string Devices() const {
    std::string text;
    for (DeviceId id : raised_.devices) {
      text += (text.empty() ? "@" : ", @") + module_.devices[id].name;
    }
    return text;
  }

  void Parameters(const char* what, const std::set<TensorId>& params) {
    std::string text;
    for (DeviceId id : raised_.devices) {
      for (TensorId param : module_.devices[id].params) {
        if (params.contains(param)) {
          text += fmt::format("{}%{} of @{}", text.empty() ? "" : ", ", module_.tensors[param].name,
                              module_.devices[id].name);
        }
      }
    }
    if (!text.empty()) {
      Line(1, fmt::format("{}: {}", what, text));
    }
  }

  void Add(const RaisedShare& raised) {
    const Share& share = raised.share;
    Line(1, fmt::format("share ({}) from {}, run @{}", Axes(share.axes, 0, share.axes.size()),
                        Print(module_, share.first), module_.devices[share.callee].name));
    if (raised.loops > 0) {
      Line(2, fmt::format("loops ({})", Axes(share.axes, 0, raised.loops)));
    }
    Line(2,
         fmt::format("box ({}), tasks numbered in {} bits",
                     Axes(share.axes, raised.loops, share.axes.size()), Bits(raised.coordinates)));
    Line(2, fmt::format("first % sms in {} bits", Bits(raised.first)));
  }

  static int Bits(Division division) { return division == Division::Small ? 32 : 64; }

  std::string Axes(const std::vector<Axis>& axes, size_t begin, size_t end) const {
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      const Axis& axis = axes[i];
      text += fmt::format("{}{}: {}{}", i == begin ? "" : ", ", module_.symbols[axis.var].name,
                          axis.lo ? Print(module_, axis.lo) + " .. " : "", Print(module_, axis.hi));
    }
    return text;
  }

  void Divisions(const char* what, Division division) {
    std::set<ExprId> divided;
    for (const auto& [id, how] : raised_.divisions) {
      if (how == division) {
        divided.insert(id);
      }
    }
    Expressions(what, divided);
  }

  /// Each text once: the same expression may stand in many places.
  template <class Ids>
  void Expressions(const char* what, const Ids& ids) {
    std::set<std::string> seen;
    std::string text;
    for (const auto& entry : ids) {
      std::string expr = Print(module_, IdOf(entry));
      if (seen.insert(expr).second) {
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", expr);
      }
    }
    if (!text.empty()) {
      Line(1, fmt::format("{}: {}", what, text));
    }
  }
  static ExprId IdOf(ExprId id) { return id; }
  template <class T>
  static ExprId IdOf(const std::pair<const ExprId, T>& entry) {
    return entry.first;
  }

  const RaisedKernel& raised_;
  const Module& module_;
  std::string text_;
};

}  // namespace

std::string Describe(const RaisedModule& raised) {
  std::string text;
  for (const RaisedKernel& kernel : raised.kernels) {
    text += Describer(kernel).Run();
  }
  return text;
}

}  // namespace etc
