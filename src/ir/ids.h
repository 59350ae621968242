// Typed indices into the tables that a Module owns.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etc {

template <class Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t value = kNone;

  explicit operator bool() const { return value != kNone; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

using ExprId = Id<struct ExprTag>;
using SymbolId = Id<struct SymbolTag>;
using TensorId = Id<struct TensorTag>;
using EventId = Id<struct EventTag>;
using StmtId = Id<struct StmtTag>;
using NodeId = Id<struct NodeTag>;
using DeviceId = Id<struct DeviceTag>;
using GraphId = Id<struct GraphTag>;
using KernelId = Id<struct KernelTag>;
using FunctionId = Id<struct FunctionTag>;
using ImportId = Id<struct ImportTag>;
using ConfigMemberId = Id<struct ConfigMemberTag>;

/// A vector that only its own kind of id can index.
template <class I, class T>
class Table {
 public:
  I Add(T value) {
    items_.push_back(std::move(value));
    return I{static_cast<uint32_t>(items_.size() - 1)};
  }
  T& operator[](I id) { return items_[id.value]; }
  const T& operator[](I id) const { return items_[id.value]; }
  size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<I> Ids() const {
    std::vector<I> ids;
    for (uint32_t i = 0; i < items_.size(); ++i) {
      ids.push_back(I{i});
    }
    return ids;
  }

 private:
  std::vector<T> items_;
};

}  // namespace etc
