#include "emit/cxx_spans.h"

#include <fmt/format.h>

#include <optional>

#include "ir/overloaded.h"

namespace etc {
namespace {

constexpr const char* kPlace = "params.Profile(), params.profile_records, sm";

/// The place of a role in a profile; what only prefetches or hands out tasks has none.
std::optional<int> RecordsOf(Role role) {
  switch (role) {
    case Role::Consumer:
      return 0;
    case Role::Loader:
      return 1;
    case Role::EpilogueWarp:
      return 2;
    case Role::Prefetch:
    case Role::Scheduler:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string SpanWord(const KernelScope& scope, size_t span) {
  constexpr size_t kSpanBits = 16;
  constexpr size_t kWordBits = 32;
  const std::vector<RaisedField>& fields = scope.raised().spans[span].fields;
  size_t bits = kSpanBits;
  for (const RaisedField& field : fields) {
    bits += field.bits;
  }
  // On a GPU, shifts of 64 bits take several instructions each.
  const char* type = bits <= kWordBits ? "u32" : "u64";
  std::string word = fmt::format("{}({})", type, span + 1);
  size_t shift = kSpanBits;
  for (const RaisedField& field : fields) {
    std::string value =
        std::visit(Overloaded{[&](SymbolId id) { return CxxName(scope.module(), id); },
                              [&](ExprId id) { return CxxExpr(scope, id); }},
                   field.value);
    if (!field.fits) {
      value = fmt::format("ProfileField<{}>({})", field.bits, value);
    }
    word += fmt::format(" | {}({}) << {}", type, value, shift);
    shift += field.bits;
  }
  return word;
}

void SpanWriter::Open(Role role) {
  if (auto records = RecordsOf(role); on_ && records) {
    out_.Line(
        fmt::format("[[maybe_unused]] Recorder recorder({}, {}, {});", self_, *records, kPlace));
  }
}

void SpanWriter::Close(Role role) {
  if (on_ && RecordsOf(role)) {
    out_.Line(fmt::format("recorder.Close({}, {});", self_, kPlace));
  }
}

void SpanWriter::Skip() {
  if (on_) {
    out_.Line(fmt::format("recorder.Skip({});", self_));
  }
}

void SpanWriter::EndTask(const RaisedShare& share) {
  if (on_) {
    out_.Line(fmt::format("recorder.EndTask({}, {});", self_, SpanWord(scope_, *share.span)));
  }
}

}  // namespace etc
