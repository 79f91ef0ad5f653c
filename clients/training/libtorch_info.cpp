#include "clients/training/libtorch_info.h"

#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/version.h>

namespace fedhive::clients {

LibtorchInfo libtorch_info() {
    LibtorchInfo info;
    info.version = TORCH_VERSION;
    info.cpu_capability = at::get_cpu_capability();
#ifdef FEDHIVE_TORCH_CUDA
    info.cuda_built = true;
#endif
    info.cuda_devices = info.cuda_built ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
    return info;
}

}  // namespace fedhive::clients
