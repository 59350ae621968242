#include "schedule/computed_tables.h"

#include "ir/walk.h"

namespace etc {
namespace {

void Add(const Module& module, const TaskExpr& expr, std::set<TensorId>& tables) {
  if (expr.kind == TaskExpr::Kind::Element &&
      module.tensors[expr.tensor].kind != TensorKind::Param) {
    tables.insert(expr.tensor);
  }
  for (const TaskExpr& arg : expr.args) {
    Add(module, arg, tables);
  }
}

}  // namespace

std::set<TensorId> ComputedTablesIn(const Module& module, const Needs& needs) {
  std::set<TensorId> tables;
  for (const std::vector<Need>* all : {&needs.iterations, &needs.coordinates}) {
    for (const Need& need : *all) {
      Add(module, need.lo, tables);
      Add(module, need.last, tables);
      if (need.chunk) {
        Add(module, *need.chunk, tables);
      }
    }
  }
  if (needs.guard) {
    Add(module, *needs.guard, tables);
  }
  return tables;
}

std::set<TensorId> ComputedTablesIn(const Module& module,
                                    const std::vector<std::optional<TaskKey>>& keys) {
  std::set<TensorId> tables;
  for (const std::optional<TaskKey>& key : keys) {
    if (key) {
      Add(module, key->value, tables);
    }
  }
  return tables;
}

const ProgramCall* WriterOfTable(const Module& module, const CallProgram& program, TensorId table,
                                 size_t reader) {
  const ProgramCall* writer = nullptr;
  for (const ProgramCall& call : program.calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      if (call.args[a].tensor == table &&
          module.tensors[call.device->params[a]].access != Access::In) {
        writer = &call;
      }
    }
  }
  bool before = writer != nullptr && writer->index < reader &&
                CommonRepeats(*writer, program.calls[reader]) == writer->repeats.size();
  return before && !ReadsTensor(module, writer->axes) ? writer : nullptr;
}

}  // namespace etc
