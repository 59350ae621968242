// An event counts as many notifies as each of its elements gets. How many tasks notify an element
// is, for each notify, a product of the extents of those coordinates that the element leaves open.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/proofs/count_forms.h"
#include "analysis/proofs/permutations.h"
#include "analysis/proofs/prover.h"

namespace etc {
namespace {

/// The elements of an event that some task waits for or notifies.
Set UsedElements(const Unknowns& unknowns, const EventRelations& relations, EventId id) {
  Set used = unknowns.All() - unknowns.All();
  for (const auto* group : {&relations.waits, &relations.notifies}) {
    for (const EdgeRelation& edge : *group) {
      if (edge.edge->ref->event != id) {
        continue;
      }
      used = used | ProjectOut(edge.set, VariablesOf(unknowns, edge));
    }
  }
  return Coalesce(used);
}

class CountProof {
 public:
  CountProof(Prover& prover, const EventRelations& relations)
      : prover_(prover),
        unknowns_(prover.unknowns),
        module_(prover.unknowns.module()),
        relations_(relations) {}

  bool Run(EventId id) {
    prover_.context.SetBudget();
    const Event& event = module_.events[id];
    reason_.reset();
    decided_.clear();
    elements_ = event.dims.size();
    Set used = UsedElements(unknowns_, relations_, id);
    if (CountsByForm(unknowns_, relations_, id, used)) {
      ++prover_.report.counts.proved;
      return true;
    }
    std::optional<CountedNotify> apart = CountedByForm(unknowns_, relations_, id, used);
    used = apart ? WithoutData(unknowns_, used) : used;
    PwAff total = unknowns_.Constant(0);
    total = PwAff(isl_pw_aff_intersect_domain(total.copy(), used.copy()));
    const PwAff none = total;
    lengths_.clear();
    bool affine = true;
    for (const EdgeRelation& notify : relations_.notifies) {
      bool rest = !apart || apart->notify != &notify;
      if (notify.edge->ref->event == id && rest && !reason_) {
        affine = AddNotifies(InPlainCoordinates(unknowns_, notify), total) && affine;
      }
    }
    Converter converter = OfElement(unknowns_, event);
    std::vector<ExprId> summands{event.count};
    if (apart) {  // the others are counted by the rest
      summands = SummandsOf(module_, event.count);
      std::erase(summands, apart->summand);
    }
    PwAff count = summands.empty() ? unknowns_.Constant(0) : converter.Int(summands.front());
    for (size_t i = 1; i < summands.size(); ++i) {
      count = count + converter.Int(summands[i]);
    }
    Set differs = affine ? Coalesce(WithDecided(used & Ne(total, count))) : Set();
    // A product in the count may be affine where it is used.
    bool right = affine && IsEmpty(differs);
    bool same = right || (!apart && IsZero(used, SumOf(none), PolyOf(converter, event.count)));
    if (!reason_ && same) {
      ++prover_.report.counts.proved;
      return true;
    }
    Report(event, used, total, count, differs, affine, apart ? " beside those that data say" : "");
    return false;
  }

 private:
  /// Whether an element decides the data that its notifies depend on, which then is a number like
  /// the sizes. Remembers the variables of which that data is.
  bool DecidesData(const EdgeRelation& notify) {
    if (notify.exact) {
      return true;
    }
    if (!notify.certain || !decided_.empty()) {
      return false;
    }
    Set known = WithoutData(unknowns_, notify.set);
    std::vector<std::string> variables = VariablesOf(unknowns_, notify);
    for (const Term* term : unknowns_.TermsIn(notify.set)) {
      std::set<std::string> names;
      unknowns_.AddNames(*term, names);
      for (const std::string& name : names) {
        const Term* part = unknowns_.Find(name);
        if (part != nullptr && (part->kind == Term::Kind::Any ||
                                (part->kind == Term::Kind::Element && !part->stable))) {
          return false;
        }
        if (std::find(variables.begin(), variables.end(), name) != variables.end()) {
          PwAff value = Decided(unknowns_, notify, known, name);
          if (!value) {
            return false;
          }
          decided_.emplace(name, value);
        }
      }
    }
    return true;
  }

  /// What is known of data at elements, with the variables that those decide.
  Set WithDecided(Set set) const {
    for (const auto& [name, value] : decided_) {
      Set domain(isl_pw_aff_domain(value.copy()));
      set = (set - domain) | (set & Eq(unknowns_.Param(name), value));
    }
    set = unknowns_.Close(set);
    return decided_.empty() || IsEmpty(set) ? set : unknowns_.Close(unknowns_.WithAxioms(set));
  }

