// What debug checks say when they fail, and which values they leave behind for it.

#include <fmt/format.h>

#include "emit/raise/passes.h"
#include "ir/body_visitor.h"
#include "ir/printer.h"
#include "ir/walk.h"

namespace etc {
namespace {

/// The indices in the bounds of an element's range: they may read other parameters, by what these
/// hold, which may be wrong itself. `who` is the element.
void AddBounds(const Module& module, const std::string& who, ExprId bound, MessageTexts& texts,
               ElementMessages& says) {
  VisitExprs(module, bound, [&](ExprId id) {
    const auto* load = std::get_if<Load>(&module.exprs[id]);
    for (size_t axis = 0; load != nullptr && axis < load->indices.size(); ++axis) {
      says.bounds[{load->tensor, axis}] = AddMessage(
          texts, fmt::format("{} is promised by index {} of %{}, {{}}, outside of 0..{{}}", who,
                             axis, module.tensors[load->tensor].name));
    }
  });
}

/// Of a range, and of all that its bounds read.
void AddRange(const Module& module, const std::string& who, ExprId lo, ExprId hi,
              MessageTexts& texts, ElementMessages& says) {
  AddBounds(module, who, hi, texts, says);
  AddBounds(module, who, lo, texts, says);
  says.range = AddMessage(texts, who + " is {}, outside of {}..{}");
}

/// Of a tensor as a whole. `before` stands in front of its name.
ElementMessages WordCheck(const Module& module, const Check& check, const std::string& before,
                          MessageTexts& texts) {
  const Tensor& tensor = module.tensors[check.tensor];
  ElementMessages says;
  // Two elements and a value must fit.
  bool by_number = 2 * tensor.shape.size() + 1 > kRecordValues;
  says.place = by_number ? ElementPlace::Number : ElementPlace::Indices;
  std::string places = MessagePlaces(by_number ? 1 : tensor.shape.size());
  std::string who = fmt::format("{}%{}: {}", before, tensor.name, places.empty() ? "it" : places);
  if (check.value_lo) {
    AddRange(module, who, check.value_lo, check.value_hi, texts, says);
  }
  if (check.monotone) {
    says.monotone =
        AddMessage(texts, who + " is {}, less than the {} before it, but must be monotone");
  }
  if (check.distinct) {
    says.distinct =
        AddMessage(texts, fmt::format("{} is {{}}, like {}, but must be distinct", who, places));
  }
  if (check.counts) {
    says.counts = AddMessage(texts, fmt::format("{} is {{}}, but must count the elements of %{} "
                                                "that are {{}}, of which there are {{}}",
                                                who, module.tensors[check.counts].name));
  }
  return says;
}

class BodyWorder : BodyVisitor {
 public:
  BodyWorder(const RaisedKernel& kernel, RaisedDevice& raised, MessageTexts& texts)
      : BodyVisitor(kernel.module),
        kernel_(kernel),
        module_(kernel.module),
        raised_(raised),
        says_(raised.says),
        texts_(texts),
        name_("@" + raised.device.name) {}

  void Run() {
    const Device& device = raised_.device;
    // What follows the coordinates in a message takes five values or less, but for the indices.
    if (device.tasks.size() + 5 <= kRecordValues) {
      says_.tasks = true;
      values_ = device.tasks.size();
      name_ += ", task " + MessagePlaces(values_);
    }
    VisitBlock(device.body);
  }

 private:
  void OnElement(const BodyElement& element) override {
    const Tensor& tensor = module_.tensors[element.tensor];
    bool computed = tensor.value_lo && kernel_.computed.contains(element.tensor);
    if (computed && !element.IsWrite() && !says_.elements.contains(element.tensor)) {
      says_.elements[element.tensor] = WordElement(tensor);
    }
    if (raised_.from_data.contains(element.peer)) {
      says_.peers[element.tensor] = AddMessage(
          texts_,
          fmt::format("{}: the rank of %{} is {{}}, outside of 0..{{}}", name_, tensor.name));
    }
    auto& indices = element.peer ? says_.remote_indices : says_.indices;
    const char* where = element.peer ? " at rank {}" : "";
    for (size_t axis = 0; axis < element.indices.size(); ++axis) {
      if (raised_.from_data.contains(element.indices[axis])) {
        indices[{element.tensor, axis}] =
            AddMessage(texts_, fmt::format("{}: index {} of %{}{} is {{}}, outside of 0..{{}}",
                                           name_, axis, tensor.name, where));
      }
    }
  }

