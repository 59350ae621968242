// The description that a program gives of itself: include/etc/runtime.h.
#include <algorithm>
#include <string>
#include <variant>

#include "etc/runtime.h"
#include "runtime/c_api.h"
#include "runtime/group.h"
#include "runtime/handles.h"
#include "runtime/parts.h"
#include "runtime/sized.h"

namespace etc::runtime {
namespace {

/// The element at `index`, or a failure that says how many there are.
template <class T>
Status Pick(const std::vector<T>& items, int32_t index, const char* what, const T** item) {
  if (index < 0 || static_cast<size_t>(index) >= items.size()) {
    return Fail(ETC_ERROR_NOT_FOUND, "there is no ", what, " ", index, ": there are ", items.size(),
                ", counted from 0");
  }
  *item = &items[static_cast<size_t>(index)];
  return {};
}

bool HasProfile(const manifest::Manifest& manifest) {
  return std::any_of(
      manifest.graphs.begin(), manifest.graphs.end(), [](const manifest::Graph& graph) {
        return std::any_of(
            graph.kernels.begin(), graph.kernels.end(),
            [](const manifest::Kernel& kernel) { return kernel.profile.has_value(); });
      });
}

int32_t Count(size_t size) { return static_cast<int32_t>(size); }

etc_constant_info Describe(const manifest::Constant& constant) {
  etc_constant_info info{0, constant.name.c_str(), ETC_CONSTANT_BOOL, 0, 0.0};
  if (const double* number = std::get_if<double>(&constant.value)) {
    info.kind = ETC_CONSTANT_FLOAT;
    info.float_value = *number;
    return info;
  }
  const int64_t* number = std::get_if<int64_t>(&constant.value);
  info.kind = number != nullptr ? ETC_CONSTANT_INT : ETC_CONSTANT_BOOL;
  info.int_value = number != nullptr ? *number : int64_t{std::get<bool>(constant.value)};
  info.float_value = static_cast<double>(info.int_value);
  return info;
}

}  // namespace
}  // namespace etc::runtime

using namespace etc::runtime;  // the file is the C face of these
namespace manifest = etc::manifest;

etc_status etc_program_describe(const etc_program* program, etc_program_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Manifest& manifest = program->program->manifest();
    const ProgramText& text = program->program->program_text();
    return GiveSized(
        "info",
        etc_program_info{0, manifest.target.c_str(), manifest.binary.file.c_str(),
                         manifest.producer.toolchain.c_str(), Count(manifest.graphs.size()),
                         Count(manifest.constants.size()),
                         manifest.debug_checks.has_value() ? 1 : 0, manifest.hash.c_str(),
                         manifest.producer.etc.c_str(), text.flags.data(), Count(text.flags.size()),
                         Count(text.proofs.size()), Count(text.assumptions.size()),
                         Count(text.not_proved.size()), manifest.watchdog.has_value() ? 1 : 0,
                         HasProfile(manifest) ? 1 : 0},
        info);
  });
}

etc_status etc_program_constant(const etc_program* program, int32_t index,
                                etc_constant_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Constant* constant = nullptr;
    ETC_RETURN_IF_BAD(Pick(program->program->manifest().constants, index, "constant", &constant));
    return GiveSized("info", Describe(*constant), info);
  });
}

etc_status etc_program_graph(const etc_program* program, int32_t index, etc_graph_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Graph* graph = nullptr;
    ETC_RETURN_IF_BAD(Pick(program->program->manifest().graphs, index, "graph", &graph));
    return GiveSized(
        "info",
        etc_graph_info{0, graph->name.c_str(), Count(graph->dims.size()),
                       Count(graph->params.size()), Count(graph->kernels.size()),
                       graph->mesh
                           ? graph->dims[static_cast<size_t>(graph->mesh->size)].name.c_str()
                           : nullptr},
        info);
  });
}

etc_status etc_program_dim(const etc_program* program, const char* graph, int32_t index,
                           etc_dim_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Graph* found = nullptr;
    const manifest::Dim* dim = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(Pick(found->dims, index, "dim", &dim));
    return GiveSized("info", etc_dim_info{0, dim->name.c_str(), dim->min, dim->max, dim->multiple},
                     info);
  });
}

