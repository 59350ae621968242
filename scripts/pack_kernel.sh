#!/bin/sh
# Makes src/runtime/weights/pack_kernel.ptx of pack_kernel.cu, which libetcrt gives to the driver. Run
# it when the kernel or a header of it changes. With --check it changes nothing and fails where the
# text is not what the source gives; it ends with 77 where there is no nvcc of the text's version.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
  ""|--check) ;;
  *) echo "usage: scripts/pack_kernel.sh [--check]" >&2; exit 2 ;;
esac

# What drivers from 2018 on read, and devices from 2018 on run.
isa=6.3
arch=compute_75
text=src/runtime/weights/pack_kernel.ptx

nvcc=
for folder in "${CUDA_HOME:-/nowhere}" /usr/local/cuda .toolkit/nvidia/cu13; do
  if [ -x "$folder/bin/nvcc" ]; then
    nvcc=$folder/bin/nvcc
    break
  fi
done
if [ -z "$nvcc" ]; then
  echo "pack_kernel: no nvcc" >&2
  exit 77
fi
version=$("$nvcc" --version | sed -n 's/^Cuda compilation tools, //p')
if [ "${1:-}" = --check ] && ! grep -q "$version" "$text"; then
  echo "pack_kernel: $text is of another nvcc than $version" >&2
  exit 77
fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$nvcc" -std=c++20 -O3 -ptx -arch=$arch -I src -I include src/runtime/weights/pack_kernel.cu -o "$made/made.ptx"
sed "s/^\.version .*/.version $isa/" "$made/made.ptx" >"$made/pack_kernel.ptx"
if [ "${1:-}" = --check ]; then
  diff -u "$text" "$made/pack_kernel.ptx"
else
  cp "$made/pack_kernel.ptx" "$text"
fi
