// Imports: another file's items, with names of its own.
#include <fmt/format.h>

#include <algorithm>

#include "text/parser_impl.h"

namespace etc {

void Parser::ImportItem() {
  uint32_t begin = Take().range.begin;
  Token file = Expect(TokenKind::String);
  ExpectSemicolon();
  if (panicking_) {
    return;
  }
  if (file.text.empty()) {
    diagnostics_.Error(DiagnosticKind::File, file.range, "the name of the file to import is empty");
    return;
  }
  std::string name(file.text);
  if (name == "-") {
    diagnostics_.Error(DiagnosticKind::File, file.range,
                       "`-` is no file to import: standard input may be the source alone");
    return;
  }
  size_t item = module_->items.size();
  ImportId id = module_->imports.Add({name, RangeFrom(begin), 0});
  module_->items.emplace_back(id);
  std::optional<ImportedText> found;
  if (growing_ != nullptr) {
    found = (*reader_)(name, importing_.back());
  }
  if (!found && absent_imports_ == AbsentImports::Assumed) {
    import_absent_ = true;
    return;
  }
  if (!found) {
    diagnostics_
        .Error(DiagnosticKind::File, file.range,
               fmt::format("there is no file `{}` to import", name))
        .notes.push_back({{},
                          "it is looked for beside the file that imports it, in the folders of "
                          "`-I`, and in the library of `etc`"});
    return;
  }
  if (std::find(importing_.begin(), importing_.end(), found->path) != importing_.end()) {
    diagnostics_.Error(DiagnosticKind::File, file.range,
                       fmt::format("`{}` imports itself", found->path));
    return;
  }
  if (!files_.contains(found->path)) {
    ParseImported(growing_->Add(found->path, std::move(found->text)), found->path);
    module_->imports[id].items = module_->items.size() - item - 1;
  }
  Adopt(found->path, file);
}

void Parser::ParseImported(uint32_t begin, const std::string& path) {
  Tokens lexed = Lex(source_, diagnostics_, begin);
  std::vector<Token> tokens = std::exchange(tokens_, std::move(lexed.tokens));
  size_t pos = std::exchange(pos_, 0);
  FileNames names = std::exchange(names_, {});
  Predefine();
  importing_.push_back(path);
  (void)Header();
  Items();
  importing_.pop_back();
  files_[path] = std::exchange(names_, std::move(names));
  pos_ = pos;
  tokens_ = std::move(tokens);
}

/// Makes the names of an imported file known, but not those that it has imported itself, nor those
/// that begin with `_`.
void Parser::Adopt(const std::string& path, const Token& at) {
  const FileNames& file = files_.at(path);
  auto adopt = [&](auto& mine, const auto& theirs, std::string_view sigil) {
    theirs.ForEach([&](const std::string& name, const auto& entry) {
      std::string key = std::string(sigil) + name;
      if (name.starts_with('_') || file.imported.contains(key)) {
        return;
      }
      const auto* first = mine.Declare(name, entry.value, entry.range);
      if (first != nullptr && first->value == entry.value) {
        return;  // predefined, or imported by two ways
      }
      if (first != nullptr) {
        Diagnostic& error = diagnostics_.Error(
            DiagnosticKind::DuplicateName, at.range,
            fmt::format("`{}{}`, which `{}` defines, is already defined", sigil, name, path));
        error.notes.push_back({first->range, "the first definition is here"});
        error.notes.push_back({entry.range, "the imported one is here"});
      }
      names_.imported.insert(std::move(key));
    });
  };
  adopt(names_.scalars, file.scalars, "");
  adopt(names_.functions, file.functions, "");
  adopt(names_.callables, file.callables, "@");
}

}  // namespace etc
