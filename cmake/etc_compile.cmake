# etc_compile(TARGET SOURCE file.etir [OUTPUT file] [ARCH sm_90a|host] [CONFIGS file...]
#             [DEFINES NAME=VALUE...] [OPTIONS option...])
#
# A target, built with all others, that compiles a source to an artifact: the binary OUTPUT and, but
# for a name that ends in .etca, its manifest beside it. Relative names are in the current source
# and binary folders; OUTPUT is SOURCE's name with .cubin, or .so for ARCH host, where none is
# given. The artifact is made again when the source, a configuration, a tuning file, a header of an
# `impl` or etc itself changes. The target's property ETC_OUTPUT is the binary's path. Needs CMake 3.20.
function(etc_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;OUTPUT;ARCH" "CONFIGS;DEFINES;OPTIONS")
  if(NOT arg_SOURCE)
    message(FATAL_ERROR "etc_compile(${target}): SOURCE is missing")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "etc_compile(${target}): what is `${arg_UNPARSED_ARGUMENTS}`?")
  endif()
  if(CMAKE_VERSION VERSION_LESS 3.20)
    message(FATAL_ERROR "etc_compile needs CMake 3.20 for dependency files")
  endif()
  cmake_policy(SET CMP0116 NEW)
  if(NOT arg_ARCH)
    set(arg_ARCH sm_90a)
  endif()
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  if(NOT arg_OUTPUT)
    get_filename_component(name ${source} NAME_WLE)
    if(arg_ARCH STREQUAL host)
      set(arg_OUTPUT ${name}.so)
    else()
      set(arg_OUTPUT ${name}.cubin)
    endif()
  endif()
  get_filename_component(output ${arg_OUTPUT} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  get_filename_component(folder ${output} DIRECTORY)
  set(outputs ${output})
  if(NOT output MATCHES "\\.etca$")
    get_filename_component(name ${output} NAME_WLE)
    list(APPEND outputs ${folder}/${name}.json)
  endif()
  set(constants)
  foreach(config IN LISTS arg_CONFIGS)
    get_filename_component(config ${config} ABSOLUTE)
    list(APPEND constants --config ${config})
  endforeach()
  foreach(define IN LISTS arg_DEFINES)
    list(APPEND constants -D ${define})
  endforeach()
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND etc::etc compile ${source} --arch ${arg_ARCH} -o ${output} ${constants} -MD
            -MF ${output}.d ${arg_OPTIONS}
    DEPENDS ${source} etc::etc
    DEPFILE ${output}.d
    COMMENT "Compiling ${arg_SOURCE} for ${arg_ARCH}"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS ${outputs})
  set_target_properties(${target} PROPERTIES ETC_OUTPUT ${output})
endfunction()
