#include "support/scratch_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/termination.h"

namespace etc {

ScratchDirectory::ScratchDirectory() {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
  std::string name = ((failed ? "/tmp" : parent) / "etc-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    error_ = fmt::format("cannot create a folder like `{}`: {} (set TMPDIR to a writable folder)",
                         name, std::strerror(errno));
    return;
  }
  path_ = name;
  RemoveAtEnd(path_);
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    RemoveNow(path_);
  }
}

bool ScratchDirectory::Write(const std::string& name, const std::string& text) {
  if (path_.empty()) {
    return false;
  }
  const std::string path = path_ + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file.good()) {
    error_ = fmt::format("cannot write `{}`: {}", path, std::strerror(errno));
  }
  return file.good();
}

std::optional<std::string> ScratchDirectory::Read(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return std::nullopt;
  }
  return text.str();
}

}  // namespace etc
