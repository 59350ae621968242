#include "analysis/proofs/count_forms.h"

#include <algorithm>

#include "analysis/control_reads.h"
#include "ir/rewrite.h"

namespace etc {
namespace {

class CountForms {
 public:
  CountForms(Unknowns& unknowns, const EventRelations& relations)
      : unknowns_(unknowns), module_(unknowns.module()), relations_(relations) {}

  /// Whether the event counts the tasks of the one call that notifies it, and all of them notify
  /// each element that is used, in one iteration of each repeat.
  bool CountsTheNotifier(EventId id, const Set& used) {
    const EdgeRelation* only = OnlyNotify(id);
    if (only == nullptr || !only->certain || !only->variables.empty() || only->edge->ref->guard ||
        Mentions(module_, *only->edge->ref, only->edge->coords)) {
      return false;
    }
    Set known = WithoutData(unknowns_, only->set);
    TaskScope task(unknowns_, unknowns_.program().calls[only->call], 1);
    Converter element = OfElement(unknowns_, module_.events[id]);
    auto same_index = [&](ExprId of_sum, ExprId of_call) {
      return IsSubset(known, Eq(element.Int(of_sum), task.converter.Int(of_call)));
    };
    if (!CountsTasks(unknowns_, module_.events[id].count, unknowns_.program().calls[only->call],
                     same_index)) {
      return false;
    }
    std::vector<std::string> iterations = IterationNames(unknowns_.program().calls[only->call], 1);
    return std::all_of(iterations.begin(), iterations.end(),
                       [&](const std::string& name) {
                         return bool{Decided(unknowns_, *only, known, name)};
                       }) &&
           IsSubset(WithoutData(unknowns_, used), ProjectOut(known, VariablesOf(unknowns_, *only)));
  }

  /// Whether an element counts how often its last index is in a slice of a tensor, and what
  /// notifies the event is one notify for each element of that slice, by its value, in an iteration
  /// that the indices before decide.
  bool CountsTheChoices(EventId id, const Set& used) {
    const EdgeRelation* only = OnlyNotify(id);
    return only != nullptr && AreTheChoices(id, *only, module_.events[id].count, used);
  }

  /// A notify of the event and a summand of its count that is right for it in this form.
  std::optional<CountedNotify> ChoicesAmongOthers(EventId id, const Set& used) {
    for (ExprId summand : SummandsOf(module_, module_.events[id].count)) {
      for (const EdgeRelation& notify : relations_.notifies) {
        if (notify.edge->ref->event == id && AreTheChoices(id, notify, summand, used)) {
          return CountedNotify{&notify, summand};
        }
      }
    }
    return std::nullopt;
  }

 private:
  bool AreTheChoices(EventId id, const EdgeRelation& notify, ExprId counted, const Set& used) {
    const Event& event = module_.events[id];
    const auto* count = std::get_if<Load>(&module_.exprs[counted]);
    if (count == nullptr || count->indices.empty() || event.dims.empty() ||
        notify.edge->ref->guard) {
      return false;
    }
    const auto* own = std::get_if<SymbolRef>(&module_.exprs[count->indices.back()]);
    const EventIndex& index = notify.edge->ref->indices.back();
    const auto* choice =
        index.all || index.hi ? nullptr : std::get_if<Load>(&module_.exprs[index.lo]);
    if (own == nullptr || own->symbol != event.dims.back().var || choice == nullptr) {
      return false;
    }
    Converter element = OfElement(unknowns_, event);
    std::vector<PwAff> counter;
    for (ExprId each : count->indices) {
      counter.push_back(element.Int(each));
    }
    auto slice = CountedSlice(unknowns_, count->tensor, counter, choice->tensor);
    return slice && IsOneIteration(notify, used) && IsEachElement(notify, *choice, *slice);
  }

  /// Whether all notifies of an element are in one iteration of each repeat, and each that is used
  /// has such an iteration, by its indices but the last.
  bool IsOneIteration(const EdgeRelation& notify, const Set& used) const {
    const ProgramCall& call = unknowns_.program().calls[notify.call];
    std::vector<std::string> last{ElementName(notify.edge->ref->indices.size() - 1)};
    Set known = ProjectOut(WithoutData(unknowns_, notify.set), last);
    std::vector<std::string> iterations = IterationNames(call, 1);
    return std::all_of(iterations.begin(), iterations.end(),
                       [&](const std::string& name) {
                         return bool{Decided(unknowns_, notify, known, name)};
                       }) &&
           IsSubset(ProjectOut(WithoutData(unknowns_, used), last),
                    ProjectOut(known, VariablesOf(unknowns_, notify)));
  }

