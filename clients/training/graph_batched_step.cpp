#include "clients/training/graph_batched_step.h"

#include "aggregation/base/error.h"

#ifdef FEDHIVE_TORCH_CUDA
#include "clients/training/libtorch_guard.h"
#include "clients/training/step_graphs.h"
#endif

namespace fedhive::clients {

#ifdef FEDHIVE_TORCH_CUDA

class GraphBatchedStep final : public BatchedStep {
public:
    GraphBatchedStep(LibtorchBatchedStep& eager, std::size_t batch_size) : eager_(eager) { eager_.pad(batch_size); }

    std::size_t num_rows() const override { return eager_.num_rows(); }
    aggregation::ParamSpan parameters(std::size_t row) override { return eager_.parameters(row); }
    void loss_sums(std::span<double> sums) override { eager_.loss_sums(sums); }

    void begin(const BatchedStart& start) override {
        BatchedStart kept = start;
        kept.global = graphs_.begin(start.global, start.objective, start.dropout_seed);
        eager_.begin(kept);
    }

    void compute_gradients(std::span<const RowBatch> batches) override {
        translated([&] {
            eager_.list(batches);
            now_ = &graphs_.of(batches.size(), [&] { return record(batches.size()); });
            now_->front()->replay();
        });
    }

    void apply_gradients() override {
        translated([&] { now_->back()->replay(); });
    }

private:
    /// Both at once: the optimiser's graph reads the gradients where the other one has left them.
    std::vector<StepGraphs::Graph> record(std::size_t rows) {
        const auto all_rows = [&](aggregation::ParamSpan first) {
            return tensor_of({first.data, rows * eager_.parameters(0).size, first.space});
        };
        std::vector<at::Tensor> stepped{all_rows(eager_.parameters(0))};
        if (eager_.velocity_.span().size > 0) stepped.push_back(all_rows(eager_.velocity_));
        std::vector<StepGraphs::Graph> graphs;
        graphs.push_back(graphs_.record([&] { eager_.compute_listed(); }, {eager_.loss_sums_}));
        graphs.push_back(graphs_.record([&] { eager_.apply_gradients(); }, stepped));
        return graphs;
    }

    LibtorchBatchedStep& eager_;
    StepGraphs graphs_;
    const std::vector<StepGraphs::Graph>* now_ = nullptr;  // of the step in hand
};

std::unique_ptr<BatchedStep> make_graph_batched_step(LibtorchBatchedStep& eager, std::size_t batch_size) {
    return translated([&] { return std::make_unique<GraphBatchedStep>(eager, batch_size); });
}

#else

std::unique_ptr<BatchedStep> make_graph_batched_step(LibtorchBatchedStep&, std::size_t) {
    throw Fault("this binary was built without training on CUDA");
}

#endif

}  // namespace fedhive::clients
