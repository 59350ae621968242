#!/bin/sh
# Installs what building and testing etc needs, on Debian 12 with nothing but git. Quick, and
# without the network, when everything is there. Needs root or sudo only to install packages.
set -eu
cd "$(dirname "$0")/.."

packages="g++ cmake ninja-build ccache libfmt-dev libisl-dev libgmp-dev libmimalloc-dev libcli11-dev nlohmann-json3-dev
doctest-dev libxxhash-dev python3 python3-numpy clang-format-16 make pkg-config"

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null
}

if [ -n "$missing" ]; then
  echo "setup: installing$missing"
  as_root apt-get update -qq
  # shellcheck disable=SC2086  # a list of names
  install_packages $missing
fi

# The CUDA compilers: a toolkit on the machine, or NVIDIA's wheels in .toolkit, where etc looks.
# (No GPU and no driver is needed to compile.)
find_toolkit() {
  for folder in "${CUDA_HOME:-/nowhere}" /usr/local/cuda; do
    if [ -e "$folder/lib64/libnvrtc.so" ] && [ -x "$folder/bin/nvcc" ]; then
      echo "$folder"
      return
    fi
  done
  if [ -e .toolkit/complete ]; then
    echo .toolkit
  fi
}

toolkit=$(find_toolkit)
if [ -z "$toolkit" ]; then
  echo "setup: fetching the CUDA 13.0 compilers into .toolkit"
  # A Python from elsewhere may hide Debian's, so ask for pip itself.
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  rm -rf .toolkit
  python3 -m pip install --quiet --no-cache-dir --disable-pip-version-check --root-user-action=ignore \
    --no-deps --target .toolkit \
    "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-runtime==13.0.*" \
    "nvidia-nvvm==13.0.*" "nvidia-cuda-crt==13.0.*"
  # Written last: a download that broke off is started again.
  touch .toolkit/complete
  toolkit=.toolkit
fi
echo "setup: ready (CUDA compilers in $toolkit)"
