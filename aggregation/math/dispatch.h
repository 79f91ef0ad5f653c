// The choice between host and CUDA for the rules of this folder.
#pragma once

#include "aggregation/base/clones.h"
#include "aggregation/base/error.h"
#include "aggregation/math/cuda_kernels.h"
#include "aggregation/memory/param_span.h"

namespace fedhive::aggregation {

/// Throws ShapeError when the spans differ in size or memory space.
inline void require_same(ConstParamSpan expected, ConstParamSpan span, const char* what) {
    if (span.size != expected.size) throw ShapeError(fmt::format("{}: {} floats against {}", what, span.size, expected.size));
    if (span.space != expected.space) throw ShapeError(fmt::format("{}: spans in different memory spaces", what));
}

/// Runs host() or cuda(), depending on `space`. cuda() returns a kernels::CudaError; if that is an error, throws OutOfMemory or
/// DeviceFault. Throws Fault for CUDA spans in a build without CUDA.
template <typename HostWork, typename CudaWork>
void dispatch(MemorySpace space, HostWork host, [[maybe_unused]] CudaWork cuda) {
    if (space == MemorySpace::Host) {
        host();
        return;
    }
#ifdef FEDHIVE_WITH_CUDA
    if (const kernels::CudaError error = cuda(); error != nullptr) {
        if (std::string_view(error) == "out of memory") throw OutOfMemory(fmt::format("CUDA: {}", error));
        throw DeviceFault(fmt::format("CUDA: {}", error));
    }
#else
    throw Fault("this binary was built without CUDA (FEDHIVE_CUDA)");
#endif
}

}  // namespace fedhive::aggregation
