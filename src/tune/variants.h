// Programs that differ in what was decided, for one range of sizes of one graph.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
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
  /// Once `stop` is set nothing more is compiled.
  Variants(const Module& open, std::string graph, std::vector<Where> where, Advise base,
           const SourceOptions& source, const TargetOptions& target, const std::atomic<bool>& stop,
           Session& session)
      : open_(open),
        graph_(std::move(graph)),
        where_(std::move(where)),
        base_(std::move(base)),
        source_(source),
        target_(target),
        stop_(stop),
        session_(session),
        builder_(session, source.include_dirs) {}

  /// Makes the programs of these options that there are not yet, on all cores. Options that lead to
  /// the same text have one program.
  void Make(const std::vector<Coordinate>& coordinates, const std::vector<Assignment>& assignments);

  /// Emits the texts of these options and compiles nothing: of two options with equal texts it is
  /// enough to measure one. Empty for options that do not go together.
  std::vector<std::string> TextsOf(const std::vector<Coordinate>& coordinates,
                                   const std::vector<Assignment>& assignments);

  /// The program of these options; null where they do not go together or it does not compile.
  const Program* With(const std::vector<Coordinate>& coordinates, const Assignment& assignment);

  /// What kept the options from a program.
  void Report(const std::vector<Coordinate>& coordinates, const Assignment& assignment);

  size_t compiled() const { return programs_.size(); }

 private:
  struct Draft;

  std::string KeyOf(const std::vector<Coordinate>& coordinates, const Assignment& assignment) const;
  std::vector<std::unique_ptr<Draft>> Drafts(const std::vector<Coordinate>& coordinates,
                                             const std::vector<Assignment>& assignments);
  void Emit(Draft& draft) const;
  void Compile(std::vector<Draft*> drafts);

  const Module& open_;
  const std::string graph_;
  const std::vector<Where> where_;
  const Advise base_;
  const SourceOptions& source_;
  const TargetOptions& target_;
  const std::atomic<bool>& stop_;
  Session& session_;
  ProgramBuilder builder_;
  std::deque<Program> programs_;  // by their place
  std::map<std::string, const Program*> by_text_;
  std::map<std::string, const Program*> by_options_;
  std::map<std::string, Diagnostics> errors_;  // by options
  size_t named_ = 0;                           // artifacts
};

}  // namespace etc
