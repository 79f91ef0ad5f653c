#ifdef FEDHIVE_TORCH_CUDA

#include "clients/training/step_graphs.h"

#include "aggregation/math/kernels.h"
#include "aggregation/math/vector_ops.h"
#include "clients/training/libtorch_guard.h"

#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

/// LibTorch's work and ours on one stream, as long as it lives.
class OnStream {
public:
    explicit OnStream(const c10::cuda::CUDAStream& stream) : guard_(stream), before_(aggregation::kernels::stream()) {
        aggregation::kernels::set_stream(stream.stream());
    }
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;
    ~OnStream() { aggregation::kernels::set_stream(before_); }

private:
    c10::cuda::CUDAStreamGuard guard_;
    void* before_;
};

/// A stream that is left recording refuses every wait of the process, and with it the news of what went wrong.
void abandon_recording(const c10::cuda::CUDAStream& stream) noexcept {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    if (cudaStreamIsCapturing(stream.stream(), &status) == cudaSuccess && status != cudaStreamCaptureStatusNone)
        cudaStreamEndCapture(stream.stream(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
}

/// Allocator and generator stay prepared for a recording that never ended, so the process that failed here is not to go on.
DeviceFault recording_failed(const char* why) {
    return DeviceFault(
        fmt::format("a local step could not be recorded as a CUDA graph: {}; training.graph: false trains without, "
                    "with the same bits; where memory is short, fewer workers leave more of it",
                    why));
}

}  // namespace

StepGraphs::StepGraphs() : side_(c10::cuda::getStreamFromPool()), pool_(at::cuda::graph_pool_handle()) {}

aggregation::ConstParamSpan StepGraphs::begin(aggregation::ConstParamSpan global, const Objective& objective,
                                              std::uint64_t dropout_seed) {
    if (objective.proximal_mu != recorded_mu_) {
        graphs_.clear();
        pool_ = at::cuda::graph_pool_handle();  // the allocator takes none that has lost all its graphs
    }
    recorded_mu_ = objective.proximal_mu;
    dropout_seed_ = dropout_seed;
    if (objective.proximal_mu == 0.0F) return global;
    if (global_.span().size != global.size) global_ = aggregation::ParamBuffer(global.size, global.space);
    aggregation::copy(global_, global);
    return global_;
}

const std::vector<StepGraphs::Graph>& StepGraphs::of(std::size_t size, const std::function<std::vector<Graph>()>& record) {
    auto found = graphs_.find(size);
    if (found == graphs_.end()) found = graphs_.emplace(size, record()).first;
    return found->second;
}

/// Libraries make their handles and choose their ways in the first steps, which must not be recorded; on the same stream, or autograd would go
/// back to the other.
StepGraphs::Graph StepGraphs::record(const std::function<void()>& work, const std::vector<at::Tensor>& changes) const {
    constexpr int kTimesBefore = 3;
    std::vector<at::Tensor> before(changes.size());
    std::transform(changes.begin(), changes.end(), before.begin(), [](const at::Tensor& one) { return one.clone(); });
    const at::Device device(at::kCUDA, 0);
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::uint64_t drawn = generator.get_offset();
    aggregation::synchronize(aggregation::MemorySpace::Cuda);

    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    {
        const OnStream here(side_);
        for (int time = 0; time < kTimesBefore; ++time) {
            work();
            for (std::size_t i = 0; i < changes.size(); ++i) changes[i].copy_(before[i]);
        }
        aggregation::synchronize(aggregation::MemorySpace::Cuda);
        try {
            graph->capture_begin(pool_);  // which registers the default generator
            work();
            graph->capture_end();
        } catch (const c10::Error& error) {
            abandon_recording(side_);
            throw recording_failed(error.what_without_backtrace());
        } catch (const std::exception& error) {
            abandon_recording(side_);
            throw recording_failed(error.what());
        }
    }
    seed_generator(device, dropout_seed_);
    generator.set_offset(drawn);
    return graph;
}

at::Tensor tensor_of(aggregation::ParamSpan span) {
    return at::from_blob(span.data, {static_cast<std::int64_t>(span.size)},
                         at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, 0));
}

}  // namespace fedhive::clients

#endif
