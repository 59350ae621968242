// The border to C: statuses become codes and a text of the thread, exceptions stop here.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "runtime/status.h"

namespace etc::runtime {

/// Keeps the text for etc_last_error().
etc_status Report(const Status& status);

template <class Function>
etc_status Guard(Function function) {
  try {
    return Report(function());
  } catch (const std::bad_alloc&) {
    return Report({ETC_ERROR_OUT_OF_MEMORY, "out of memory"});  // a text that needs none
  } catch (const std::exception& error) {
    return Report(Fail(ETC_ERROR_INTERNAL, "unexpected: ", error.what()));
  }
}

/// Fails unless every pointer is given; `names` is how the call spells them: "program, info".
template <class... Pointers>
Status NeedAll(std::string_view names, const Pointers*... pointers) {
  Status status;
  const auto need = [&](const void* pointer) {
    const size_t end = std::min(names.find(','), names.size());
    if (pointer == nullptr && status.Ok()) {
      status = Fail(ETC_ERROR_ARGUMENT, "`", names.substr(0, end), "` is null");
    }
    names.remove_prefix(std::min(end + 2, names.size()));
  };
  (need(pointers), ...);
  return status;
}

}  // namespace etc::runtime

#define ETC_NEED(...) ETC_RETURN_IF_BAD(::etc::runtime::NeedAll(#__VA_ARGS__, __VA_ARGS__))
