#include "runtime/launches.h"

#include <algorithm>

#include "runtime/manifest_expr.h"

namespace etc::runtime {
namespace {

void CollectNames(const std::vector<manifest::Launch>& launches, std::vector<std::string>* names) {
  for (const manifest::Launch& launch : launches) {
    if (launch.is_repeat) {
      CollectNames(launch.launches, names);
    } else {
      names->push_back(launch.entry);
    }
  }
}

size_t CountEntries(const std::vector<manifest::Launch>& launches) {
  size_t count = 0;
  for (const manifest::Launch& launch : launches) {
    count += launch.is_repeat ? CountEntries(launch.launches) : 1;
  }
  return count;
}

size_t Depth(const std::vector<manifest::Launch>& launches) {
  size_t depth = 0;
  for (const manifest::Launch& launch : launches) {
    depth = std::max(depth, launch.is_repeat ? 1 + Depth(launch.launches) : 0);
  }
  return depth;
}

/// Walks a block; `entry` is the number of its first entry, and then that of what follows it.
class Walk {
 public:
  /// `is_numbered`: the last word of each launch is its number.
  Walk(const std::vector<int64_t>& dims, bool is_numbered, LaunchSteps* steps)
      : dims_(dims), is_numbered_(is_numbered), steps_(steps) {}

  Status Block(const std::vector<manifest::Launch>& launches, size_t* entry) {
    for (const manifest::Launch& launch : launches) {
      ETC_RETURN_IF_BAD(launch.is_repeat ? Repeat(launch, entry) : Step(launch, (*entry)++));
    }
    return {};
  }

 private:
  Status Repeat(const manifest::Launch& launch, size_t* entry) {
    const size_t first = *entry;
    int64_t begin = 0;
    int64_t end = 0;
    ETC_RETURN_IF_BAD(Evaluate(launch.begin, dims_, &begin));
    ETC_RETURN_IF_BAD(Evaluate(launch.end, dims_, &end));
    iterations_.push_back(begin);
    for (; iterations_.back() < end; ++iterations_.back()) {
      *entry = first;
      ETC_RETURN_IF_BAD(Count());
      ETC_RETURN_IF_BAD(Block(launch.launches, entry));
    }
    iterations_.pop_back();
    *entry = first + CountEntries(launch.launches);
    return {};
  }

  Status Step(const manifest::Launch& launch, size_t entry) {
    int64_t tasks = 0;
    if (Status status = Evaluate(launch.tasks, dims_, &tasks); !status.Ok()) {
      return Fail(status.code, "launch `", launch.entry, "`: `tasks` ", status.message);
    }
    if (tasks > 0) {
      ETC_RETURN_IF_BAD(Count());
      steps_->steps.push_back({entry, tasks});
      steps_->iterations.insert(steps_->iterations.end(), iterations_.begin(), iterations_.end());
      steps_->iterations.resize(steps_->steps.size() * steps_->depth);
      if (is_numbered_) {
        steps_->iterations.back() = static_cast<int64_t>(steps_->steps.size()) - 1;
      }
    }
    return {};
  }

  /// Launches and iterations.
  Status Count() {
    return ++count_ <= kMaxLaunches
               ? Status{}
               : Fail(ETC_ERROR_MANIFEST, "the sizes bring the kernel to more than ", kMaxLaunches,
                      " launches");
  }

  const std::vector<int64_t>& dims_;
  const bool is_numbered_;
  LaunchSteps* steps_;
  int64_t count_ = 0;
  std::vector<int64_t> iterations_;
};

}  // namespace

bool LaunchSteps::HasShapeOf(const LaunchSteps& other) const {
  return iterations == other.iterations &&
         std::equal(steps.begin(), steps.end(), other.steps.begin(), other.steps.end(),
                    [](const Step& a, const Step& b) { return a.entry == b.entry; });
}

std::vector<std::string> EntryNames(const manifest::Kernel& kernel) {
  std::vector<std::string> names;
  if (!kernel.entry.empty()) {
    names.push_back(kernel.entry);
  }
  CollectNames(kernel.launches, &names);
  return names;
}

std::string NameOf(const manifest::Kernel& kernel) {
  const std::vector<std::string> names = EntryNames(kernel);
  return names.empty() ? kernel.schedule : names.front();
}

Status ListLaunches(const manifest::Kernel& kernel, const std::vector<int64_t>& dims,
                    LaunchSteps* steps) {
  size_t entry = 0;
  const bool is_numbered = kernel.profile.has_value() && !kernel.launches.empty();
  steps->depth = Depth(kernel.launches) + (is_numbered ? 1 : 0);
  return Walk(dims, is_numbered, steps).Block(kernel.launches, &entry);
}

}  // namespace etc::runtime
