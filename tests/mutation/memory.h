// The memory of a launch: cells, and the integers that they hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interpreter.h"
#include "ir/module.h"

namespace etc::mutation {

class Memory {
 public:
  /// The elements of a parameter or a buffer are cells that follow each other; a workspace's cells
  /// are its bytes.
  struct Place {
    size_t base;
    std::vector<int64_t> shape;
    int64_t unit = 1;  // cells of an element
  };
  struct Cells {
    size_t first;
    int64_t count;
  };

  Memory(const Module& module, Interpreter& interpreter);

  /// Null where the tensor is too large to be judged.
  const Place* Find(TensorId tensor);

  /// An integer that was stored in exactly these cells: nothing where its value is not known.
  /// Absent where nothing was, or where a part was stored over.
  std::optional<Value> Get(Cells cells) const;
  /// Stores an element of `tensor`.
  void Set(TensorId tensor, Cells cells, bool integer, Value value);
  /// Whether the tensor was stored there, and another one over it since.
  bool IsOverwritten(TensorId tensor, Cells cells) const;

  std::vector<std::string> TakeNames() { return std::move(names_); }
  std::vector<bool> TakeGiven() { return std::move(given_); }

 private:
  struct Workspace {
    size_t first = 0;             // cell
    std::optional<int64_t> size;  // absent before it is needed
  };

  bool Grow(int64_t size, const std::string& name, bool given);
  bool Grow(Workspace& workspace, int64_t least);
  Workspace& WorkspaceAt(int64_t offset);

  struct Stored {
    int64_t count;
    Value value;
  };

  const Module& module_;
  Interpreter& interpreter_;
  std::map<TensorId, Place> places_;
  std::vector<std::string> names_;  // by cell: what it belongs to
  std::vector<bool> given_;         // holds something when the launch starts
  std::map<size_t, Stored> stored_;
  std::map<size_t, TensorId> holders_;  // by cell: the tensor that was stored last
  std::set<std::pair<TensorId, size_t>> overwritten_;
  Workspace workspace_, symmetric_;
};

}  // namespace etc::mutation
