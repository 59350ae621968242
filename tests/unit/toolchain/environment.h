// Changes an environment variable for one test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace etc {

class ScopedVariable {
 public:
  /// Sets `name` to `value`, or removes it where `value` is null.
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name); old != nullptr) {
      old_ = old;
    }
    Set(value);
  }
  ~ScopedVariable() { Set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace etc
