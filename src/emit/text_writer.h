// Text of a program, line by line, with indentation.
#pragma once

#include <string>
#include <string_view>

namespace etc {

class TextWriter {
 public:
  /// Adds one line (or, for an empty text, a blank one) at the current depth.
  void Line(std::string_view text) {
    if (!text.empty()) {
      text_.append(2 * depth_, ' ');
    }
    text_ += text;
    text_ += '\n';
  }
  /// Adds a line that ends in an opening brace, and indents what follows.
  void Open(std::string_view text) {
    Line(text);
    ++depth_;
  }
  /// Ends the innermost indentation.
  void Close(std::string_view text = "}") {
    --depth_;
    Line(text);
  }
  /// Ends one indentation and begins another, as `} else {` does.
  void Reopen(std::string_view text) {
    Close(text);
    ++depth_;
  }
  /// Adds text as it is.
  void Raw(std::string_view text) { text_ += text; }

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace etc
