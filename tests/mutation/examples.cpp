#include "examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "compile/include_path.h"
#include "expand/expand.h"
#include "ir/lower_slices.h"
#include "ir/printer.h"
#include "schedule/lower.h"
#include "text/parser.h"
#include "verify/verify.h"

namespace etc::mutation {
namespace {

/// What the operators of the library choose their tilings for.
constexpr TargetConstants kTarget = {132, 232448};

/// What a program imports becomes a part of it, its functions and generic parameters their
/// copies, and events that it leaves out are derived: what is damaged is what all phases behind
/// work on.
void Flatten(const std::string& path, Base& base) {
  SourceFile source(path, base.text);
  Diagnostics diagnostics;
  IncludePath include_path({});
  auto module = Parse(source, include_path.Imports(), diagnostics);
  bool imports =
      module && std::any_of(module->items.begin(), module->items.end(), [](const Item& item) {
        return std::holds_alternative<ImportId>(item);
      });
  if (imports && OverrideConstants(*module, base.constants, diagnostics) &&
      Expand(*module, {kTarget}, diagnostics) && VerifyAllButDependences(*module, diagnostics)) {
    LowerSlices(*module);
    (void)DeriveEvents(*module, {}, diagnostics);
    base.text = Print(*module);
    base.constants.clear();
  } else if (imports) {
    fmt::print("{}", RenderText(diagnostics, &source));
  }
}

class Examples {
 public:
  Examples(const std::string& folder, const std::string& example)
      : folder_(folder), example_(example) {}

  std::vector<Base> Take() { return std::move(bases_); }

  void AddAll() {
    auto set = [](std::vector<std::pair<std::string, int64_t>> values) {
      std::vector<Override> overrides;
      for (auto& [name, value] : values) {
        overrides.push_back({name, value, "-D", true});
      }
      return overrides;
    };
    AddExample("row_sum", {}, {{{"n", 1}}, {{"n", 2}}, {{"n", 3}}});
    AddExample("mlp", set({{"hidden_size", 20}, {"intermediate_size", 40}}),
               {{{"tokens", 1}}, {{"tokens", 9}}, {{"tokens", 24}}});
    AddExample("attention",
               set({{"num_heads", 4}, {"head_dim", 2}, {"max_capacity", 16}, {"splits", 3}}),
               {{{"batch", 1}, {"capacity", 1}}, {{"batch", 3}, {"capacity", 7}}});
    auto model = set({{"hidden_size", 256},
                      {"num_hidden_layers", 2},
                      {"num_attention_heads", 4},
                      {"num_key_value_heads", 2},
                      {"head_dim", 64},
                      {"intermediate_size", 256},
                      {"vocab_size", 160},
                      {"max_position_embeddings", 8},
                      {"attention_tasks", 6}});
    AddExample("moe_routing",
               set({{"hidden_size", 2},
                    {"moe_intermediate_size", 2},
                    {"num_experts", 3},
                    {"num_experts_per_tok", 2},
                    {"tile", 2}}),
               {{{"tokens", 1}}, {{"tokens", 2}}, {{"tokens", 5}}});
    AddExample("../tests/golden/run/queue_updates", set({{"bins", 2}, {"width", 1}}),
               {{{"n", 1}}, {{"n", 2}}, {{"n", 3}}});
    AddExample("../tests/programs/biased_experts",
               set({{"hidden_size", 16},
                    {"intermediate_size", 32},
                    {"num_experts", 3},
                    {"num_experts_per_tok", 2}}),
               {{{"tokens", 1}}, {{"tokens", 2}}});
    AddExample("moe_layer", set({{"num_experts", 8}, {"num_experts_per_tok", 2}}),
               {{{"tokens", 1}}, {{"tokens", 3}}});
    AddExample("mlp_tp", set({{"tp", 2}, {"hidden", 4}, {"units", 32}, {"tile", 2}}),
               {{{"rows", 1}}, {{"rows", 2}}});
    AddExample("../tests/golden/opt/ranks_dynamic", set({{"tp", 2}}), {{{"n", 1}}, {{"n", 2}}});
    auto imported = set({{"hidden_size", 256},
                         {"num_hidden_layers", 2},
                         {"num_attention_heads", 4},
                         {"num_key_value_heads", 2},
                         {"head_dim", 64},
                         {"intermediate_size", 256},
                         {"vocab_size", 32},
                         {"max_position_embeddings", 256}});
    if (example_ == "qwen3") {  // it takes minutes
      AddExample("qwen3", imported, {{{"batch", 1}, {"max_pages", 1}, {"num_pages", 1}}});
    }
    AddExample("../tests/programs/qwen3_by_hand", model, {{{"batch", 1}, {"max_positions", 5}}});
    AddExample("../tests/programs/llama_by_hand", model, {{{"batch", 1}, {"max_positions", 5}}});
  }

 private:
  void AddExample(const std::string& name, std::vector<Override> constants,
                  std::vector<std::map<std::string, int64_t>> sizes) {
    if (!example_.empty() && example_ != name) {
      return;
    }
    std::string path = std::filesystem::path(folder_) / (name + ".etir");
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    bases_.push_back({name, text.str(), std::move(constants), std::move(sizes)});
    Flatten(path, bases_.back());
  }

  const std::string& folder_;
  const std::string& example_;
  std::vector<Base> bases_;
};

}  // namespace

std::vector<Base> MakeExamples(const std::string& folder, const std::string& example) {
  Examples examples(folder, example);
  examples.AddAll();
  return examples.Take();
}

}  // namespace etc::mutation
