// How a defect of the compiler itself is reported; `InternalError` is in diagnostics.h.
#pragma once

namespace etc {

/// Has InternalError print what it says as RenderJson prints diagnostics.
void SetInternalErrorsAsJson(bool json);

}  // namespace etc
