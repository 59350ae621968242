#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "support/scratch_directory.h"
#include "toolchain/subprocess.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

/// The words that start a compiler's command line: CXX may say "ccache g++".
std::vector<std::string> FindCompiler(std::string& message) {
  if (const char* chosen = std::getenv("CXX"); chosen != nullptr && *chosen != '\0') {
    std::vector<std::string> words = Words(chosen);
    if (!words.empty() && IsExecutable(words[0])) {
      return words;
    }
    message = fmt::format("cannot run `{}`, which CXX names\n", chosen);
    return {};
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (IsExecutable(name)) {
      return {name};
    }
  }
  message = "cannot find a C++ compiler (put c++, g++ or clang++ on PATH, or set CXX)\n";
  return {};
}

/// The options that follow the names of programs.
std::vector<std::string> OptionsIn(const std::vector<std::string>& compiler) {
  auto first = std::find_if(compiler.begin(), compiler.end(),
                            [](const std::string& word) { return word.starts_with('-'); });
  return {first, compiler.end()};
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> Concat(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

CompileOutput CompileHost(const std::string& text, const HostOptions& options) {
  CompileOutput output;
  const std::vector<std::string> compiler = FindCompiler(output.log);
  if (compiler.empty()) {
    return output;
  }
  ScratchDirectory scratch;
  // A fixed file name and working folder keep the result free of paths that change.
  if (!scratch.Write("etc.cpp", text)) {
    output.log = scratch.error() + "\n";
    output.lacks_file = true;
    return output;
  }
  output.toolchain = FirstLine(RunProcess(Concat(compiler, {"--version"}), scratch.path()).output);
  // No contraction: the host's results must not depend on whether the machine has fused
  // multiply-add.
  std::vector<std::string> flags = {
      "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-ffp-contract=off"};
  // An artifact is instrumented like the program that loads it: a sanitizer sees both or neither.
  flags = Concat(flags, Words(ETC_SANITIZER_FLAGS));
  flags = Concat(flags, options.extra_flags);
  // Libraries that a C++ compiler links by default are left out where nothing uses them.
  const std::vector<std::string> link_flags =
      Concat({"-shared", "-static-libgcc", "-Wl,--as-needed"}, flags);
  output.flags = Concat(OptionsIn(compiler), link_flags);
  // Compiled and linked apart: a cache like ccache keeps objects, and passes on what also links.
  ProcessResult result =
      RunProcess(Concat(compiler, Concat(flags, {"-c", "-o", "etc.o", "etc.cpp"})), scratch.path());
  output.log = result.output;
  if (result.Succeeded()) {
    result =
        RunProcess(Concat(compiler, Concat(link_flags, {"-o", "etc.so", "etc.o"})), scratch.path());
    output.log += result.output;
  }
  if (!result.Succeeded()) {
    output.log += fmt::format("{} ended with exit code {}\n", compiler[0], result.exit_code);
  } else if (std::optional<std::string> binary = scratch.Read("etc.so")) {
    output.binary = std::move(*binary);
    output.ok = true;
  } else {
    output.log += fmt::format("{} wrote no shared object\n", compiler[0]);
  }
  return output;
}

}  // namespace etc
