// What the simulator says of the options that operators leave open.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "expand/expand.h"
#include "ir/module.h"
#include "simulator/kernel_cost.h"
#include "target/target.h"

namespace etc {

/// Advice that repeats what was decided.
Advise Decided(std::vector<Decision> decisions);

/// Estimates options by a launch of the kernel that the question is asked in, all others decided as
/// they are without: at the largest of the sizes that the range has, with the most ranks, and at
/// some 1000 of what no range says.
class ChoiceCosts {
 public:
  /// `open` is the module in front of expansion, with its constants set. `others` decides what is
  /// not estimated; absent: the formulas.
  ChoiceCosts(const Module& open, const Target& target, Advise others = {});
  ~ChoiceCosts();

  /// Microseconds for each option; infinite where one leads to a program that is wrong.
  [[nodiscard]] std::vector<double> Of(const Question& question);

  /// The option of least time; the formula's where none is less by what the model can tell apart.
  [[nodiscard]] Answer Best(const Question& question);

 private:
  struct Trial;  // a module with one option taken, in all ranges

  const Trial& With(const Question& question, const std::string& option);
  double Estimate(const Trial& trial, const Question& question) const;

  const Module& open_;
  const Target& target_;
  Advise others_;
  std::map<std::string, std::unique_ptr<Trial>> trials_;
};

/// Options nearer to each other than this part are not told apart.
inline constexpr double kCostResolution = 0.01;

}  // namespace etc
