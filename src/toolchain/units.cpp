#include <algorithm>
#include <numeric>

#include "support/parallel.h"
#include "toolchain/toolchain.h"

namespace etc {
namespace {

constexpr size_t kAlignment = 64;

/// The longest first, so that none of them starts last.
std::vector<size_t> LongestFirst(const std::vector<std::string>& texts) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].size() > texts[b].size(); });
  return order;
}

}  // namespace

CompileOutput CompileUnits(const std::vector<std::string>& texts,
                           const std::function<CompileOutput(const std::string& text)>& compile) {
  std::vector<CompileOutput> outputs(texts.size());
  std::vector<size_t> order = LongestFirst(texts);
  ForEachInParallel(order.size(), [&](size_t i) { outputs[order[i]] = compile(texts[order[i]]); });
  CompileOutput all;
  all.ok = true;
  all.toolchain = outputs.front().toolchain;
  all.flags = outputs.front().flags;
  for (const CompileOutput& output : outputs) {
    if (!output.ok) {
      return output;
    }
    all.binary.resize((all.binary.size() + kAlignment - 1) / kAlignment * kAlignment);
    all.images.push_back(all.binary.size());
    all.binary += output.binary;
    // What all units have in common warns in each of them.
    if (all.log.find(output.log) == std::string::npos) {
      all.log += output.log;
    }
  }
  return all;
}

std::vector<std::string_view> ImagesOf(const CompileOutput& output) {
  if (output.images.empty()) {
    return {output.binary};
  }
  std::vector<std::string_view> images;
  for (size_t i = 0; i < output.images.size(); ++i) {
    size_t end = i + 1 < output.images.size() ? output.images[i + 1] : output.binary.size();
    images.push_back(
        std::string_view(output.binary).substr(output.images[i], end - output.images[i]));
  }
  return images;
}

}  // namespace etc
