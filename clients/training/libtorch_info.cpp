#include "clients/training/libtorch_info.h"

#include "aggregation/memory/cuda_driver.h"

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
    // LibTorch warns on stderr of a driver that is too old.
    if (info.cuda_built && aggregation::cuda_versions().devices > 0)
        info.cuda_devices = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
    return info;
}

}  // namespace fedhive::clients
