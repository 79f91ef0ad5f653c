# LibTorch as our own imported target fedhive::torch. Searched in this order: -DTORCH_DIR (folder with include/ and lib/;
# default: the environment variable of that name), an importable Python `torch`, the project's own .deps folder (scripts/setup).
# Changes no global flag and needs no CUDA toolkit, unlike find_package(Torch).
set(TORCH_DIR "$ENV{TORCH_DIR}" CACHE PATH "Folder of LibTorch (holds include/ and lib/)")
set(torch_header include/torch/csrc/api/include/torch/torch.h)
set(torch_minimum 2.11)

# torch_version(FOLDER result): LibTorch's version, or 0 if there is none.
function(torch_version folder result)
  set(${result} 0 PARENT_SCOPE)
  if(EXISTS "${folder}/${torch_header}" AND EXISTS "${folder}/lib/libtorch_cpu.so" AND EXISTS "${folder}/include/torch/headeronly/version.h")
    file(STRINGS "${folder}/include/torch/headeronly/version.h" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
    list(JOIN numbers . version)
    set(${result} "${version}" PARENT_SCOPE)
  endif()
endfunction()

set(torch_candidates "${TORCH_DIR}")
if(NOT TORCH_DIR)
  # The python3 of PATH, as in scripts/setup; an older torch there is ignored.
  find_program(python3_program python3 NO_CACHE)
  if(python3_program)
    execute_process(
      COMMAND "${python3_program}" -c
        "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '', end='')"
      OUTPUT_VARIABLE torch_of_python ERROR_QUIET)
  endif()
  set(torch_candidates ${torch_of_python} "${PROJECT_SOURCE_DIR}/.deps/torch/torch")
  # `scripts/setup --cuda` was run because Python's torch lacks the CUDA libraries.
  file(GLOB deps_cuda "${PROJECT_SOURCE_DIR}/.deps/torch/nvidia/nvshmem/lib/*.so*")
  file(GLOB python_cuda "${torch_of_python}/../nvidia/nvshmem/lib/*.so*")
  if(deps_cuda AND NOT python_cuda)
    list(REVERSE torch_candidates)
  endif()
  # scripts/setup may replace this folder by one with CUDA.
  if(EXISTS "${PROJECT_SOURCE_DIR}/.deps/torch/installed")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.deps/torch/installed")
  endif()
endif()
set(torch_dir "")
foreach(candidate IN LISTS torch_candidates)
  torch_version("${candidate}" FEDHIVE_TORCH_VERSION)
  if(FEDHIVE_TORCH_VERSION VERSION_GREATER_EQUAL torch_minimum)
    set(torch_dir "${candidate}")
    break()
  endif()
endforeach()
if(NOT torch_dir AND FEDHIVE_TORCH STREQUAL "AUTO")
  message(STATUS "fedhive: no LibTorch ${torch_minimum} or newer was found (scripts/setup brings it): the program has the direct engine alone")
  set(FEDHIVE_TORCH OFF)
  return()
endif()
if(NOT torch_dir)
  message(FATAL_ERROR "LibTorch ${torch_minimum} or newer was not found. Run scripts/setup, install the Python package torch, or pass "
                      "-DTORCH_DIR=FOLDER (the folder that holds include/ and lib/). To build the floors without it: -DFEDHIVE_TORCH=OFF.")
endif()

add_library(fedhive_torch INTERFACE)
add_library(fedhive::torch ALIAS fedhive_torch)
# The wheel contains headers of another fmt; ours come first, since our library is linked.
get_target_property(fmt_headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/fmt_first")
file(CREATE_LINK "${fmt_headers}/fmt" "${CMAKE_BINARY_DIR}/fmt_first/fmt" SYMBOLIC)
target_include_directories(fedhive_torch SYSTEM INTERFACE "${CMAKE_BINARY_DIR}/fmt_first" "${torch_dir}/include"
                           "${torch_dir}/include/torch/csrc/api/include")
# Full paths, so that CMake sets the RPATH of a build to their folder, and another one at installation. RPATH rather than
# RUNPATH: the wheel's own libraries take precedence over a system CUDA.
target_link_libraries(fedhive_torch INTERFACE "${torch_dir}/lib/libtorch_cpu.so" "${torch_dir}/lib/libc10.so")
target_link_options(fedhive_torch INTERFACE -Wl,--disable-new-dtags "-Wl,-rpath-link,${torch_dir}/lib")

set(FEDHIVE_TORCH_CUDA OFF)
# The three CPU wheels contain libtorch_cuda.so as well, but not its dependencies.
execute_process(COMMAND ldd "${torch_dir}/lib/libtorch_cuda.so" OUTPUT_VARIABLE torch_cuda_needs ERROR_QUIET)
set(torch_cuda_version "")
if(EXISTS "${torch_dir}/version.py")
  file(STRINGS "${torch_dir}/version.py" torch_cuda_line REGEX "^cuda")
  string(REGEX MATCH "[0-9]+" torch_cuda_version "${torch_cuda_line}")
endif()
if(NOT FEDHIVE_WITH_CUDA OR NOT torch_cuda_needs OR torch_cuda_needs MATCHES "not found")
  # Training on the CPU; kernels and arena may be built anyway.
elseif(torch_cuda_version AND NOT torch_cuda_version EQUAL CUDAToolkit_VERSION_MAJOR)
  message(WARNING "LibTorch is made for CUDA ${torch_cuda_version}, the toolkit is ${CUDAToolkit_VERSION}: building without training on the GPU. "
                  "Put nvcc of CUDA ${torch_cuda_version} on PATH.")
else()
  set(FEDHIVE_TORCH_CUDA ON)
  target_compile_definitions(fedhive_torch INTERFACE FEDHIVE_TORCH_CUDA)
  target_link_libraries(fedhive_torch INTERFACE -Wl,--no-as-needed "${torch_dir}/lib/libtorch_cuda.so" "${torch_dir}/lib/libc10_cuda.so"
                                               "${torch_dir}/lib/libtorch.so" -Wl,--as-needed)
endif()
message(STATUS "fedhive: LibTorch ${FEDHIVE_TORCH_VERSION} in ${torch_dir}, with CUDA: ${FEDHIVE_TORCH_CUDA}")
