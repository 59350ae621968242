// Programs that differ in what was decided, for one range of sizes of one graph.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/program_builder.h"
#include "expand/decisions.h"
#include "tune/search.h"

namespace etc {

class Variants {
 public:
  /// `open`: in front of expansion, with its constants set. `base` decides what no coordinate does.
  Variants(const Module& open, std::string graph, std::vector<Where> where, Advise base,
           const SourceOptions& source, const TargetOptions& target, Session& session)
      : open_(open),
        graph_(std::move(graph)),
        where_(std::move(where)),
        base_(std::move(base)),
        source_(source),
        target_(target),
        session_(session),
        builder_(session, source.include_dirs) {}

  /// The program of these options; null where they do not go together or it does not compile.
  const Program* With(const std::vector<Coordinate>& coordinates, const Assignment& assignment);

 private:
  std::optional<Program> Build(const Advise& advise);

  const Module& open_;
  const std::string graph_;
  const std::vector<Where> where_;
  const Advise base_;
  const SourceOptions& source_;
  const TargetOptions& target_;
  Session& session_;
  ProgramBuilder builder_;
  std::deque<Program> programs_;  // by their place
  std::map<std::string, const Program*> by_text_;
  size_t built_ = 0;
};

}  // namespace etc
