#include "runtime/layout.h"

#include <cstring>

#include "runtime/binding.h"
#include "runtime/cuda_driver.h"
#include "runtime/dtype.h"

namespace etc::runtime {
namespace {

using manifest::Expr;

template <class... Parts>
Status Misfit(const Parts&... parts) {
  return Fail(ETC_ERROR_BIND, parts...);
}

/// `axis` is that of the given tensor, which may be one of an array.
Status CheckExtent(const manifest::Graph& graph, const Expr& expr, size_t axis, int64_t given) {
  if (expr.kind == Expr::Kind::Int && given != expr.value) {
    return Misfit("extent ", axis, " is ", given, ", but must be ", expr.value);
  }
  if (expr.kind == Expr::Kind::Dim) {
    const manifest::Dim& dim = graph.dims[static_cast<size_t>(expr.value)];
    if (Status status = CheckDim(dim, given); !status.Ok()) {
      return Misfit("extent ", axis, ", `", dim.name, "`, ", status.message);
    }
  }
  return given >= 0 ? Status{} : Misfit("extent ", axis, " is ", given);
}

Status CheckMemory(const TiledShape& shape, const void* from, const void* to) {
  const auto source = reinterpret_cast<uintptr_t>(from);
  const auto destination = reinterpret_cast<uintptr_t>(to);
  const auto bytes = static_cast<uintptr_t>(shape.Bytes());
  if (source < destination + bytes && destination < source + bytes) {
    return Fail(ETC_ERROR_ARGUMENT, "source and destination overlap; there is no packing in place");
  }
  return {};
}

}  // namespace

int64_t TiledShape::RunBytes(int64_t row) const {
  const int64_t swizzled = SwizzleOf(row);
  return swizzled == 0 ? line_bytes : swizzled & -swizzled;
}

Status FitTiles(const manifest::Graph& graph, const manifest::Param& param, const int64_t* shape,
                int32_t given_rank, TiledShape* tiled) {
  if (!param.tile) {
    return Fail(ETC_ERROR_ARGUMENT, "it is row-major; only a parameter with a layout is packed");
  }
  const size_t whole = param.shape.size();
  const bool is_one = param.array && given_rank == static_cast<int32_t>(whole) - 1;
  if (!is_one && given_rank != static_cast<int32_t>(whole)) {
    return Misfit("the rank is ", given_rank, ", but must be ", whole,
                  param.array ? Cat(", or ", whole - 1, " for one tensor of the array") : "");
  }
  const auto rank = static_cast<size_t>(given_rank);
  int64_t bytes = FindDType(param.dtype)->bytes;
  for (size_t axis = 0; axis < rank; ++axis) {
    ETC_RETURN_IF_BAD(CheckExtent(graph, param.shape[axis + (is_one ? 1 : 0)], axis, shape[axis]));
    const int64_t size = axis + 2 == rank   ? param.tile->rows
                         : axis + 1 == rank ? param.tile->columns
                                            : 1;
    if (shape[axis] % size != 0) {
      return Misfit("extent ", axis, " is ", shape[axis], ", but its tiles have ", size);
    }
    if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) {
      return Misfit("its size in bytes overflows");
    }
  }
  tiled->rows = param.tile->rows;
  tiled->tiles = shape[rank - 1] / param.tile->columns;
  tiled->line_bytes = param.tile->columns * FindDType(param.dtype)->bytes;
  tiled->swizzle = param.tile->swizzle;
  tiled->bands = bytes == 0 ? 0 : bytes / (tiled->rows * tiled->tiles * tiled->line_bytes);
  return {};
}

Status MakeTiledShape(const manifest::Graph& graph, const manifest::Param& param,
                      const int64_t* shape, int32_t given_rank, TiledShape* tiled) {
  Status status = FitTiles(graph, param, shape, given_rank, tiled);
  return status.Ok() ? status : Fail(status.code, "parameter `", param.name, "`: ", status.message);
}

