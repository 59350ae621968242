#include "compile/impl_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

/// The impl that a message is about, whose `Args_NAME` it mentions first; null where it has none.
const ImplTemplate* TemplateOf(std::string_view message,
                               const std::vector<ImplTemplate>& templates) {
  constexpr std::string_view kArgs = "::Args_";
  size_t at = message.find(kArgs);
  if (at == std::string_view::npos) {
    return nullptr;
  }
  at += kArgs.size();
  auto is_part = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  const auto* begin = message.begin() + at;
  const std::string name(begin, std::find_if_not(begin, message.end(), is_part));
  auto found = std::find_if(templates.begin(), templates.end(),
                            [&](const ImplTemplate& each) { return each.device == name; });
  return found == templates.end() ? nullptr : &*found;
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

std::vector<Note> NotesOnAssertions(const std::string& log,
                                    const std::vector<ImplTemplate>& templates) {
  constexpr std::string_view kBefore = "static assertion failed with \"";
  std::vector<Note> notes;
  for (size_t at = log.find(kBefore); at != std::string::npos;) {
    at += kBefore.size();
    const size_t next = log.find(kBefore, at);
    const auto message = std::string_view(log).substr(at, next - at);
    const ImplTemplate* of = TemplateOf(message, templates);
    Note note{of == nullptr ? SourceRange{} : of->range,
              fmt::format("{} asks of the program that {}",
                          of == nullptr ? "a tile kernel"
                                        : fmt::format("the tile kernel of `@{}`", of->device),
                          message.substr(0, message.find('"')))};
    if (std::none_of(notes.begin(), notes.end(),
                     [&](const Note& said) { return said.message == note.message; })) {
      notes.push_back(std::move(note));
    }
    at = next;
  }
  return notes;
}

}  // namespace etc
