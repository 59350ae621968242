#include <algorithm>

#include "analysis/regions.h"

namespace etc {

std::vector<AccessRegion> Twins(Unknowns& unknowns, const ProgramCall& call,
                                std::vector<AccessRegion> regions) {
  std::map<std::string, std::string> names;
  std::vector<std::string> first = TaskNames(call, 1);
  std::vector<std::string> second = TaskNames(call, 2);
  for (size_t i = 0; i < first.size(); ++i) {
    names[first[i]] = second[i];
  }
  for (AccessRegion& region : regions) {
    region.set = unknowns.Rename(region.set, names);
  }
  return regions;
}

std::set<TensorId> WrittenBy(const Module& module, const CallProgram& program) {
  std::set<TensorId> written;
  for (const ProgramCall& call : program.calls) {
    for (size_t a = 0; a < call.args.size(); ++a) {
      if (module.tensors[call.device->params[a]].access != Access::In) {
        written.insert(call.args[a].tensor);
      }
    }
  }
  return written;
}

ProgramAccesses AccessesOf(Unknowns& unknowns, const BodyReader* reader) {
  return AccessesOf(unknowns, [&](const ProgramCall&) { return reader; });
}

ProgramAccesses AccessesOf(Unknowns& unknowns,
                           const std::function<const BodyReader*(const ProgramCall&)>& reader_of) {
  std::set<TensorId> written = WrittenBy(unknowns.module(), unknowns.program());
  ProgramAccesses accesses;
  for (const ProgramCall& call : unknowns.program().calls) {
    CallRegions regions = RegionsOf(unknowns, call, written, reader_of(call));
    accesses.first.push_back(std::move(regions.all));
    accesses.second.push_back(Twins(unknowns, call, accesses.first.back()));
    accesses.unwritten.push_back(Twins(unknowns, call, std::move(regions.unwritten)));
  }
  return accesses;
}

}  // namespace etc