  /// Whether the variables of the notify are the last indices of the element, each over its extent,
  /// and those before are these; only the last index of the event depends on them.
  bool IsEachElement(const EdgeRelation& notify, const Load& element,
                     const std::vector<PwAff>& slice) {
    const ProgramCall& call = unknowns_.program().calls[notify.call];
    std::vector<SymbolId> variables = notify.edge->coords;
    for (const Axis& axis : notify.edge->ref->axes) {
      variables.push_back(axis.var);
    }
    std::vector<EventIndex> before = notify.edge->ref->indices;
    before.pop_back();
    for (const EventIndex& index : before) {
      if (index.all || index.hi || Mentions(module_, index.lo, variables)) {
        return false;
      }
    }
    std::vector<std::string> names = VariablesOf(unknowns_, notify);
    names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(call.repeats.size()));
    Converter converter(unknowns_);
    Set all = unknowns_.sizes() & BindIterations(converter, call, 1);
    Set known = WithoutData(unknowns_, notify.set);
    for (size_t i = 0; i < element.indices.size(); ++i) {
      if (i < slice.size()) {
        if (Mentions(module_, element.indices[i], variables) ||
            !IsSubset(known, Eq(converter.Int(element.indices[i]), slice[i]))) {
          return false;
        }
        continue;
      }
      const auto* ref = std::get_if<SymbolRef>(&module_.exprs[element.indices[i]]);
      auto found = ref == nullptr ? variables.end()
                                  : std::find(variables.begin(), variables.end(), ref->symbol);
      if (found == variables.end()) {
        return false;
      }
      PwAff variable = unknowns_.Param(names[static_cast<size_t>(found - variables.begin())]);
      PwAff extent = converter.Int(module_.tensors[element.tensor].shape[i]);
      all = all & Le(unknowns_.Constant(0), variable) & Lt(variable, extent);
      *found = SymbolId{};
    }
    bool used = std::all_of(variables.begin(), variables.end(), [](SymbolId id) { return !id; });
    Set domain = WithoutData(unknowns_, notify.scope);
    return used && notify.exists && IsSubset(all, domain) && IsSubset(domain, all);
  }

  /// The one notify of an event, or null.
  const EdgeRelation* OnlyNotify(EventId id) const {
    const EdgeRelation* only = nullptr;
    for (const EdgeRelation& notify : relations_.notifies) {
      if (notify.edge->ref->event == id) {
        if (only != nullptr) {
          return nullptr;
        }
        only = &notify;
      }
    }
    return only;
  }

  Unknowns& unknowns_;
  const Module& module_;
  const EventRelations& relations_;
};

}  // namespace

Converter OfElement(Unknowns& unknowns, const Event& event) {
  Converter converter(unknowns);
  for (size_t i = 0; i < event.dims.size(); ++i) {
    PwAff index = unknowns.Param(ElementName(i));
    unknowns.SetFacts(ElementName(i), Le(unknowns.Constant(0), index) &
                                          Lt(index, converter.Int(event.dims[i].extent)));
    if (event.dims[i].var) {
      converter.Bind(event.dims[i].var, index);
    }
  }
  return converter;
}

std::vector<std::string> VariablesOf(const Unknowns& unknowns, const EdgeRelation& edge) {
  std::vector<std::string> names = TaskNames(unknowns.program().calls[edge.call], 1);
  names.insert(names.end(), edge.variables.begin(), edge.variables.end());
  return names;
}

Set WithoutData(const Unknowns& unknowns, const Set& set) {
  std::vector<std::string> terms;
  for (const Term* term : unknowns.TermsIn(set)) {
    if (!term->global) {
      terms.push_back(term->name);
    }
  }
  return ProjectOut(set, terms);
}

PwAff Decided(const Unknowns& unknowns, const EdgeRelation& notify, const Set& known,
              const std::string& name) {
  std::vector<std::string> others = VariablesOf(unknowns, notify);
  std::erase(others, name);
  Set line(isl_set_from_params(ProjectOut(known, others).copy()));
  int position = isl_set_find_dim_by_name(line.get(), isl_dim_param, name.c_str());
  if (position < 0) {
    return {};
  }
  line = Set(isl_set_move_dims(line.copy(), isl_dim_set, 0, isl_dim_param,
                               static_cast<unsigned>(position), 1));
  PwAff first(isl_set_dim_min(line.copy(), 0));
  PwAff last(isl_set_dim_max(line.copy(), 0));
  return first && last && IsEmpty(Ne(first, last)) ? first : PwAff();
}

std::vector<ExprId> SummandsOf(const Module& module, ExprId sum) {
  const auto* binary = std::get_if<Binary>(&module.exprs[sum]);
  if (binary == nullptr || binary->op != BinaryOp::Add) {
    return {sum};
  }
  std::vector<ExprId> summands = SummandsOf(module, binary->left);
  std::vector<ExprId> others = SummandsOf(module, binary->right);
  summands.insert(summands.end(), others.begin(), others.end());
  return summands;
}

std::optional<CountedNotify> CountedByForm(Unknowns& unknowns, const EventRelations& relations,
                                           EventId event, const Set& used) {
  return CountForms(unknowns, relations).ChoicesAmongOthers(event, used);
}

bool CountsByForm(Unknowns& unknowns, const EventRelations& relations, EventId event,
                  const Set& used) {
  CountForms forms(unknowns, relations);
  return forms.CountsTheNotifier(event, used) || forms.CountsTheChoices(event, used);
}

}  // namespace etc
