#include "runtime/weights/pieces.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/dtype.h"

namespace etc::runtime {
namespace {

/// Elements of one band of tiles: what a piece cannot be smaller than.
int64_t BandElements(const ParamWeights& weights) {
  const auto& tiled = weights.tiled;
  return tiled ? tiled->tiles * tiled->rows * tiled->line_bytes /
                     FindDType(weights.param->dtype)->bytes
               : 1;
}

/// Calls `take(from, elements, behind)` for each run of neighbours in the tensor, `from` its first
/// element there and `behind` how many elements of the piece stand in front of it.
template <class Take>
void ForEachRun(const ParamWeights& weights, const WeightPiece& piece, Take take) {
  if (!weights.runs) {
    take(piece.first, piece.elements, int64_t{0});
    return;
  }
  const PartRuns& runs = *weights.runs;
  for (int64_t behind = 0; behind < piece.elements;) {
    const int64_t element = piece.first + behind;
    const int64_t inside = element % runs.length;
    const int64_t elements = std::min(runs.length - inside, piece.elements - behind);
    take(runs.offset + element / runs.length * runs.stride + inside, elements, behind);
    behind += elements;
  }
}

/// Maps the pages of a piece at once: a fault for each of them costs more than the copy.
void MapPages(const char* data, int64_t bytes) {
#ifdef MADV_POPULATE_READ
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes);
  // Where the system does not know it, the pages come one by one.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
#else
  (void)data;
  (void)bytes;
#endif
}

}  // namespace

std::vector<WeightPiece> CutIntoPieces(const WeightPlan& plan, int64_t most) {
  std::vector<WeightPiece> pieces;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const ParamWeights& weights = plan.params[i];
    if (weights.same_as || weights.elements == 0) {
      continue;
    }
    const int64_t element = FindDType(weights.param->dtype)->bytes;
    const int64_t band = BandElements(weights);
    const int64_t step = std::max<int64_t>(most / (band * element), 1) * band;
    const int64_t each = weights.elements / static_cast<int64_t>(weights.parts.size());
    for (size_t part = 0; part < weights.parts.size(); ++part) {
      for (int64_t first = 0; first < each; first += step) {
        const int64_t elements = std::min(step, each - first);
        pieces.push_back({i, weights.parts[part], first, elements,
                          (static_cast<int64_t>(part) * each + first) * element,
                          elements * element});
      }
    }
  }
  return pieces;
}

Status FillPiece(const WeightPlan& plan, const WeightPiece& piece, std::vector<char>* scratch,
                 char* to) {
  const ParamWeights& weights = plan.params[piece.param];
  const Conversion conversion = FindConversion(piece.tensor->dtype, weights.param->dtype);
  const char* tensor = piece.tensor->bytes.data();
  const int64_t element = FindDType(weights.param->dtype)->bytes;
  const auto convert = [&](char* whole) {
    ForEachRun(weights, piece, [&](int64_t from, int64_t elements, int64_t behind) {
      const char* run = tensor + from * conversion.from_bytes;
      MapPages(run, elements * conversion.from_bytes);
      Convert(conversion, run, elements, whole + behind * element);
    });
  };
  if (!weights.tiled) {
    convert(to);
    return {};
  }
  const char* from = tensor + piece.first * conversion.from_bytes;
  if (weights.runs || conversion.kind != Conversion::Kind::Copy) {
    scratch->resize(static_cast<size_t>(piece.bytes));
    convert(scratch->data());
    from = scratch->data();
  } else {
    MapPages(from, piece.elements * conversion.from_bytes);
  }
  TiledShape bands = *weights.tiled;
  bands.bands = piece.elements / BandElements(weights);
  return CopyOnHost(bands, Packing::Pack, from, to);
}

}  // namespace etc::runtime
