#include "compile/impl_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace etc {
namespace {

/// Whether NVRTC, or nvcc, which has the same front, says that the name is none, that it is only
/// declared, or that it is no template.
bool IsMissing(const std::string& log, const std::string& name) {
  const std::string texts[] = {
      fmt::format("namespace \"etc\" has no member \"{}\"", name),
      fmt::format("incomplete type \"etc::{}<", name),
      fmt::format("class \"etc::{}\" may not have a template argument list", name)};
  return std::any_of(std::begin(texts), std::end(texts),
                     [&](const std::string& text) { return log.find(text) != std::string::npos; });
}

}  // namespace

std::vector<Note> NotesOnTemplates(const std::string& log,
                                   const std::vector<ImplTemplate>& templates) {
  std::vector<Note> notes;
  for (const ImplTemplate& each : templates) {
    // Each kernel of a graph has its own functions, made of the same line.
    const bool is_said = std::any_of(notes.begin(), notes.end(),
                                     [&](const Note& note) { return note.range == each.range; });
    if (!is_said && IsMissing(log, each.name)) {
      notes.push_back(
          {each.range,
           fmt::format("header `{}` defines no class template `etc::{}`, which is to implement "
                       "`@{}`",
                       each.header, each.name, each.device)});
    }
  }
  return notes;
}

std::vector<Note> NotesOnAssertions(const std::string& log) {
  constexpr std::string_view kBefore = "static assertion failed with \"";
  std::vector<Note> notes;
  for (size_t at = log.find(kBefore); at != std::string::npos; at = log.find(kBefore, at)) {
    at += kBefore.size();
    const size_t end = log.find('"', at);
    std::string message = fmt::format("a tile kernel asks of the program that {}",
                                      std::string_view(log).substr(at, end - at));
    if (std::none_of(notes.begin(), notes.end(),
                     [&](const Note& note) { return note.message == message; })) {
      notes.push_back({{}, std::move(message)});
    }
  }
  return notes;
}

}  // namespace etc
