# Read by the scripts beside it, in the root of the tree: sets ETC and ETCRT, building where ETC is
# not set, and lets Python find the package etcrt.
if [ -z "${ETC:-}" ]; then
  scripts/setup.sh
  mkdir -p build
  cmake --preset release >build/release.configure.log ||
    { cat build/release.configure.log; exit 1; }
  cmake --build build/release --target etc etcrt
  ETC=build/release/src/driver/etc
fi
if [ -z "${ETCRT:-}" ]; then
  ETCRT=$(cd "$(dirname "$ETC")/../runtime" && pwd)/libetcrt.so.1
fi
PYTHONPATH=$PWD/src/python${PYTHONPATH:+:$PYTHONPATH}
export ETC ETCRT PYTHONPATH
