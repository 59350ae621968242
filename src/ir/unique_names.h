// Names for variables under which no scope hides another variable.
#pragma once

#include "ir/module.h"

namespace etc {

/// Renames variables of device functions and kernels: none has the name of another variable in
/// whose scope it is declared, as functions and graphs that were copied into each other may have
/// it. Emission takes the names as they are. Scalar parameters keep theirs, by which
/// implementations know them. Graph functions are left alone.
void MakeNamesUnique(Module& module);

}  // namespace etc
