#include "compile/outputs_differ.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "support/files.h"

namespace etc {

bool CheckOutputsDiffer(const std::vector<std::string>& outputs,
                        const std::vector<std::string>& inputs, Diagnostics& diagnostics) {
  auto refuse = [&](std::string message) {
    diagnostics.Error(DiagnosticKind::CommandLine, {}, std::move(message));
    return false;
  };
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    std::error_code not_there;
    const auto type = std::filesystem::status(*output, not_there).type();
    const bool is_replaced = type == std::filesystem::file_type::regular ||
                             type == std::filesystem::file_type::not_found;
    if (output->empty() || *output == "-" || !is_replaced) {
      continue;
    }
    auto is_it = [&](const std::string& other) { return IsSameFile(*output, other); };
    auto input = std::find_if(inputs.begin(), inputs.end(), is_it);
    if (input != inputs.end()) {
      return refuse(fmt::format("the output `{}` would replace the input `{}`", *output, *input));
    }
    if (std::any_of(outputs.begin(), output, is_it)) {
      return refuse(fmt::format("two outputs are called `{}`", *output));
    }
  }
  return true;
}

}  // namespace etc
