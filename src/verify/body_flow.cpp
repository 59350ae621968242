// That a body reads nothing that it has not written, and writes what it may and must.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "ir/body_visitor.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "verify/checks.h"
#include "verify/wording.h"

namespace etc {
namespace {

class BodyFlow : BodyVisitor {
 public:
  BodyFlow(const Module& module, const Device& device, Diagnostics& diagnostics)
      : BodyVisitor(module), module_(module), device_(device), diagnostics_(diagnostics) {}

  void Run() {
    VisitBlock(device_.body);
    for (TensorId param : device_.params) {
      const Tensor& tensor = module_.tensors[param];
      if (tensor.access == Access::Out && !written_.contains(param)) {
        diagnostics_.Error(
            DiagnosticKind::Access, tensor.range,
            fmt::format("`%{}` is an `out` parameter, but the body never writes it", tensor.name));
      }
    }
  }

 private:
  void Within(const Inside& inside) {
    bool guarded = guarded_;
    inside();
    guarded_ = guarded;
  }

  void AroundLoop(StmtId, const For& loop, const Inside& inside) override {
    Within([&] { loop.sequential ? Scan(loop, inside) : inside(); });
  }
  void AroundRanks(StmtId, const TopK&, const Inside& inside) override { Within(inside); }
  void AroundElements(const TopK&, const Inside& inside) override { Within(inside); }
  void AroundReduction(const Reduce&, const Inside& inside) override { Within(inside); }

  /// An iteration may read what one before it has written further down in the text: where the read
  /// has a condition, or a range that may be empty in the first iteration.
  void Scan(const For& scan, const Inside& inside) {
    size_t around = std::exchange(scanned_around_, scanned_.size());
    std::set<TensorId> carried = carried_;
    CollectWritten(scan.body);
    guarded_ = guarded_ && !scanned_.empty();
    inside();
    carried_ = std::move(carried);
    scanned_.resize(scanned_around_);
    scanned_around_ = around;
  }

  void CollectWritten(const std::vector<StmtId>& body) {
    for (StmtId id : body) {
      VisitStored(module_.stmts[id], [&](TensorId tensor) { carried_.insert(tensor); });
      VisitBlocks(module_.stmts[id],
                  [&](const std::vector<StmtId>& inside) { CollectWritten(inside); });
    }
  }

  /// A range that a scan around it changes may be empty. The variables of one scan change together.
  void OnVariable(const Axis& axis, AxisOf of) override {
    std::vector<SymbolId> scanned = scanned_;
    if (of == AxisOf::Scan) {
      scanned.resize(scanned_around_);
      scanned_.push_back(axis.var);
    }
    guarded_ |= Mentions(module_, std::vector{axis}, scanned);
  }

  void AroundIf(StmtId, const If&, const Inside& inside) override {
    Branches branches{written_, {}};
    Branches* around = std::exchange(branches_, &branches);
    Within([&] {
      guarded_ = true;
      inside();
    });
    branches_ = around;
    written_ = std::move(branches.behind);
  }

  void AroundSide(const BodySide& side, const Inside& inside) override {
    if (side.of_statement) {
      written_ = branches_->before;  // a branch sees nothing of the other one
      inside();
      branches_->behind.merge(written_);
      return;
    }
    Within([&] {
      guarded_ = true;
      inside();
    });
  }

  void OnElement(const BodyElement& element) override {
    if (element.IsWrite()) {
      Written(element.tensor, element.range);
    } else {
      Read(element.tensor, element.range);
    }
  }

  void Read(TensorId id, SourceRange range) {
    const Tensor& tensor = module_.tensors[id];
    bool undefined = tensor.kind == TensorKind::Local ||
                     (tensor.kind == TensorKind::Param && tensor.access == Access::Out);
    bool carried = carried_.contains(id) && guarded_;
    if (undefined && !carried && !written_.contains(id)) {
      diagnostics_.Error(DiagnosticKind::Access, range,
                         fmt::format("`%{}` is {}, and it is read before anything is written to it",
                                     tensor.name, Describe(tensor)));
    }
  }

  void Written(TensorId id, SourceRange range) {
    const Tensor& tensor = module_.tensors[id];
    written_.insert(id);
    if (tensor.kind == TensorKind::Param && tensor.access == Access::In) {
      diagnostics_
          .Error(DiagnosticKind::Access, range,
                 fmt::format("`%{}` is an `in` parameter, but the body writes it", tensor.name))
          .notes.push_back({tensor.range, "declare it `out` or `inout` to write it"});
    }
  }

  /// What is written when an `if` begins, and behind it by one side or the other.
  struct Branches {
    std::set<TensorId> before;
    std::set<TensorId> behind;
  };

  const Module& module_;
  const Device& device_;
  Diagnostics& diagnostics_;
  std::set<TensorId> written_;
  Branches* branches_ = nullptr;   // of the innermost `if`
  std::set<TensorId> carried_;     // what the scans around write somewhere
  std::vector<SymbolId> scanned_;  // the variables of the scans around
  size_t scanned_around_ = 0;      // how many of them are not of the innermost scan
  bool guarded_ = false;           // what is here may not happen in a scan's first iteration
};

}  // namespace

void CheckBodyFlow(const Module& module, const Device& device, Diagnostics& diagnostics) {
  BodyFlow(module, device, diagnostics).Run();
}

}  // namespace etc
