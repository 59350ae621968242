# etc_builtin_headers: the texts of kernels/**/*.cuh, of the operators (kernels/**/*.etir), of what was
# measured for each target (kernels/tuning/*.json), of the host prelude and of the program that measures
# bandwidth inside the binary.
# Each file is known by its path below its root.
file(GLOB_RECURSE kernel_headers RELATIVE ${PROJECT_SOURCE_DIR}/kernels CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/kernels/*.cuh ${PROJECT_SOURCE_DIR}/kernels/*.etir
     ${PROJECT_SOURCE_DIR}/kernels/tuning/*.json)
list(SORT kernel_headers)
set(text_names ${kernel_headers} host_prelude.h host_peers.h host_watchdog.h host_profile.h host_queue.h host_counted_queue.h host_cta_events.h host_cta_watchdog.h bandwidth.etir)
list(TRANSFORM kernel_headers PREPEND ${PROJECT_SOURCE_DIR}/kernels/)
set(text_files ${kernel_headers} ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_prelude.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_peers.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_watchdog.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_profile.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_queue.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_counted_queue.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_cta_events.h
    ${CMAKE_CURRENT_SOURCE_DIR}/emit/host_cta_watchdog.h
    ${CMAKE_CURRENT_SOURCE_DIR}/bench/bandwidth.etir)

set(generated ${CMAKE_CURRENT_BINARY_DIR}/builtin_texts.cpp)
add_custom_command(
  OUTPUT ${generated}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} "-DNAMES=${text_names}" "-DFILES=${text_files}"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  DEPENDS ${text_files} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  COMMENT "Embedding the kernel headers"
  VERBATIM)
add_library(etc_builtin_headers STATIC emit/builtin_headers.cpp ${generated})
