#include "runtime/weights/pieces.h"

#include <algorithm>

#include "runtime/dtype.h"
#include "runtime/weights/mapped_file.h"

namespace etc::runtime {
namespace {

/// What is read before it is converted and packed, so that it is still in a core's cache then.
constexpr int64_t kBlockBytes = int64_t{256} << 10;

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

/// Reads the elements of a piece as the checkpoint has them.
Status ReadElements(const ParamWeights& weights, const WeightPiece& piece, int64_t element_bytes,
                    char* to) {
  const MappedFile& file = *piece.tensor->file;
  const int64_t begin = piece.tensor->bytes.data() - file.bytes().data();
  Status status;
  ForEachRun(weights, piece, [&](int64_t from, int64_t elements, int64_t behind) {
    if (status.Ok()) {
      status = file.Read(begin + from * element_bytes, elements * element_bytes,
                         to + behind * element_bytes);
    }
  });
  return status;
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
    const int64_t each = weights.elements / static_cast<int64_t>(weights.parts.size());
    for (size_t part = 0; part < weights.parts.size(); ++part) {
      const int64_t read =
          FindConversion(weights.parts[part]->dtype, weights.param->dtype).from_bytes;
      const int64_t step = std::max<int64_t>(most / (band * std::max(read, element)), 1) * band;
      for (int64_t first = 0; first < each; first += step) {
        const int64_t elements = std::min(step, each - first);
        pieces.push_back({i, weights.parts[part], first, elements,
                          (static_cast<int64_t>(part) * each + first) * element, elements * element,
                          elements * read, false});
      }
    }
  }
  return pieces;
}

Status FillPiece(const WeightPlan& plan, const WeightPiece& piece, std::vector<char>* scratch,
                 char* to) {
  const ParamWeights& weights = plan.params[piece.param];
  const Conversion conversion = FindConversion(piece.tensor->dtype, weights.param->dtype);
  const bool is_copied = conversion.kind == Conversion::Kind::Copy;
  if (piece.is_raw || (!weights.tiled && is_copied)) {
    return ReadElements(weights, piece, conversion.from_bytes, to);
  }
  const int64_t band = BandElements(weights);
  const int64_t widest = std::max(conversion.from_bytes, conversion.to_bytes);
  const int64_t step = std::max<int64_t>(kBlockBytes / (band * widest), 1) * band;
  for (int64_t first = 0; first < piece.elements; first += step) {
    WeightPiece block = piece;
    block.first += first;
    block.elements = std::min(step, piece.elements - first);
    const auto read_bytes = static_cast<size_t>(block.elements * conversion.from_bytes);
    const auto made_bytes = static_cast<size_t>(block.elements * conversion.to_bytes);
    scratch->resize(read_bytes + (is_copied ? 0 : made_bytes));
    const char* made = scratch->data();
    ETC_RETURN_IF_BAD(ReadElements(weights, block, conversion.from_bytes, scratch->data()));
    char* place = to + first * conversion.to_bytes;
    if (!is_copied) {
      char* converted = weights.tiled ? scratch->data() + read_bytes : place;
      Convert(conversion, scratch->data(), block.elements, converted);
      made = converted;
    }
    if (weights.tiled) {
      TiledShape bands = *weights.tiled;
      bands.bands = block.elements / band;
      ETC_RETURN_IF_BAD(CopyOnHost(bands, Packing::Pack, made, place));
    }
  }
  return {};
}

}  // namespace etc::runtime
