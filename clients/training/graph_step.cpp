#include "clients/training/graph_step.h"

#include "aggregation/base/error.h"

#ifdef FEDHIVE_TORCH_CUDA
#include "aggregation/math/kernels.h"
#include "clients/training/libtorch_guard.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#endif

namespace fedhive::clients {

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

}  // namespace

class GraphStep final : public TrainingStep {
public:
    GraphStep(LibtorchStep& eager, std::size_t batch_size)
        : eager_(eager),
          side_(c10::cuda::getStreamFromPool()),
          pool_(at::cuda::graph_pool_handle()),
          cursor_(torch::zeros({1}, torch::TensorOptions().dtype(torch::kInt64).device(torch::kCUDA, 0))) {
        eager_.batches_.follow(eager_.train_, batch_size, cursor_.data_ptr<std::int64_t>());
    }

    aggregation::ParamSpan parameters() override { return eager_.parameters(); }
    aggregation::ParamSpan gradient() override { return eager_.gradient(); }
    aggregation::ParamSpan velocity() override { return eager_.velocity(); }
    double loss_sum() override { return eager_.loss_sum(); }
    void loss_sum_into(double& to) override { eager_.loss_sum_into(to); }
    void apply_gradient() override { eager_.apply_gradient(); }

    void begin(const ClientStart& start) override {
        ClientStart kept = start;
        if (start.objective.proximal_mu != 0.0F) kept.global = keep(start.global);
        if (start.objective.proximal_mu != recorded_mu_) graphs_.clear();
        recorded_mu_ = start.objective.proximal_mu;
        eager_.begin(kept);
        dropout_seed_ = start.dropout_seed;
        coming_ = {};
    }

    void begin_epoch(std::span<const std::uint32_t> order) override {
        eager_.begin_epoch(order);
        coming_ = order;
        translated([&] { cursor_.zero_(); });
    }

    void compute_gradient(std::span<const std::uint32_t> batch) override {
        if (batch.data() != coming_.data() || batch.size() > coming_.size()) begin_epoch(batch);  // one that nobody announced
        translated([&] {
            auto found = graphs_.find(batch.size());
            if (found == graphs_.end()) found = graphs_.emplace(batch.size(), record(batch)).first;
            eager_.read_shared();
            found->second->replay();
        });
        coming_ = coming_.subspan(batch.size());
    }

private:
    using Graph = std::unique_ptr<at::cuda::CUDAGraph>;

    /// The global model, in one place for all clients.
    aggregation::ConstParamSpan keep(aggregation::ConstParamSpan global) {
        if (global_.span().size != global.size) global_ = aggregation::ParamBuffer(global.size, global.space);
        aggregation::copy(global_, global);
        return global_;
    }

    void run_once(std::span<const std::uint32_t> batch) {
        eager_.compute_untranslated(batch);
        eager_.gradient();  // in one piece, whose place is always the same
        cursor_.add_(static_cast<std::int64_t>(batch.size()));
    }

    /// Libraries make their handles and choose their ways in the first steps, which must not be recorded; on the same stream, or autograd would
    /// go back to the other. What those steps change is put back: cursor, loss, the model's buffers, how much of the generator was drawn.
    Graph record(std::span<const std::uint32_t> batch) {
        constexpr int kStepsBefore = 3;
        const torch::Tensor cursor = cursor_.clone();
        const torch::Tensor loss_sum = eager_.losses_.on_device().clone();
        const aggregation::ParamBuffer model(parameters().size, parameters().space);
        aggregation::copy(model, parameters());
        at::Generator generator = at::globalContext().defaultGenerator(cursor_.device());
        const std::uint64_t drawn = generator.get_offset();
        aggregation::synchronize(aggregation::MemorySpace::Cuda);

        auto graph = std::make_unique<at::cuda::CUDAGraph>();
        {
            const OnStream here(side_);
            for (int step = 0; step < kStepsBefore; ++step) {
                cursor_.copy_(cursor);
                run_once(batch);
            }
            cursor_.copy_(cursor);
            aggregation::synchronize(aggregation::MemorySpace::Cuda);
            graph->capture_begin(pool_);  // which registers the default generator
            run_once(batch);
            graph->capture_end();
        }
        seed_generator(cursor_.device(), dropout_seed_);
        generator.set_offset(drawn);
        cursor_.copy_(cursor);
        eager_.losses_.on_device().copy_(loss_sum);
        aggregation::copy(parameters(), model);
        return graph;
    }

    LibtorchStep& eager_;
    c10::cuda::CUDAStream side_;
    c10::MempoolId_t pool_;  // the graphs never run at the same time, and nothing in it outlives a step
    torch::Tensor cursor_;   // [1] i64: where in the epoch's list the next batch begins
    std::map<std::size_t, Graph> graphs_;
    float recorded_mu_ = 0.0F;
    aggregation::ParamBuffer global_;  // [P], with a proximal term
    std::uint64_t dropout_seed_ = 0;
    std::span<const std::uint32_t> coming_;  // of the epoch
};

std::unique_ptr<TrainingStep> make_graph_step(LibtorchStep& eager, std::size_t batch_size) {
    return translated([&] { return std::make_unique<GraphStep>(eager, batch_size); });
}

#else

std::unique_ptr<TrainingStep> make_graph_step(LibtorchStep&, std::size_t) {
    throw Fault("this binary was built without training on CUDA");
}

#endif

}  // namespace fedhive::clients
