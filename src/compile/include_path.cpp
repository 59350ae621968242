#include "compile/include_path.h"

#include <algorithm>
#include <filesystem>

#include "emit/builtin_headers.h"
#include "support/files.h"

namespace etc {

HeaderReader IncludePath::Reader() {
  return [this](const std::string& name) -> std::optional<std::string> {
    for (const std::string& folder : folders_) {
      std::string path = (std::filesystem::path(folder) / name).string();
      Diagnostics not_there;  // the next folder may have it
      if (auto text = ReadInput(path, not_there)) {
        if (std::find(used_.begin(), used_.end(), path) == used_.end()) {
          used_.push_back(path);
        }
        return text;
      }
    }
    return BuiltinHeader(name);
  };
}

}  // namespace etc
