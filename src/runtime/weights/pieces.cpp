#include "runtime/weights/pieces.h"

#include <algorithm>
#include <cstring>

#include "runtime/dtype.h"
#include "runtime/weights/mapped_file.h"

namespace etc::runtime {
namespace {

constexpr int64_t kPartBytes = int64_t{256} << 10;

/// Elements of one band of tiles: what a piece cannot be smaller than.
int64_t BandElements(const ParamWeights& weights) {
  const auto& tiled = weights.tiled;
  return tiled ? tiled->tiles * tiled->rows * tiled->line_bytes /
                     FindDType(weights.param->dtype)->bytes
               : 1;
}

/// Calls `take(from, elements, behind)` for each run of neighbours in the tensor, `from` its first
/// element there and `behind` how many of the elements from `first` on stand in front of it.
template <class Take>
void ForEachRun(const ParamWeights& weights, int64_t first, int64_t all, Take take) {
  if (!weights.runs) {
    take(first, all, int64_t{0});
    return;
  }
  const PartRuns& runs = *weights.runs;
  for (int64_t behind = 0; behind < all;) {
    const int64_t element = first + behind;
    const int64_t inside = element % runs.length;
    const int64_t elements = std::min(runs.length - inside, all - behind);
    int64_t from = runs.offset + inside;
    int64_t run = element / runs.length;
    for (const PartRuns::Loop& loop : runs.loops) {
      from += run % loop.count * loop.stride;
      run /= loop.count;
    }
    take(from, elements, behind);
    behind += elements;
  }
}

int64_t ElementsOfEach(const ParamWeights& weights) {
  return weights.elements / static_cast<int64_t>(weights.parts.size());
}

/// Reads elements of one tensor as the checkpoint has them. Behind its last one come zeros.
Status ReadTensor(const ParamWeights& weights, const CheckpointTensor& tensor, int64_t first,
                  int64_t all, int64_t element_bytes, char* to) {
  const MappedFile& file = *tensor.file;
  const int64_t begin = tensor.bytes.data() - file.bytes().data();
  const int64_t end = static_cast<int64_t>(tensor.bytes.size()) / element_bytes;
  Status status;
  ForEachRun(weights, first, all, [&](int64_t from, int64_t elements, int64_t behind) {
    const int64_t there = std::clamp<int64_t>(end - from, 0, elements);
    char* place = to + behind * element_bytes;
    if (status.Ok() && there > 0) {
      status = file.Read(begin + from * element_bytes, there * element_bytes, place);
    }
    std::memset(place + there * element_bytes, 0,
                static_cast<size_t>((elements - there) * element_bytes));
  });
  return status;
}

Status ReadElements(const ParamWeights& weights, const WeightPiece& piece, char* to) {
  const int64_t each = ElementsOfEach(weights);
  for (int64_t behind = 0; behind < piece.elements;) {
    const int64_t element = piece.first + behind;
    const int64_t inside = element % each;
    const int64_t elements = std::min(each - inside, piece.elements - behind);
    ETC_RETURN_IF_BAD(ReadTensor(weights, *weights.parts[static_cast<size_t>(element / each)],
                                 inside, elements, piece.conversion.from_bytes,
                                 to + behind * piece.conversion.from_bytes));
    behind += elements;
  }
  return {};
}

int64_t DivideUp(int64_t number, int64_t by) { return (number + by - 1) / by; }

/// Cuts the elements of tensors that follow each other and are of one dtype.
void CutRun(const ParamWeights& weights, WeightPiece run, int64_t most,
            std::vector<WeightPiece>* pieces) {
  const int64_t band = BandElements(weights);
  const int64_t band_bytes = band * std::max(run.conversion.from_bytes, run.conversion.to_bytes);
  const int64_t bands = run.elements / band;
  const int64_t count = DivideUp(bands, std::max<int64_t>(most / band_bytes, 1));
  const int64_t step = DivideUp(bands, count) * band;
  const int64_t end = run.first + run.elements;
  for (; run.first < end; run.first += step) {
    run.elements = std::min(step, end - run.first);
    pieces->push_back(run);
  }
}

}  // namespace

std::vector<WeightPiece> CutIntoPieces(const WeightPlan& plan, int64_t most) {
  std::vector<WeightPiece> pieces;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const ParamWeights& weights = plan.params[i];
    if (weights.same_as || weights.elements == 0) {
      continue;
    }
    const int64_t each = ElementsOfEach(weights);
    for (size_t begin = 0, end = 0; begin < weights.parts.size(); begin = end) {
      const std::string& dtype = weights.parts[begin]->dtype;
      while (end < weights.parts.size() && weights.parts[end]->dtype == dtype) {
        ++end;
      }
      CutRun(weights,
             {i, FindConversion(dtype, weights.param->dtype), static_cast<int64_t>(begin) * each,
              static_cast<int64_t>(end - begin) * each, false},
             most, &pieces);
    }
  }
  return pieces;
}

int64_t PartElements(const WeightPlan& plan, const WeightPiece& piece) {
  const Conversion& conversion = piece.conversion;
  const int64_t unit = piece.is_raw ? 1 : BandElements(plan.params[piece.param]);
  const int64_t widest =
      piece.is_raw ? conversion.from_bytes : std::max(conversion.from_bytes, conversion.to_bytes);
  return std::max<int64_t>(kPartBytes / (unit * widest), 1) * unit;
}

Status FillPiece(const WeightPlan& plan, const WeightPiece& piece, std::vector<char>* scratch,
                 char* to) {
  const ParamWeights& weights = plan.params[piece.param];
  const bool is_copied = piece.conversion.kind == Conversion::Kind::Copy;
  if (piece.is_raw || (!weights.tiled && is_copied)) {
    return ReadElements(weights, piece, to);
  }
  const auto read_bytes = static_cast<size_t>(piece.ReadBytes());
  const auto made_bytes = static_cast<size_t>(piece.Bytes());
  scratch->resize(read_bytes + (is_copied ? 0 : made_bytes));
  ETC_RETURN_IF_BAD(ReadElements(weights, piece, scratch->data()));
  const char* made = scratch->data();
  if (!is_copied) {
    char* converted = weights.tiled ? scratch->data() + read_bytes : to;
    Convert(piece.conversion, scratch->data(), piece.elements, converted);
    made = converted;
  }
  if (!weights.tiled) {
    return {};
  }
  TiledShape bands = *weights.tiled;
  bands.bands = piece.elements / BandElements(weights);
  return CopyOnHost(bands, Packing::Pack, made, to);
}

}  // namespace etc::runtime
