#include "analysis/sets/task_scope.h"

#include <fmt/format.h>

#include <algorithm>

namespace etc {

std::string IterationName(size_t repeat, int instance) {
  return fmt::format("l{}@{}", repeat, instance);
}

std::vector<std::string> IterationNames(const ProgramCall& call, int instance) {
  std::vector<std::string> names;
  for (size_t i = 0; i < call.repeats.size(); ++i) {
    names.push_back(IterationName(i, instance));
  }
  return names;
}

std::string CoordinateName(size_t axis, int instance) {
  return fmt::format("t{}@{}", axis, instance);
}

std::string ScopeName(const ProgramCall& call, int instance) {
  return fmt::format("{}@{}", call.index, instance);
}

std::vector<std::string> TaskNames(const ProgramCall& call, int instance) {
  std::vector<std::string> names = IterationNames(call, instance);
  for (size_t i = 0; i < call.axes.size(); ++i) {
    names.push_back(CoordinateName(i, instance));
  }
  return names;
}

std::string ElementName(size_t axis) { return fmt::format("e{}", axis); }

std::vector<std::string> ElementNames(size_t rank) {
  std::vector<std::string> names;
  for (size_t i = 0; i < rank; ++i) {
    names.push_back(ElementName(i));
  }
  return names;
}

PwAff FirstIteration(Unknowns& unknowns, const EnclosingRepeat& repeat) {
  return repeat.fixed ? unknowns.Constant(repeat.iterations.lo)
                      : Converter(unknowns).Int(repeat.lo);
}

PwAff LastIteration(Unknowns& unknowns, const EnclosingRepeat& repeat) {
  return repeat.fixed ? unknowns.Constant(repeat.iterations.hi)
                      : Converter(unknowns).Int(repeat.hi) - unknowns.Constant(1);
}

Set BindIterations(Converter& converter, const ProgramCall& call, int instance) {
  Unknowns& unknowns = converter.unknowns();
  Set iterations = unknowns.All();
  for (size_t i = 0; i < call.repeats.size(); ++i) {
    const EnclosingRepeat& repeat = call.repeats[i];
    PwAff iteration = unknowns.Param(IterationName(i, instance));
    Set range = Le(FirstIteration(unknowns, repeat), iteration) &
                Le(iteration, LastIteration(unknowns, repeat));
    unknowns.SetFacts(IterationName(i, instance), range);
    iterations = iterations & range;
    converter.Bind(repeat.var, iteration);
  }
  return iterations;
}

Set InOneIteration(const Unknowns& unknowns, size_t repeats) {
  Set set = unknowns.All();
  for (size_t i = 0; i < repeats; ++i) {
    set = set & Eq(unknowns.Param(IterationName(i, 1)), unknowns.Param(IterationName(i, 2)));
  }
  return set;
}

Set InLaterIteration(const Unknowns& unknowns, size_t repeats) {
  return InOneIteration(unknowns, repeats) &
         Lt(unknowns.Param(IterationName(repeats, 1)), unknowns.Param(IterationName(repeats, 2)));
}

Set ProjectOut(Set set, const std::vector<std::string>& names) {
  // Each run of neighbours at once.
  std::vector<unsigned> positions;
  for (const std::string& name : names) {
    int position = isl_set_find_dim_by_name(set.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      positions.push_back(static_cast<unsigned>(position));
    }
  }
  std::sort(positions.rbegin(), positions.rend());
  for (size_t i = 0; i < positions.size();) {
    unsigned count = 1;
    while (i + count < positions.size() && positions[i + count] + count == positions[i]) {
      ++count;
    }
    i += count;
    set = Set(isl_set_project_out(set.copy(), isl_dim_param, positions[i - 1], count));
  }
  return set;
}

Set OverSizes(const Unknowns& unknowns, const Set& set, const std::vector<std::string>& names) {
  std::vector<std::string> others;
  for (const std::string& name : unknowns.Involved(set)) {
    const Term* term = unknowns.Find(name);
    bool kept = unknowns.IsDim(name) || (term != nullptr && term->global) ||
                std::find(names.begin(), names.end(), name) != names.end();
    if (!kept) {
      others.push_back(name);
    }
  }
  return Coalesce(ProjectOut(set, others));
}

bool OnData(const Unknowns& unknowns, const Set& set) {
  std::vector<const Term*> terms = unknowns.TermsIn(set);
  return std::any_of(terms.begin(), terms.end(), [](const Term* term) { return !term->global; });
}

Set AxisRange(Converter& converter, const Axis& axis, const PwAff& variable) {
  PwAff lo = axis.lo ? converter.Int(axis.lo) : converter.unknowns().Constant(0);
  return Le(lo, variable) & Lt(variable, converter.Int(axis.hi));
}

ElementRange::ElementRange(Converter& converter, const EventIndex& index, const EventDim& dim)
    : extent(converter.Int(dim.extent)),
      lo(index.all ? converter.unknowns().Constant(0) : converter.Int(index.lo)),
      hi(index.all  ? extent
         : index.hi ? converter.Int(index.hi)
                    : lo + converter.unknowns().Constant(1)) {}

TaskScope TaskScope::Enter(Unknowns& unknowns, const ProgramCall& call, int instance) {
  unknowns.SetScope(ScopeName(call, instance));
  std::shared_ptr<const TaskScope>& known = unknowns.task_scopes()[{call.index, instance}];
  if (!known) {
    TaskScope made(unknowns);
    made.Make(call, instance);
    if (!made.domain) {
      return made;  // the budget is spent, and another one may do
    }
    known = std::make_shared<const TaskScope>(std::move(made));
  }
  for (const auto& [name, facts] : known->facts_) {
    unknowns.SetFacts(name, facts);
  }
  return *known;
}

void TaskScope::Make(const ProgramCall& call, int instance) {
  Unknowns& unknowns = converter.unknowns();
  domain = BindIterations(converter, call, instance);
  for (size_t i = 0; i < call.scalars.size(); ++i) {
    SymbolId scalar = call.device->scalars[i];
    if (unknowns.module().symbols[scalar].type == ValueKind::Int) {
      converter.Bind(scalar, converter.Int(call.scalars[i]));
    } else {
      converter.BindLet(scalar, call.scalars[i]);
    }
  }
  for (size_t a = 0; a < call.args.size(); ++a) {
    std::vector<PwAff> slice;
    for (ExprId index : call.args[a].indices) {
      slice.push_back(converter.Int(index));
    }
    TensorId param = call.device->params[a];
    converter.BindTensor(param, call.args[a].tensor, std::move(slice));
    if (unknowns.module().tensors[param].access != Access::In) {
      converter.AddWritten(call.args[a].tensor);
    }
  }
  for (size_t i = 0; i < call.axes.size(); ++i) {
    std::string name = CoordinateName(i, instance);
    PwAff variable = unknowns.Param(name);
    Set range = AxisRange(converter, call.axes[i], variable);
    unknowns.SetFacts(name, range);
    outer.push_back(domain);
    domain = domain & range;
    converter.Bind(call.axes[i].var, variable);
    converter.Bind(call.task_symbols[i], variable);
  }
  domain = Coalesce(unknowns.Close(domain));
  exact = !OnData(unknowns, domain);
  for (std::string& name : TaskNames(call, instance)) {
    Set facts = unknowns.FactsAbout(name);
    facts_.emplace_back(std::move(name), std::move(facts));
  }
}

}  // namespace etc
