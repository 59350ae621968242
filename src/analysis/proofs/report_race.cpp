// What is said of two accesses that are not seen to be in order.
#include "analysis/proofs/report_race.h"

#include <fmt/format.h>

#include <optional>

#include "analysis/order/possible_order.h"
#include "analysis/proofs/access_places.h"
#include "analysis/proofs/missing_event.h"
#include "analysis/sets/task_pairs.h"

namespace etc {
namespace {

/// How many pairs that seem to race are looked at for one that does.
constexpr int kMostTries = 8;

/// How many accesses of a body are shown.
constexpr size_t kMostPlaces = 2;

}  // namespace

class RaceReport::Writer {
 public:
  Writer(Prover& prover, const EventRelations& relations)
      : prover_(prover), unknowns_(prover.unknowns), relations_(relations) {}

  /// Whether it is not refuted but open.
  bool Report(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
              const AccessRegion& b, const Set& conflict) {
    Map open = ToMap(unknowns_, conflict, TaskNames(x, 1), TaskNames(y, 2));
    if (!possible_order_) {
      // Without steps left it would lack links, and what they order would seem to race.
      prover_.context.SetBudget();
      possible_order_.emplace(unknowns_, relations_);
    }
    open = possible_order_->Open(x, y, open);
    const Tensor& tensor = unknowns_.module().tensors[a.tensor];
    std::optional<Point> point;
    Set open_set = conflict & OpenSet(x, y, open);
    // A flagged word orders what follows its read after what precedes its write. Relations between
    // whole tasks cannot say that, so what seems open may be ordered.
    bool flagged = unknowns_.program().flagged;
    // Both must be possible at once: two elements that are not named may be the same one.
    bool possible = a.possible && b.possible && (!a.of_any_iteration || b.exact) &&
                    (!b.of_any_iteration || a.exact);
    if (open && possible && !flagged) {
      point = FindRace(x, y, open_set);
    }
    ProofTally& tally = prover_.report.races;
    if (!point) {
      prover_.NotProved(tally, DiagnosticKind::Race, y.range,
                        fmt::format("`@{}` {} `%{}` in order with `@{}`", y.device->name,
                                    b.write ? "writes" : "reads", tensor.name, x.device->name),
                        flagged
                            ? Reason("flagged buffers order tasks word by word")
                            : ReasonOf(unknowns_, open && !IsEmpty(open) ? open_set : conflict));
      return true;
    }
    std::string element = ElementText(unknowns_, a.tensor, *point);
    Diagnostic* error = prover_.Refuted(
        tally, DiagnosticKind::Race, y.range,
        fmt::format("{} {} {}, which {} {}, and no event orders them{}", TaskText(y, *point, 2),
                    b.write ? "writes" : "reads", element, TaskText(x, *point, 1),
                    a.write ? "writes" : "reads", WhereText(unknowns_, *point, &y, 2)));
    if (error == nullptr) {
      return false;
    }
    bool same_call = x.index == y.index;
    for (size_t i = 0; same_call && i < x.repeats.size(); ++i) {
      same_call = point->at(IterationName(i, 1)) == point->at(IterationName(i, 2));
    }
    std::string iteration = x.repeats.empty() ? "" : WhereText(unknowns_, *point, &x, 1);
    std::string here = fmt::format("{} {} it here{}", TaskText(x, *point, 1),
                                   a.write ? "writes" : "reads", iteration);
    std::string missing = same_call
                              ? "tasks of one call run side by side"
                              : fmt::format("no chain of notifies and waits leads from {} to {}",
                                            TaskText(x, *point, 1), TaskText(y, *point, 2));
    std::optional<MissingEvent> event;
    if (!same_call && !unknowns_.program().scheduled && !prover_.joined) {
      event = FindMissingEvent(unknowns_, x, y, conflict, open_set);
    }
    if (event) {
      if (!event->notify.empty()) {
        here += fmt::format("; add `{}` and, before it, `{}`", event->notify, event->declaration);
        error->fix = {{x.statement.begin, event->declaration, true},
                      {x.range.end - 1, " " + event->notify}};
      }
      missing += fmt::format("; add `{}`", event->wait);
      error->fix.push_back({y.range.end - 1, " " + event->wait});
    }
    error->notes.push_back({x.range, here});
    error->notes.push_back({y.range, missing});
    AddPlaces(x, a, *error);
    if (x.index != y.index || a.write != b.write) {
      AddPlaces(y, b, *error);
    }
    return false;
  }