  /// Adds how often the notify happens for an element. False when that is not affine.
  bool AddNotifies(const EdgeRelation& notify, PwAff& total) {
    if (!DecidesData(notify)) {
      reason_ = ReasonOf(unknowns_, notify.set);
      return false;
    }
    std::vector<std::string> names = VariablesOf(unknowns_, notify);
    Set fiber(isl_set_from_params(notify.set.copy()));
    for (unsigned i = 0; i < names.size(); ++i) {
      int position = isl_set_find_dim_by_name(fiber.get(), isl_dim_param, names[i].c_str());
      fiber = position < 0 ? Set(isl_set_insert_dims(fiber.copy(), isl_dim_set, i, 1))
                           : Set(isl_set_move_dims(fiber.copy(), isl_dim_set, i, isl_dim_param,
                                                   static_cast<unsigned>(position), 1));
    }
    // Of what happens once, the box is a point.
    Set box = names.empty() ? fiber : Set(isl_set_universe(isl_set_get_space(fiber.get())));
    PwAff product = unknowns_.Constant(1);
    std::vector<PwAff> lengths;
    bool affine = true;
    auto count = static_cast<unsigned>(names.size());
    for (unsigned i = 0; i < count; ++i) {
      Set line(isl_set_project_out(fiber.copy(), isl_dim_set, i + 1, count - i - 1));
      line = Set(isl_set_project_out(line.copy(), isl_dim_set, 0, i));
      PwAff first(isl_set_dim_min(line.copy(), 0));
      PwAff last(isl_set_dim_max(line.copy(), 0));
      Set cylinder(isl_set_insert_dims(line.copy(), isl_dim_set, 0, i));
      cylinder = Set(isl_set_insert_dims(cylinder.copy(), isl_dim_set, i + 1, count - i - 1));
      box = box & cylinder;
      PwAff length = last - first + unknowns_.Constant(1);
      if (!IsInterval(line)) {
        reason_ = NoBox();
        return false;
      }
      length = Coalesce(length);
      bool constant = IsConstant(length) || IsConstant(product);
      affine = affine && constant;
      lengths.push_back(length);
      if (affine) {
        product = Coalesce(product * length);
      }
    }
    if (!IsSubset(box, fiber)) {
      reason_ = NoBox();
      return false;
    }
    lengths_.push_back(std::move(lengths));
    if (affine) {
      total = PwAff(isl_pw_aff_union_add(total.copy(), product.copy()));
    }
    return affine;
  }

  /// The number of all notifies, as a polynomial: `none`, and the volume of each box.
  PwPoly SumOf(const PwAff& none) const {
    PwPoly sum = ToPoly(none);
    for (const std::vector<PwAff>& lengths : lengths_) {
      PwPoly volume = ToPoly(unknowns_.Constant(1));
      for (const PwAff& length : lengths) {
        volume = PwPoly(isl_pw_qpolynomial_mul(volume.copy(), ToPoly(length).copy()));
      }
      sum = PwPoly(isl_pw_qpolynomial_add(sum.copy(), volume.copy()));
    }
    return sum;
  }

  /// Whether a set of one dimension has no hole.
  static bool IsInterval(const Set& line) {
    Set hull(isl_set_from_basic_set(isl_set_simple_hull(line.copy())));
    Set missing = hull - line;
    if (IsEmpty(missing)) {
      return true;
    }
    // The hull joins the pieces of different parameters; what lies between two points does not.
    auto related = [&](isl_map* (*order)(isl_space*)) {
      return Set(isl_set_apply(line.copy(), order(isl_set_get_space(line.get()))));
    };
    missing = (related(isl_map_lex_le) & related(isl_map_lex_ge)) - line;
    return IsEmpty(missing);
  }

  /// All polynomials have the parameters of one space, in its order, and a domain of no dimension.
  PwPoly ToPoly(const PwAff& value) const {
    Set all = unknowns_.GlobalFacts();
    for (size_t i = 0; i < elements_; ++i) {
      PwAff element = unknowns_.Param(ElementName(i));
      all = all & Eq(element, element);
    }
    isl_pw_aff* aligned = isl_pw_aff_align_params(value.copy(), isl_set_get_space(all.get()));
    isl_space* domain = isl_space_set_from_params(isl_pw_aff_get_domain_space(aligned));
    return PwPoly(isl_pw_qpolynomial_from_pw_aff(isl_pw_aff_insert_domain(aligned, domain)));
  }

