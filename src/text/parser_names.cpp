// Names: their definitions and their uses.
#include <fmt/format.h>

#include <algorithm>

#include "text/parser_impl.h"

namespace etc {

void Parser::Duplicate(std::string_view sigil, const Token& name, SourceRange first) {
  Diagnostic& error =
      diagnostics_.Error(DiagnosticKind::DuplicateName, name.range,
                         fmt::format("`{}{}` is already defined", sigil, name.text));
  if (first.IsValid()) {
    error.notes.push_back({first, "the first definition is here"});
  } else {
    error.notes.push_back({{}, fmt::format("`{}{}` is predefined", sigil, name.text)});
  }
}

std::optional<Note> Parser::DefinedElsewhere(std::string_view sigil, std::string_view name) const {
  auto is_it = [&](const auto& item) { return item.name == name; };
  auto note = [&](SourceRange range) {
    return Note{
        range, fmt::format("`{}{}` is defined here, in a file that this one does not import", sigil,
                           name)};
  };
  if (name.starts_with('_')) {  // for its own file
    return std::nullopt;
  }
  if (sigil == "@") {
    if (auto device = std::ranges::find_if(module_->devices, is_it);
        device != module_->devices.end()) {
      return note(device->range);
    }
    auto graph = std::ranges::find_if(module_->graphs, is_it);
    return graph == module_->graphs.end() ? std::nullopt : std::optional(note(graph->range));
  }
  if (!sigil.empty()) {
    return std::nullopt;
  }
  for (const auto& item : module_->items) {
    const auto* id = std::get_if<SymbolId>(&item);
    if (id != nullptr && module_->symbols[*id].name == name) {
      return note(module_->symbols[*id].range);
    }
  }
  auto function = std::ranges::find_if(module_->functions, is_it);
  return function == module_->functions.end() ? std::nullopt : std::optional(note(function->range));
}

std::optional<Note> Parser::DefinedBelow(std::string_view sigil, std::string_view name) const {
  TokenKind kind = sigil == "@"   ? TokenKind::Function
                   : sigil == "%" ? TokenKind::Tensor
                                  : TokenKind::Name;
  auto defines = [&](size_t i) {
    bool symmetric = tokens_[i - 1].text == "symmetric";
    switch (tokens_[i - (symmetric ? 2 : 1)].kind) {
      case TokenKind::KeywordDevice:
      case TokenKind::KeywordGraph:
      case TokenKind::KeywordConst:
      case TokenKind::KeywordDim:
      case TokenKind::KeywordFn:
      case TokenKind::KeywordLet:
      case TokenKind::KeywordEvent:
      case TokenKind::KeywordLocal:
        return true;
      default:
        return tokens_[i + 1].kind == TokenKind::Equal &&
               tokens_[i + 2].kind == TokenKind::KeywordBuffer;
    }
  };
  int depth = 0;  // of braces behind the use
  int lowest = 0;
  for (size_t i = pos_ + 1; i + 2 < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    depth += token.kind == TokenKind::LeftBrace ? 1 : 0;
    depth -= token.kind == TokenKind::RightBrace ? 1 : 0;
    lowest = std::min(lowest, depth);
    if (token.kind == kind && token.text == name && depth == lowest && defines(i)) {
      return Note{token.range,
                  fmt::format("`{}{}` is defined here, and known from here on", sigil, name)};
    }
  }
  return std::nullopt;
}

std::optional<Note> Parser::DefinedOutOfReach(std::string_view sigil, std::string_view name) const {
  std::optional<Note> below = DefinedBelow(sigil, name);
  return below ? below : DefinedElsewhere(sigil, name);
}

void Parser::Unknown(std::string_view sigil, const Token& name, const std::string& nearest,
                     SourceRange nearest_range, std::string_view what) {
  std::string spelling = fmt::format("{}{}", sigil, name.text);
  if (name.text.empty() || silent_names_ > 0 || !reported_.insert(spelling).second) {
    return;
  }
  Diagnostic& error = diagnostics_.Error(DiagnosticKind::UnknownName, name.range,
                                         fmt::format("no {} `{}` is defined here", what, spelling));
  if (auto defined = DefinedOutOfReach(sigil, name.text)) {
    error.notes.push_back(std::move(*defined));
  } else if (!nearest.empty()) {
    error.notes.push_back({nearest_range, fmt::format("did you mean `{}{}`?", sigil, nearest)});
  }
}

SymbolId Parser::Declare(const Token& name, SymbolKind kind) {
  return DeclareSymbol(name, {std::string(name.text), kind, name.range, {}, {}, {}, {}});
}

SymbolId Parser::DeclareSymbol(const Token& name, Symbol symbol) {
  SymbolId id = module_->symbols.Add(std::move(symbol));
  if (!name.text.empty()) {
    if (const auto* first = names_.scalars.Declare(name.text, id, name.range)) {
      Duplicate("", name, first->range);
    }
  }
  return id;
}

TensorId Parser::Declare(const Token& name, Tensor tensor) {
  TensorId id = module_->tensors.Add(std::move(tensor));
  if (!name.text.empty()) {
    if (const auto* first = names_.tensors.Declare(name.text, id, name.range)) {
      Duplicate("%", name, first->range);
    }
  }
  return id;
}

EventId Parser::Declare(const Token& name, Event event) {
  EventId id = module_->events.Add(std::move(event));
  if (!name.text.empty()) {
    if (const auto* first = names_.tensors.Declare(name.text, id, name.range)) {
      Duplicate("%", name, first->range);
    }
  }
  return id;
}

SymbolId Parser::FindScalar(const Token& name) {
  if (const auto* entry = names_.scalars.Find(name.text)) {
    return entry->value;
  }
  if (import_absent_) {
    return module_->symbols.Add(
        {std::string(name.text), SymbolKind::Const, name.range, {}, {}, {}, {}});
  }
  if (const auto* tensor = names_.tensors.Find(name.text)) {
    Unknown("", name, "%" + std::string(name.text), tensor->range, "scalar");
    return module_->sms;
  }
  std::string nearest = names_.scalars.Nearest(name.text);
  const auto* entry = names_.scalars.Find(nearest);
  Unknown("", name, nearest, entry ? entry->range : SourceRange{}, "scalar");
  return module_->sms;
}

TensorId Parser::FindTensor(const Token& name) {
  const auto* entry = names_.tensors.Find(name.text);
  if (entry == nullptr) {
    std::string nearest = names_.tensors.Nearest(name.text);
    entry = names_.tensors.Find(nearest);
    Unknown("%", name, nearest, entry ? entry->range : SourceRange{}, "tensor");
    return {};
  }
  if (const auto* tensor = std::get_if<TensorId>(&entry->value)) {
    return *tensor;
  }
  if (!panicking_) {
    diagnostics_
        .Error(DiagnosticKind::UnknownName, name.range,
               fmt::format("`%{}` is an event, expected a tensor", name.text))
        .notes.push_back({entry->range, "the event is defined here"});
  }
  return {};
}

EventId Parser::FindEvent(const Token& name) {
  const auto* entry = names_.tensors.Find(name.text);
  if (entry == nullptr) {
    std::string nearest = names_.tensors.Nearest(name.text);
    entry = names_.tensors.Find(nearest);
    Unknown("%", name, nearest, entry ? entry->range : SourceRange{}, "event");
    return {};
  }
  if (const auto* event = std::get_if<EventId>(&entry->value)) {
    return *event;
  }
  if (!panicking_) {
    diagnostics_
        .Error(DiagnosticKind::UnknownName, name.range,
               fmt::format("`%{}` is a tensor, expected an event", name.text))
        .notes.push_back({entry->range, "the tensor is defined here"});
  }
  return {};
}

std::optional<Parser::Callable> Parser::FindCallable(const Token& name) {
  if (const auto* entry = names_.callables.Find(name.text)) {
    return entry->value;
  }
  if (import_absent_) {
    Device device;
    device.name = name.text;
    return module_->devices.Add(std::move(device));
  }
  std::string nearest = names_.callables.Nearest(name.text);
  const auto* entry = names_.callables.Find(nearest);
  Unknown("@", name, nearest, entry ? entry->range : SourceRange{}, "device function");
  return std::nullopt;
}

DeviceId Parser::FindDevice(const Token& name) {
  std::optional<Callable> callable = FindCallable(name);
  if (!callable || std::holds_alternative<DeviceId>(*callable)) {
    return callable ? std::get<DeviceId>(*callable) : DeviceId{};
  }
  if (!panicking_) {
    diagnostics_
        .Error(DiagnosticKind::UnknownName, name.range,
               fmt::format("`@{}` is a graph, expected a device function", name.text))
        .notes.push_back({names_.callables.Find(name.text)->range, "the graph is defined here"});
  }
  return {};
}

SymbolId Parser::ExpectScalar() {
  Token name = Expect(TokenKind::Name);
  return name.text.empty() ? module_->sms : FindScalar(name);
}

}  // namespace etc
