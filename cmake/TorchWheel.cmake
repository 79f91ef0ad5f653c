# LibTorch as an imported target of our own: fedhive::torch. Looked for in this order: -DTORCH_DIR (the folder that holds include/ and lib/),
# an importable Python `torch`, the project's own .deps folder (scripts/setup). Touches no global flag and needs no CUDA toolkit, unlike
# find_package(Torch).
set(TORCH_DIR "" CACHE PATH "Folder of LibTorch (holds include/ and lib/)")
set(torch_dir "${TORCH_DIR}")
if(NOT torch_dir)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" -c
        "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '', end='')"
      OUTPUT_VARIABLE torch_dir ERROR_QUIET)
  endif()
endif()
if(NOT torch_dir OR NOT EXISTS "${torch_dir}/include/torch/csrc/api/include/torch/torch.h")
  file(GLOB torch_candidates "${PROJECT_SOURCE_DIR}/.deps/torch*/torch")
  if(torch_candidates AND NOT TORCH_DIR)
    list(GET torch_candidates 0 torch_dir)
  endif()
endif()
if(NOT EXISTS "${torch_dir}/include/torch/csrc/api/include/torch/torch.h")
  message(FATAL_ERROR "LibTorch was not found. Run scripts/setup, install the Python package torch, or pass -DTORCH_DIR=FOLDER "
                      "(the folder that holds include/ and lib/). To build the floors without it: -DFEDHIVE_TORCH=OFF.")
endif()

file(STRINGS "${torch_dir}/include/torch/headeronly/version.h" torch_version_line REGEX "define TORCH_VERSION \"")
string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" FEDHIVE_TORCH_VERSION "${torch_version_line}")

add_library(fedhive_torch INTERFACE)
add_library(fedhive::torch ALIAS fedhive_torch)
target_include_directories(fedhive_torch SYSTEM INTERFACE "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
target_link_directories(fedhive_torch INTERFACE "${torch_dir}/lib")
target_link_libraries(fedhive_torch INTERFACE torch_cpu c10)
# RPATH rather than RUNPATH: the wheel's own libraries win over a system CUDA.
target_link_options(fedhive_torch INTERFACE "-Wl,-rpath,${torch_dir}/lib" -Wl,--disable-new-dtags "-Wl,-rpath-link,${torch_dir}/lib")

set(FEDHIVE_TORCH_CUDA OFF)
file(GLOB torch_cuda_needs "${torch_dir}/../nvidia/nvshmem/lib/*.so*" "${torch_dir}/../nvidia/cusparselt/lib/*.so*")
if(EXISTS "${torch_dir}/lib/libtorch_cuda.so" AND FEDHIVE_WITH_CUDA AND torch_cuda_needs)
  set(FEDHIVE_TORCH_CUDA ON)
  target_link_libraries(fedhive_torch INTERFACE -Wl,--no-as-needed torch_cuda c10_cuda torch -Wl,--as-needed)
endif()
message(STATUS "fedhive: LibTorch ${FEDHIVE_TORCH_VERSION} in ${torch_dir}, with CUDA: ${FEDHIVE_TORCH_CUDA}")
