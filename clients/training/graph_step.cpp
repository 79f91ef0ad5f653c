#include "clients/training/graph_step.h"

#include "aggregation/base/error.h"

#ifdef FEDHIVE_TORCH_CUDA
#include "clients/training/libtorch_guard.h"
#include "clients/training/step_graphs.h"
#endif

namespace fedhive::clients {

#ifdef FEDHIVE_TORCH_CUDA

class GraphStep final : public TrainingStep {
public:
    GraphStep(LibtorchStep& eager, std::size_t batch_size)
        : eager_(eager), cursor_(at::zeros({1}, at::TensorOptions().dtype(at::kLong).device(at::kCUDA, 0))) {
        eager_.batches_.follow(eager_.train_, batch_size, cursor_.data_ptr<std::int64_t>());
    }

    aggregation::ParamSpan parameters() override { return eager_.parameters(); }
    aggregation::ParamSpan gradient() override { return eager_.gradient(); }
    aggregation::ParamSpan optimizer_state() override { return eager_.optimizer_state(); }
    double loss_sum() override { return eager_.loss_sum(); }
    void loss_sum_into(double& to) override { eager_.loss_sum_into(to); }
    void apply_gradient() override { eager_.apply_gradient(); }

    void begin(const ClientStart& start) override {
        ClientStart kept = start;
        kept.global = graphs_.begin(start.global, start.objective, start.dropout_seed);
        eager_.begin(kept);
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
            const auto& graphs = graphs_.of(batch.size(), [&] { return record(batch); });
            eager_.read_shared();
            graphs.front()->replay();
        });
        coming_ = coming_.subspan(batch.size());
    }

private:
    /// A step changes the cursor, the loss, and the model's buffers.
    std::vector<StepGraphs::Graph> record(std::span<const std::uint32_t> batch) {
        const auto work = [&] {
            eager_.compute_untranslated(batch);
            eager_.gradient();  // in one piece, whose place is always the same
            cursor_.add_(static_cast<std::int64_t>(batch.size()));
        };
        std::vector<StepGraphs::Graph> graphs;
        graphs.push_back(graphs_.record(work, {cursor_, eager_.losses_.on_device(), tensor_of(parameters())}));
        return graphs;
    }

    LibtorchStep& eager_;
    StepGraphs graphs_;
    at::Tensor cursor_;                      // [1] i64: where in the epoch's list the next batch begins
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
