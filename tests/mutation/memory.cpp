#include "memory.h"

#include <algorithm>

#include "analysis/ranks.h"
#include "ir/types.h"

namespace etc::mutation {
namespace {

/// Far more than the small sizes need: beyond it a program is not judged.
constexpr int64_t kMaxCells = 4'000'000;
/// Of the widest element.
constexpr size_t kMaxUnit = 8;

}  // namespace

Memory::Memory(const Module& module, Interpreter& interpreter)
    : module_(module), interpreter_(interpreter) {}

const Memory::Place* Memory::Find(TensorId id) {
  auto found = places_.find(id);
  if (found != places_.end()) {
    return &found->second;
  }
  const Tensor& tensor = module_.tensors[id];
  Place place{names_.size(), interpreter_.Shape(tensor), 1};
  int64_t size = 1;
  for (int64_t extent : place.shape) {
    size *= std::max<int64_t>(extent, 0);
  }
  if (tensor.offset) {
    Value offset = interpreter_.Eval(tensor.offset);
    place.unit = BytesPerElement(tensor);
    Workspace* workspace = offset && *offset >= 0 ? &WorkspaceAt(*offset) : nullptr;
    const int64_t begin = offset ? *offset - (workspace == &symmetric_ ? kBehindWorkspaces : 0) : 0;
    if (workspace == nullptr || !Grow(*workspace, begin + size * place.unit)) {
      return nullptr;
    }
    place.base = workspace->first + static_cast<size_t>(begin);
  } else if (!Grow(size, tensor.name,
                   tensor.kind == TensorKind::Param && tensor.access != Access::Out)) {
    return nullptr;
  }
  return &places_.emplace(id, std::move(place)).first->second;
}

bool Memory::Grow(int64_t size, const std::string& name, bool given) {
  size_t total = names_.size() + static_cast<size_t>(size);
  if (size < 0 || total > static_cast<size_t>(kMaxCells)) {
    return false;
  }
  names_.resize(total, name);
  given_.resize(total, given);
  return true;
}

/// The symmetric memory of all ranks lies behind their workspaces.
Memory::Workspace& Memory::WorkspaceAt(int64_t offset) {
  return offset >= kBehindWorkspaces ? symmetric_ : workspace_;
}

/// The workspace of a kernel is sized once, for all of its buffers.
bool Memory::Grow(Workspace& workspace, int64_t least) {
  if (workspace.size) {
    return least <= *workspace.size;
  }
  int64_t size = least;
  for (const Tensor& tensor : module_.tensors) {
    Value offset = tensor.offset ? interpreter_.Eval(tensor.offset) : std::nullopt;
    if (!offset || &WorkspaceAt(*offset) != &workspace) {
      continue;
    }
    int64_t bytes = BytesPerElement(tensor);
    for (int64_t extent : interpreter_.Shape(tensor)) {
      bytes *= extent;
    }
    const int64_t begin = *offset - (&workspace == &symmetric_ ? kBehindWorkspaces : 0);
    size = std::max(size, begin + bytes);
  }
  workspace.first = names_.size();
  workspace.size = size;
  return Grow(size, "workspace", false);
}

std::optional<Value> Memory::Get(Cells cells) const {
  auto found = stored_.find(cells.first);
  if (found == stored_.end() || found->second.count != cells.count) {
    return std::nullopt;
  }
  return std::optional<Value>(std::in_place, found->second.value);
}

void Memory::Set(TensorId tensor, Cells cells, bool integer, Value value) {
  size_t end = cells.first + static_cast<size_t>(cells.count);
  auto at = stored_.lower_bound(cells.first - std::min(cells.first, kMaxUnit));
  while (at != stored_.end() && at->first < end) {
    bool meets = at->first + static_cast<size_t>(at->second.count) > cells.first;
    at = meets ? stored_.erase(at) : std::next(at);
  }
  if (integer) {
    stored_[cells.first] = {cells.count, value};
  }
  for (size_t cell = cells.first; cell < end; ++cell) {
    TensorId& holder = holders_[cell];
    if (holder && holder != tensor) {
      overwritten_.emplace(holder, cell);
    }
    overwritten_.erase({tensor, cell});
    holder = tensor;
  }
}

bool Memory::IsOverwritten(TensorId tensor, Cells cells) const {
  auto first = overwritten_.lower_bound({tensor, cells.first});
  return first != overwritten_.end() && first->first == tensor &&
         first->second < cells.first + static_cast<size_t>(cells.count);
}

}  // namespace etc::mutation
