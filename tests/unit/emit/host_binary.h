// The host binary of a program, made in this process.
#pragma once

#include <string>

#include "toolchain/toolchain.h"

namespace etc {

/// Emits and compiles the program's one graph, `@g`; fails the test where that fails.
CompileOutput HostBinaryOf(const std::string& text);

}  // namespace etc
