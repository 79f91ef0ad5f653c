# Options of our own code, as an interface target that the first floor passes on.
add_library(fedhive_options INTERFACE)
target_include_directories(fedhive_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(fedhive_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  # GCC 12 warns of an overlap in "text" + std::string, depending on the surrounding code (its bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${FEDHIVE_WERROR}>>:-Werror>
  # Results must not depend on which expressions a compiler fuses; explicit std::fma remains.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  # Without these two, loops with std::sqrt are not vectorised, since sqrt may set errno, and loops with conditional divisions
  # neither. Nothing here reads errno after mathematics or unmasks floating-point exceptions. No bit of a result changes.
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno -fno-trapping-math>)

if(FEDHIVE_SANITIZE)
  target_compile_options(fedhive_options INTERFACE -fsanitize=${FEDHIVE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(fedhive_options INTERFACE -fsanitize=${FEDHIVE_SANITIZE})
  target_compile_definitions(fedhive_options INTERFACE FEDHIVE_SANITIZED)
  if(FEDHIVE_SANITIZE MATCHES "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These checks take a quarter of the compile time. The address sanitizer catches null pointers as well; x86-64 allows any
    # alignment, which is still checked for device code (Emulated.cmake); vptr (casts to wrong classes) is checked in clang's
    # fuzz builds only.
    target_compile_options(fedhive_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # ccache refuses precompiled headers without these two.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# fedhive_kernels_by_instruction_set(TARGET FOLDER): adds FOLDER/plain.cpp and, on x86, avx2.cpp and avx512.cpp. Each is compiled by itself, for
# its instructions, and optimised in sanitized debug builds too: register tiles without optimisation take ten times as long.
function(fedhive_kernels_by_instruction_set target folder)
  set(kernels ${folder}/plain.cpp)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND kernels ${folder}/avx2.cpp ${folder}/avx512.cpp)
    target_compile_definitions(${target} PRIVATE FEDHIVE_X86_KERNELS)
    set_property(SOURCE ${folder}/avx2.cpp APPEND PROPERTY COMPILE_OPTIONS -march=x86-64-v3)
    set_property(SOURCE ${folder}/avx512.cpp APPEND PROPERTY COMPILE_OPTIONS -march=x86-64-v4)
  endif()
  target_sources(${target} PRIVATE ${kernels})
  set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O2>)
endfunction()