  /// Products stay products, so that they can cancel.
  PwPoly PolyOf(Converter& converter, ExprId id) {
    const auto* binary = std::get_if<Binary>(&module_.exprs[id]);
    if (binary != nullptr && binary->op == BinaryOp::Mul) {
      return PwPoly(isl_pw_qpolynomial_mul(PolyOf(converter, binary->left).copy(),
                                           PolyOf(converter, binary->right).copy()));
    }
    if (binary != nullptr && binary->op == BinaryOp::Add) {
      return PwPoly(isl_pw_qpolynomial_add(PolyOf(converter, binary->left).copy(),
                                           PolyOf(converter, binary->right).copy()));
    }
    if (binary != nullptr && binary->op == BinaryOp::Sub) {
      return PwPoly(isl_pw_qpolynomial_sub(PolyOf(converter, binary->left).copy(),
                                           PolyOf(converter, binary->right).copy()));
    }
    return ToPoly(converter.Int(id));
  }

  static Reason NoBox() {
    Reason reason("the tasks that notify an element form no box of coordinates");
    reason.sizes_may_tell = true;
    return reason;
  }

  bool IsZero(const Set& used, const PwPoly& sum, const PwPoly& count) const {
    PwPoly difference(isl_pw_qpolynomial_sub(sum.copy(), count.copy()));
    Set known = used & unknowns_.GlobalFacts();
    difference = PwPoly(isl_pw_qpolynomial_intersect_params(difference.copy(), known.copy()));
    return isl_pw_qpolynomial_is_zero(difference.get()) == isl_bool_true;
  }

  void Report(const Event& event, const Set& used, const PwAff& total, const PwAff& count,
              const Set& differs, bool affine, const char* beside) {
    std::optional<Point> point;
    if (!reason_ && affine) {
      Set with_values =
          differs & Eq(unknowns_.Param("count@"), count) & Eq(unknowns_.Param("total@"), total);
      point = FindWitness(unknowns_, unknowns_.Close(with_values));
    }
    if (!point) {
      prover_.NotProved(
          prover_.report.counts, DiagnosticKind::CountProof, event.range,
          fmt::format("`%{}` counts its {}", event.name, event.trigger ? "arrivals" : "notifies"),
          reason_ ? *reason_ : ReasonOf(unknowns_, affine ? differs : used));
      return;
    }
    Diagnostic* error = prover_.Refuted(
        prover_.report.counts, DiagnosticKind::CountProof, event.range,
        fmt::format("{} counts {}{}, but {} {} time{}{}",
                    ElementText(event.name, event.dims.size(), *point), point->at("count@"), beside,
                    event.trigger ? "tasks arrive there" : "is notified", point->at("total@"),
                    point->at("total@") == 1 ? "" : "s", WhereText(unknowns_, *point, nullptr, 1)));
    if (error == nullptr) {
      return;
    }
    for (const EdgeRelation& notify : relations_.notifies) {
      if (&module_.events[notify.edge->ref->event] == &event) {
        const ProgramCall& call = unknowns_.program().calls[notify.call];
        error->notes.push_back(
            {notify.edge->range, event.trigger
                                     ? fmt::format("tasks of `@{}` arrive here", call.device->name)
                                     : fmt::format("`@{}` notifies it here", call.device->name)});
      }
    }
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const Module& module_;
  const EventRelations& relations_;
  size_t elements_ = 0;                      // dimensions of the event
  std::vector<std::vector<PwAff>> lengths_;  // of the boxes of tasks that notify an element
  std::map<std::string, PwAff> decided_;
  std::optional<Reason> reason_;  // why there is no proof
};

}  // namespace

std::set<EventId> ProveCounts(Prover& prover, const EventRelations& relations) {
  std::set<EventId> right;
  for (EventId event : prover.unknowns.program().events) {
    if (CountProof(prover, relations).Run(event)) {
      right.insert(event);
    }
  }
  return right;
}

void ProveCountsBeside(Prover& prover, const EventRelations& relations,
                       const EventRelations& proved) {
  for (EventId event : prover.unknowns.program().events) {
    prover.context.SetBudget();
    if (!IsEmpty(UsedElements(prover.unknowns, relations, event) -
                 UsedElements(prover.unknowns, proved, event))) {
      CountProof(prover, relations).Run(event);
    }
  }
}

}  // namespace etc
