#include "analysis/proofs/access_places.h"

#include <set>

#include "ir/body_visitor.h"

namespace etc {
namespace {

class Places : BodyVisitor {
 public:
  Places(const Module& module, const ProgramCall& call, TensorId tensor, bool write)
      : BodyVisitor(module), write_(write) {
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.args[i].tensor == tensor) {
        names_.insert(call.device->params[i]);
      }
    }
    VisitBlock(call.device->body);
  }

  std::vector<SourceRange> all;

 private:
  void OnElement(const BodyElement& element) override {
    if (element.IsWrite() == write_ && names_.contains(element.tensor)) {
      all.push_back(element.range);
    }
  }

  const bool write_;
  std::set<TensorId> names_;  // as the body has them
};

}  // namespace

std::vector<SourceRange> AccessPlaces(const Module& module, const ProgramCall& call,
                                      TensorId tensor, bool write) {
  return Places(module, call, tensor, write).all;
}

}  // namespace etc