 private:
  /// Where the body does it, if there are but a few such places.
  void AddPlaces(const ProgramCall& call, const AccessRegion& region, Diagnostic& error) const {
    const Module& module = unknowns_.module();
    const auto places = AccessPlaces(module, call, region.tensor, region.write);
    for (size_t i = 0; i < places.size() && places.size() <= kMostPlaces && !region.ahead; ++i) {
      error.notes.push_back({places[i], fmt::format("`@{}` {} `%{}` here", call.device->name,
                                                    region.write ? "writes" : "reads",
                                                    module.tensors[region.tensor].name)});
    }
  }

  /// Two tasks of the set that no chain of events puts in order, however long.
  std::optional<Point> FindRace(const ProgramCall& x, const ProgramCall& y, Set open) {
    for (int tries = 0; tries < kMostTries; ++tries) {
      prover_.context.SetBudget();
      auto point = FindWitness(unknowns_, unknowns_.Close(open));
      if (!point || !possible_order_->MayOrder(x, y, *point)) {
        return point;
      }
      open = open - AsFarApart(x, y, *point);
    }
    return std::nullopt;
  }

  /// The pairs of tasks whose iterations of the repeats around both are as far apart as in a point.
  Set AsFarApart(const ProgramCall& x, const ProgramCall& y, const Point& point) const {
    Set set = unknowns_.All();
    for (size_t i = 0; i < CommonRepeats(x, y); ++i) {
      std::string first = IterationName(i, 1);
      std::string second = IterationName(i, 2);
      auto from = point.find(first);
      auto to = point.find(second);
      if (from != point.end() && to != point.end()) {
        PwAff distance = unknowns_.Constant(to->second - from->second);
        set = set & Eq(unknowns_.Param(first) + distance, unknowns_.Param(second));
      }
    }
    return set;
  }

  /// The pairs of a relation as a set over the names of tasks.
  Set OpenSet(const ProgramCall& x, const ProgramCall& y, const Map& open) const {
    Map map = open;
    auto name = [&](const std::vector<std::string>& names, isl_dim_type type) {
      for (const std::string& each : names) {
        isl_size at = isl_map_dim(map.get(), isl_dim_param);
        map = Map(
            isl_map_move_dims(map.copy(), isl_dim_param, static_cast<unsigned>(at), type, 0, 1));
        map = Map(isl_map_set_dim_id(map.copy(), isl_dim_param, static_cast<unsigned>(at),
                                     isl_id_alloc(unknowns_.ctx(), each.c_str(), nullptr)));
      }
    };
    name(TaskNames(x, 1), isl_dim_in);
    name(TaskNames(y, 2), isl_dim_out);
    return Set(isl_map_params(map.copy()));
  }

  Prover& prover_;
  Unknowns& unknowns_;
  const EventRelations& relations_;
  std::optional<PossibleOrder> possible_order_;  // once something is open
};

RaceReport::RaceReport(Prover& prover, const EventRelations& relations)
    : writer_(std::make_unique<Writer>(prover, relations)) {}

RaceReport::~RaceReport() = default;

bool RaceReport::Report(const ProgramCall& x, const ProgramCall& y, const AccessRegion& a,
                        const AccessRegion& b, const Set& conflict) {
  return writer_->Report(x, y, a, b, conflict);
}

}  // namespace etc
