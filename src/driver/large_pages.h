// Memory in large pages.
#pragma once

namespace etc {

/// Has the allocator take its memory from large pages, where there are such pages: of small ones a
/// compilation asks for ten thousand, one fault each. To be called before threads start.
void UseLargePages();

}  // namespace etc