namespace {

/// Copies a row of a tile, of all tiles of a band, in runs of `kRun` bytes, or for 0 of
/// what the swizzle asks for, at half the speed.
template <size_t kRun>
void CopyRow(const TiledShape& shape, Packing packing, int64_t band, int64_t row,
             const char* source, char* destination) {
  const int64_t line = shape.line_bytes;
  const int64_t run = kRun != 0 ? static_cast<int64_t>(kRun) : shape.RunBytes(row);
  const int64_t plain = (band * shape.rows + row) * shape.tiles * line;
  const int64_t packed = band * shape.tiles * shape.rows * line;
  for (int64_t at = 0; at < line; at += run) {
    const char* from =
        source + (packing == Packing::Pack ? plain + at : packed + shape.InTile(row, at));
    char* to =
        destination + (packing == Packing::Pack ? packed + shape.InTile(row, at) : plain + at);
    const int64_t from_step = packing == Packing::Pack ? line : shape.rows * line;
    const int64_t to_step = packing == Packing::Pack ? shape.rows * line : line;
    for (int64_t tile = 0; tile < shape.tiles; ++tile, from += from_step, to += to_step) {
      std::memcpy(to, from, kRun != 0 ? kRun : static_cast<size_t>(run));
    }
  }
}

}  // namespace

Status CopyOnHost(const TiledShape& shape, Packing packing, const void* from, void* to) {
  ETC_RETURN_IF_BAD(CheckMemory(shape, from, to));
  const char* source = static_cast<const char*>(from);
  char* destination = static_cast<char*>(to);
  for (int64_t band = 0; band < shape.bands; ++band) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      switch (shape.RunBytes(row)) {
        case 16:
          CopyRow<16>(shape, packing, band, row, source, destination);
          break;
        case 32:
          CopyRow<32>(shape, packing, band, row, source, destination);
          break;
        case 64:
          CopyRow<64>(shape, packing, band, row, source, destination);
          break;
        default:
          CopyRow<0>(shape, packing, band, row, source, destination);
      }
    }
  }
  return {};
}

Status CopyOnDevice(const TiledShape& shape, Packing packing, const void* from, void* to,
                    void* stream) {
  ETC_RETURN_IF_BAD(CheckMemory(shape, from, to));
  const cuda::Driver* driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Device device = 0;
  ETC_RETURN_IF_BAD(cuda::OpenDriver(&driver));
  ETC_RETURN_IF_BAD(cuda::CurrentContext(*driver, &context, &device));
  if (shape.Bytes() == 0) {
    return {};
  }
  const auto line = static_cast<size_t>(shape.line_bytes);
  const auto rows = static_cast<size_t>(shape.rows);
  const auto tiles = static_cast<size_t>(shape.tiles);
  for (int64_t row = 0; row < shape.rows; ++row) {
    // A run of the row in all tiles of all bands. By rows a band is a slice of rows * tiles lines,
    // of which the first `tiles` are this row's; in tiles the row's lines are a tile apart.
    const int64_t run = shape.RunBytes(row);
    for (int64_t at = 0; at < shape.line_bytes; at += run) {
      cuda::Memcpy3D copy = {};
      cuda::Memcpy3DSide plain = {}, packed = {};
      plain.device = static_cast<size_t>(row) * tiles * line + static_cast<size_t>(at);
      plain.pitch = line;
      plain.height = rows * tiles;
      packed.device = static_cast<size_t>(shape.InTile(row, at));
      packed.pitch = rows * line;
      packed.height = tiles;
      copy.source = packing == Packing::Pack ? plain : packed;
      copy.destination = packing == Packing::Pack ? packed : plain;
      copy.source.memory_type = copy.destination.memory_type = cuda::kMemoryDevice;
      copy.source.device += reinterpret_cast<cuda::DevicePointer>(from);
      copy.destination.device += reinterpret_cast<cuda::DevicePointer>(to);
      copy.width_bytes = static_cast<size_t>(run);
      copy.height = tiles;
      copy.depth = static_cast<size_t>(shape.bands);
      ETC_RETURN_IF_BAD(driver->Check(
          driver->cuMemcpy3DAsync_v2(&copy, static_cast<cuda::Stream>(stream)), "cuMemcpy3DAsync"));
    }
  }
  return {};
}

}  // namespace etc::runtime
