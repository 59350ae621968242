#include "compile/depfile.h"

namespace etc {
namespace {

/// A name as make reads it back.
std::string Escape(const std::string& name) {
  std::string escaped;
  for (char c : name) {
    if (c == ' ' || c == '#' || c == ':') {
      escaped += '\\';
    } else if (c == '$') {
      escaped += '$';
    }
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string Depfile(const std::vector<std::string>& targets, const std::vector<std::string>& inputs,
                    bool phony) {
  std::string text;
  for (const std::string& target : targets) {
    text += (text.empty() ? "" : " ") + Escape(target);
  }
  text += ':';
  for (const std::string& input : inputs) {
    text += " \\\n  " + Escape(input);
  }
  text += '\n';
  for (size_t i = 1; phony && i < inputs.size(); ++i) {
    text += Escape(inputs[i]) + ":\n";
  }
  return text;
}

}  // namespace etc
