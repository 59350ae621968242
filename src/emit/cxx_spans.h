// C++ text of what a profiled kernel writes down. Of a kernel without a profile there is none.
#pragma once

#include <string>
#include <string_view>

#include "emit/cxx_kernel.h"

namespace etc {

/// What a record says: which span of the kernel it is, and its fields.
std::string SpanWord(const KernelScope& scope, size_t span);

/// The spans of one role, whose object has the name `self`.
class SpanWriter {
 public:
  /// `records`: the role has a recorder.
  SpanWriter(TextWriter& out, const KernelScope& scope, std::string_view self, bool records)
      : out_(out),
        scope_(scope),
        self_(self),
        on_(records && scope.raised().kernel.profile.has_value()) {}

  /// The recorder of a role, in front of what it does, and its end.
  void Open(Role role);
  void Close(Role role);

  /// The role has waited for something that is no span: the next one begins behind that. All
  /// others begin where the one in front has ended.
  void Skip();
  /// A task has just ended.
  void EndTask(const RaisedShare& share);

 private:
  TextWriter& out_;
  const KernelScope& scope_;
  std::string_view self_;
  bool on_;
};

}  // namespace etc