etc_status etc_program_param(const etc_program* program, const char* graph, int32_t index,
                             etc_param_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Graph* found = nullptr;
    const manifest::Param* param = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(Pick(found->params, index, "parameter", &param));
    const auto& extents = program->program->text(*found).extent_pointers;
    const auto& sources = program->program->text(*found).source_pointers;
    const auto& ranges = program->program->text(*found).range_pointers;
    const auto& values = program->program->text(*found).values[static_cast<size_t>(index)];
    return GiveSized("info",
                     etc_param_info{0,
                                    param->name.c_str(),
                                    param->access,
                                    param->dtype,
                                    Count(param->shape.size()),
                                    extents[static_cast<size_t>(index)].data(),
                                    param->alignment,
                                    param->values ? 1 : 0,
                                    param->values ? values.first.c_str() : nullptr,
                                    param->values ? values.second.c_str() : nullptr,
                                    param->tile ? 1 : 0,
                                    {param->tile ? param->tile->rows : 0,
                                     param->tile ? param->tile->columns : 0},
                                    param->distinct ? 1 : 0,
                                    param->monotone ? 1 : 0,
                                    param->tile && param->tile->swizzle ? 1 : 0,
                                    param->array ? param->shape[0].value : 0,
                                    sources[static_cast<size_t>(index)].data(),
                                    Count(param->sources.size()),
                                    param->shard ? 1 : 0,
                                    static_cast<int32_t>(param->shard.value_or(0)),
                                    ranges[static_cast<size_t>(index)].data()},
                     info);
  });
}

etc_status etc_program_part(const etc_program* program, const char* graph, const char* param,
                            int32_t rank, int32_t ranks, int32_t* part, int32_t* parts) {
  return Guard([&]() -> Status {
    ETC_NEED(program, param, part, parts);
    const manifest::Graph* found = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(CheckRanks(*found, ranks));
    if (rank < 0 || rank >= ranks) {
      return Fail(ETC_ERROR_ARGUMENT, "there is no rank ", rank, ": there are ", ranks,
                  ", counted from 0");
    }
    const auto named = std::find_if(found->params.begin(), found->params.end(),
                                    [&](const manifest::Param& one) { return one.name == param; });
    if (named == found->params.end()) {
      return Fail(ETC_ERROR_NOT_FOUND, "graph `", found->name, "` has no parameter `", param, "`");
    }
    int64_t count = 0;
    ETC_RETURN_IF_BAD(CountParts(*found, *named, ranks, &count));
    *part = static_cast<int32_t>(PartOf(rank, ranks, count));
    *parts = static_cast<int32_t>(count);
    return {};
  });
}

etc_status etc_program_kernel(const etc_program* program, const char* graph, int32_t index,
                              etc_kernel_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const manifest::Graph* found = nullptr;
    const manifest::Kernel* kernel = nullptr;
    ETC_RETURN_IF_BAD(program->program->FindGraph(graph, &found));
    ETC_RETURN_IF_BAD(Pick(found->kernels, index, "kernel", &kernel));
    const std::string& where = program->program->text(*found).where[static_cast<size_t>(index)];
    const std::vector<std::string>& entries =
        program->program->text(*found).entries[static_cast<size_t>(index)];
    return GiveSized(
        "info",
        etc_kernel_info{0, entries.empty() ? "" : entries.front().c_str(), kernel->schedule.c_str(),
                        where.c_str(), static_cast<int32_t>(kernel->threads), kernel->shared_bytes,
                        static_cast<int32_t>(entries.size())},
        info);
  });
}

etc_status etc_program_proof(const etc_program* program, int32_t index, etc_proof_info* info) {
  return Guard([&]() -> Status {
    ETC_NEED(program, info);
    const etc_proof_info* proof = nullptr;
    ETC_RETURN_IF_BAD(Pick(program->program->program_text().proofs, index, "proof", &proof));
    return GiveSized("info", *proof, info);
  });
}

etc_status etc_program_assumption(const etc_program* program, int32_t index, const char** text) {
  return Guard([&]() -> Status {
    ETC_NEED(program, text);
    const char* const* found = nullptr;
    ETC_RETURN_IF_BAD(
        Pick(program->program->program_text().assumptions, index, "assumption", &found));
    *text = *found;
    return {};
  });
}

etc_status etc_program_not_proved(const etc_program* program, int32_t index, const char** text) {
  return Guard([&]() -> Status {
    ETC_NEED(program, text);
    const char* const* found = nullptr;
    ETC_RETURN_IF_BAD(Pick(program->program->program_text().not_proved, index,
                           "statement that is not proved", &found));
    *text = *found;
    return {};
  });
}
