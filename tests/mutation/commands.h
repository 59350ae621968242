// What the commands of etc say of one text: they must agree.
#pragma once

#include <string>

#include "check.h"

namespace etc::mutation {

struct CommandsResult {
  /// As `etc check` sees it, with the events that it derives. The module is null where the text
  /// does not parse.
  CheckResult check;
  bool opt = false;  // `etc opt --verify-each`
  bool compile =
      false;         // `etc compile --verify-each --stop-after emit`, for a GPU and for the host
  bool run = false;  // `etc run --verify-each` up to the emitted text
  std::string internal;  // what would be an internal error, and where; empty when there is none
  std::string messages;  // of the other commands

  bool Agree() const {
    // Only some commands prove.
    bool refuted = check.proofs_refute;
    return compile == check.Accepted() && opt == run && (opt == check.Accepted() || refuted);
  }
};

CommandsResult RunCommands(const std::string& text);

}  // namespace etc::mutation
