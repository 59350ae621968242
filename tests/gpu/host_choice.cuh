// The choice of experts on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace etc::test {

struct HostChoice {
  std::vector<int>
      experts;  // those of the largest logits, the largest first; of equal ones the first
  std::vector<double> weights;  // the softmax over these alone
};

inline HostChoice ChooseOnHost(const float* logits, int experts, int top) {
  HostChoice choice;
  choice.experts.resize(experts);
  std::iota(choice.experts.begin(), choice.experts.end(), 0);
  std::stable_sort(choice.experts.begin(), choice.experts.end(),
                   [&](int i, int j) { return logits[i] > logits[j]; });
  choice.experts.resize(top);
  double sum = 0;
  for (int expert : choice.experts) {
    choice.weights.push_back(std::exp(double(logits[expert] - logits[choice.experts[0]])));
    sum += choice.weights.back();
  }
  for (double& weight : choice.weights) {
    weight /= sum;
  }
  return choice;
}

}  // namespace etc::test
