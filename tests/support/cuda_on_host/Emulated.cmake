# FEDHIVE_CUDA=EMULATED: this folder's runtime, and .cu files compiled against it as C++.
find_package(fmt REQUIRED)
set(cuda_on_host_folder "${CMAKE_CURRENT_LIST_DIR}")
set(cuda_on_host_sources block_run.cpp device_calls.cpp device_memory.cpp memory_calls.cpp queue.cpp runtime.cpp stacks.cpp)
list(TRANSFORM cuda_on_host_sources PREPEND "${cuda_on_host_folder}/")
add_library(cuda_on_host STATIC ${cuda_on_host_sources})
target_include_directories(cuda_on_host PUBLIC "${cuda_on_host_folder}/include")
target_link_libraries(cuda_on_host PUBLIC fedhive_options PRIVATE fmt::fmt ${CMAKE_DL_LIBS})

# As in cmake/Cuda.cmake. Device code needs no include for its vocabulary, as with nvcc, and is C++17.
function(fedhive_cuda_sources target)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file NORMALIZE OUTPUT_VARIABLE source)
    set(converted "${CMAKE_CURRENT_BINARY_DIR}/${file}.cpp")
    add_custom_command(OUTPUT "${converted}" DEPENDS "${source}" "${cuda_on_host_folder}/launches.py"
      COMMAND python3 "${cuda_on_host_folder}/launches.py" "${source}" "${converted}")
    set(device_options "-std=c++17;-D__CUDACC__;-include;cuda_runtime.h;-Wno-unknown-pragmas")
    if(FEDHIVE_SANITIZE)
      list(APPEND device_options -fsanitize=alignment)  # misalignment that a host allows ends a kernel on a GPU
    endif()
    set_source_files_properties("${converted}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
      COMPILE_OPTIONS "${device_options}")
    target_sources(${target} PRIVATE "${converted}")
  endforeach()
  target_link_libraries(${target} PUBLIC cuda_on_host)
endfunction()
