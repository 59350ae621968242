// Whether what a loader copies ahead of every wait may be written in the launch.
#pragma once

#include <set>
#include <vector>

#include "analysis/element_accesses.h"
#include "ir/module.h"

namespace etc {

/// A call or a share, as the one that preloads or the one that writes.
struct PreloadSite {
  NodeId node;
  DeviceId callee;
  const std::vector<Argument>* args;
  SourceRange range;
};

/// Null where `param` is no parameter of the device function.
const Argument* ArgumentOf(const Module& module, const PreloadSite& site, TensorId param);

/// Whether a read and a write of one tensor are proved to be of different elements, whichever tasks
/// of the two calls they are of. Nothing in the launch writes the tensors `constant`.
///
/// The proof is by contradiction: from the assumption that a read and a write have the same indices
/// follow further equalities, until a variable of the read equals what it is below.
bool AreApart(const Module& module, const PreloadSite& reader, const ElementAccess& read,
              const PreloadSite& writer, const ElementAccess& write,
              const std::set<TensorId>& constant);

}  // namespace etc
