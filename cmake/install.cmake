# What `cmake --install` puts under the prefix: the compiler, the runtime library with its headers,
# and what pkg-config (`etcrt`) and find_package (`etc`, target `etc::etcrt`) look for. The prefix
# may move afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS etc RUNTIME)
install(TARGETS etcrt EXPORT etc LIBRARY INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/etc TYPE INCLUDE)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/etc)
install(EXPORT etc NAMESPACE etc:: DESTINATION ${package_directory} FILE etc-config.cmake)
write_basic_package_version_file(etc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/etc-config-version.cmake DESTINATION ${package_directory})

set(pkgconfig_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_directory}
           OUTPUT_VARIABLE pkgconfig_to_prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/etcrt.pc.in etcrt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/etcrt.pc DESTINATION ${pkgconfig_directory})
