// Programs with a mesh, as the verifier and the proofs see them: for one number of ranks, and as
// one program of all ranks.
#pragma once

#include <cstdint>

#include "ir/module.h"

namespace etc {

/// The module for one number of ranks: the size of the mesh is a constant, and graphs and kernels
/// for other numbers are gone. `rank` stays, as that of one rank.
Module AtRanks(const Module& module, int64_t ranks);

/// Where the symmetric memory of a program of all ranks begins: behind any workspace.
inline constexpr int64_t kBehindWorkspaces = int64_t{1} << 48;

/// Who asks about a program of all ranks.
enum class JoinedFor : uint8_t {
  Proofs,      // no implementations; where an argument was a slice, whose rank is free, the call is
               // of a copy of its device function that takes the whole tensor
  WholeCalls,  // implementations stay, since they say what loaders read ahead, and so do slices
};

/// One program of all ranks, made of a module `AtRanks`. The rank is the first coordinate of each
/// task and the first axis of each tensor and event: what is written or notified at a peer has the
/// peer's number there, and everything else the own one. There are no checks of launches and no
/// handshakes. `distinct` stays for what graphs are given, of which it holds on each rank by itself
/// (`CallProgram::of_ranks`); that of others, and `counts`, are forgotten. Symmetric buffers lie
/// behind all others.
Module JoinRanks(Module module, int64_t ranks, JoinedFor whom = JoinedFor::Proofs);

/// The most ranks that the kernel is for; 1 without a mesh.
int64_t MostRanks(const Module& module, const Kernel& kernel);

/// Whether the rank is a coordinate as others are: in a module of `JoinRanks`.
bool IsOfAllRanks(const Module& module);

/// Gives copies of device functions the names of the originals, for messages: such a module cannot
/// be printed or compiled.
void NameAsWritten(Module& module);

}  // namespace etc