  ElementMessages WordElement(const Tensor& tensor) {
    ElementMessages says;
    bool fits = values_ + tensor.shape.size() + 3 <= kRecordValues;
    says.place = fits ? ElementPlace::Indices : ElementPlace::Unsaid;
    std::string who = fmt::format("{}: %{}{}", name_, tensor.name,
                                  fits ? MessagePlaces(tensor.shape.size()) : "");
    AddRange(module_, who, tensor.value_lo, tensor.value_hi, texts_, says);
    return says;
  }

  void AroundRanks(StmtId, const TopK& topk, const Inside& inside) override {
    const auto& data = raised_.from_data;
    if (data.contains(topk.axis.lo) || data.contains(topk.axis.hi) || data.contains(topk.rank.hi)) {
      says_.ranks[&topk] = AddMessage(
          texts_,
          fmt::format("{}: `topk` takes an element of rank {{}}, outside of 0..{{}}", name_));
    }
    inside();
  }

  void OnExpr(ExprId id) override {
    auto division = kernel_.divisions.find(id);
    if (division != kernel_.divisions.end() && division->second == Division::Total) {
      says_.divisors[id] =
          AddMessage(texts_, fmt::format("{}: `{}` divides by zero", name_, Print(module_, id)));
    }
    if (kernel_.open_shifts.contains(id)) {
      says_.shifts[id] =
          AddMessage(texts_, fmt::format("{}: `{}` shifts by {{}} places, outside of 0..64", name_,
                                         Print(module_, id)));
    }
  }

  const RaisedKernel& kernel_;
  const Module& module_;
  RaisedDevice& raised_;
  BodyMessages& says_;
  MessageTexts& texts_;
  std::string name_;   // `@f, task [{}, {}]`
  size_t values_ = 0;  // in it
};

class SignalWorder {
 public:
  SignalWorder(const Module& module, MessageTexts& texts) : module_(module), texts_(texts) {}

  /// Where tensors say at which elements tasks arrive.
  void Word(std::vector<RaisedArrival>& arrivals) {
    for (RaisedArrival& arrival : arrivals) {
      const Event& trigger = module_.events[arrival.ref.event];
      for (size_t i = 0; i < arrival.ref.indices.size(); ++i) {
        arrival.says.push_back(AddMessage(
            texts_,
            fmt::format("index {} of trigger %{} is {{}}, outside of 0..{{}}", i, trigger.name)));
      }
    }
  }

  void Word(std::vector<RaisedSignal>& signals, bool waits) {
    for (RaisedSignal& signal : signals) {
      if (!signal.checked) {
        continue;
      }
      const Event& event = module_.events[signal.ref.event];
      const char* where = "";
      if (signal.ref.peer) {
        where = " at rank {}";
        signal.says.peer = AddMessage(
            texts_, fmt::format("the rank of event %{} is {{}}, outside of 0..{{}}", event.name));
      }
      for (size_t i = 0; i < signal.ref.indices.size(); ++i) {
        signal.says.indices.push_back(
            AddMessage(texts_, fmt::format("index {} of event %{}{} is {{}}, outside of 0..{{}}", i,
                                           event.name, where)));
      }
      if (waits) {
        signal.says.count = AddMessage(
            texts_,
            fmt::format("event %{} counts {{}} notifies, outside of {{}}..{{}}", event.name));
      }
    }
  }

 private:
  const Module& module_;
  MessageTexts& texts_;
};

}  // namespace

void WordChecks(RaisedModule& raised) {
  const Module& module = raised.module;
  MessageTexts& texts = raised.check_texts;
  for (RaisedKernel& kernel : raised.kernels) {
    for (RaisedDevice& device : kernel.devices) {
      if (kernel.kernel.check_accesses && device.impl == nullptr) {
        BodyWorder(kernel, device, texts).Run();
      }
    }
    for (const Check& check : kernel.kernel.checks) {
      kernel.checks.push_back({check, WordCheck(module, check, "parameter ", texts)});
    }
    SignalWorder signals(module, texts);
    for (auto& [id, share] : kernel.shares) {
      std::string before = "@" + kernel.devices[share.device].device.name + ": ";
      auto word = [&](const std::vector<Check>& checks, std::vector<RaisedCheck>& to) {
        for (const Check& check : checks) {
          to.push_back({check, WordCheck(module, check, before, texts)});
        }
      };
      signals.Word(share.after_waits, true);
      if (kernel.kernel.check_accesses) {
        signals.Word(share.after_arrivals);
      }
      signals.Word(share.range_waits, true);
      word(share.share.range_checks, share.range_checks);
      signals.Word(share.enter_waits, true);
      word(share.share.enter_checks, share.enter_checks);
      signals.Word(share.waits, true);
      word(share.share.task_checks, share.task_checks);
      signals.Word(share.notifies, false);
      signals.Word(share.leave_notifies, false);
    }
  }
}

}  // namespace etc
