#include "clients/engine/recorded_step.h"

#include "aggregation/base/error.h"
#include "clients/engine/libtorch_guard.h"

#ifdef FEDHIVE_TORCH_CUDA
#include "aggregation/math/cuda_kernels.h"
#include "aggregation/math/vector_ops.h"
#include "clients/engine/wrapped_step.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#endif

namespace fedhive::clients {

void RecordableStep::compute_gradients(std::span<const RowBatch> batches) {
    translated([&] {
        prepare(batches);
        compute_prepared();
    });
}

#ifdef FEDHIVE_TORCH_CUDA

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
        fmt::format("a local step could not be recorded as a CUDA graph: {}; training.graph: false trains without recording "
                    "and gives the same result; if memory is short, use fewer workers",
                    why));
}

class RecordedStep final : public WrappedStep {
public:
    RecordedStep(RecordableStep& step, std::size_t largest_batch)
        : WrappedStep(step), step_(step), side_(c10::cuda::getStreamFromPool()), pool_(at::cuda::graph_pool_handle()) {
        step.fix_places(largest_batch);
    }

    void begin(const ClientStart& start) override {
        dropout_seed_ = start.dropout_seed;
        step_.begin(start);
    }

    void compute_gradients(std::span<const RowBatch> batches) override {
        translated([&] {
            Graph& graph = graphs_[step_.prepare(batches)];
            if (!graph) graph = record();
            graph->replay();
        });
    }

private:
    using Graph = std::unique_ptr<at::cuda::CUDAGraph>;

    Graph record() const;

    RecordableStep& step_;
    c10::cuda::CUDAStream side_;
    c10::MempoolId_t pool_;  // the graphs never run at the same time, and nothing in it but gradients outlives a step
    std::map<std::size_t, Graph> graphs_;  // by the shape of a step
    std::uint64_t dropout_seed_ = 0;
};

/// Runs the prepared step a few times, then records it. In the first steps libraries make their handles and choose algorithms, which must not be
/// recorded. All run on one stream, or autograd would go back to the other. Afterwards the tensors that a step changes, and the generator, are as
/// before. Throws DeviceFault where the recording itself fails: a worker ends with it, and its successor has whole libraries again.
RecordedStep::Graph RecordedStep::record() const {
    constexpr int kTimesBefore = 3;
    const std::vector<at::Tensor> changes = step_.what_computing_changes();
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
            step_.compute_prepared();
            for (std::size_t i = 0; i < changes.size(); ++i) changes[i].copy_(before[i]);
        }
        aggregation::synchronize(aggregation::MemorySpace::Cuda);
        try {
            graph->capture_begin(pool_);  // which registers the default generator
            step_.compute_prepared();
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

}  // namespace

std::unique_ptr<TrainingStep> make_recorded_step(RecordableStep& step, std::size_t largest_batch) {
    return translated([&] { return std::make_unique<RecordedStep>(step, largest_batch); });
}

#else

std::unique_ptr<TrainingStep> make_recorded_step(RecordableStep&, std::size_t) {
    throw Fault("this binary was built without training on CUDA");
}

#endif

}  // namespace fedhive::clients
