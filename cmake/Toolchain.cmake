# Options of our own code, as one interface target that the first floor hands upwards.
add_library(fedhive_options INTERFACE)
target_include_directories(fedhive_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(fedhive_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  # GCC 12 takes "text" + std::string for an overlap, depending on what is compiled beside it (its bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${FEDHIVE_WERROR}>>:-Werror>
  # Results may not depend on which expressions a compiler fuses; std::fma stays possible where it is meant.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # Without these two a loop with std::sqrt is not vectorised, since sqrt may set errno, nor one with a division behind a condition. Nothing
  # here reads errno after mathematics or unmasks floating-point exceptions. No bit of a result changes.
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno -fno-trapping-math>)

if(FEDHIVE_SANITIZE)
  target_compile_options(fedhive_options INTERFACE -fsanitize=${FEDHIVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(fedhive_options INTERFACE -fsanitize=${FEDHIVE_SANITIZE})
  target_compile_definitions(fedhive_options INTERFACE FEDHIVE_SANITIZED)
  if(FEDHIVE_SANITIZE MATCHES "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A quarter of compiling. A null pointer ends the program by the address sanitizer, too, and x86-64 allows any alignment, for which device
    # code is looked at all the same (Emulated.cmake); a cast to another class (vptr) shows in clang's build of the fuzz targets alone.
    target_compile_options(fedhive_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers need these two, or ccache refuses them.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
