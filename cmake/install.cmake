# What `cmake --install` puts under the prefix, in two components. `runtime`: the library, shared and
# static, its headers, and what pkg-config (`etcrt`) and find_package (`etc`, targets `etc::etcrt`
# and `etc::etcrt_static`) look for. `compiler`: `etc`, its manual page, the completion of three
# shells, and what find_package gives besides (`etc::etc`, `etc_compile`). The prefix may move
# afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/etc)

# The runtime.
install(TARGETS etcrt EXPORT etc-runtime LIBRARY COMPONENT runtime
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS etcrt_static EXPORT etc-runtime ARCHIVE COMPONENT runtime
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/etc TYPE INCLUDE COMPONENT runtime)
install(EXPORT etc-runtime NAMESPACE etc:: DESTINATION ${package_directory} COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/etcrt
        COMPONENT runtime)

set(pkgconfig_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_directory}
           OUTPUT_VARIABLE pkgconfig_to_prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/etcrt.pc.in etcrt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/etcrt.pc DESTINATION ${pkgconfig_directory} COMPONENT runtime)

# The compiler, and what it prints of its own command line.
install(TARGETS etc EXPORT etc-compiler RUNTIME COMPONENT compiler)
install(EXPORT etc-compiler NAMESPACE etc:: DESTINATION ${package_directory} COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/etc_compile.cmake DESTINATION ${package_directory}
        COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/etc
        COMPONENT compiler)

set(printed_files)
function(install_printed file destination)
  set(path ${PROJECT_BINARY_DIR}/printed/${file})
  add_custom_command(OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/printed
    COMMAND etc ${ARGN} > ${path}
    DEPENDS etc VERBATIM)
  install(FILES ${path} DESTINATION ${destination} COMPONENT compiler)
  set(printed_files ${printed_files} ${path} PARENT_SCOPE)
endfunction()
install_printed(etc.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
install_printed(etc ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
install_printed(_etc ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
install_printed(etc.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
add_custom_target(etc_printed ALL DEPENDS ${printed_files})

# All that is installed, and nothing else.
add_custom_target(package_files DEPENDS etc etcrt etcrt_static etc_printed)

# Either component alone is a package, with what it has.
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/etc-config.cmake.in etc-config.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(etc-config-version.cmake COMPATIBILITY SameMinorVersion)
foreach(component runtime compiler)
  install(FILES ${PROJECT_BINARY_DIR}/etc-config.cmake ${PROJECT_BINARY_DIR}/etc-config-version.cmake
          DESTINATION ${package_directory} COMPONENT ${component})
endforeach()
