// Dynamic regularization (D. A. E. Acar et al. 2021, arXiv:2111.04263, Algorithm 1): see strategies/feddyn.cpp. A client
// follows the gradient of F_k - <g_k, w> + (alpha / 2) |w - w_t|^2: FedProx's pull, and -g_k as a control variate that never
// travels. The server learns the g_k only through accepted updates.
#include "aggregation/math/moments.h"
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

namespace {

using aggregation::ConstParamSpan;
using aggregation::ParamSpan;

/// The step of `optimizer` in the direction  mean of w_k - w_t + moved,  where  moved = -h / alpha  grows by  (1 / N) * sum
/// over S of (w_k - w_t).  At rate 1 the next model is  mean of w_k - h / alpha.
class DynamicStep final : public aggregation::ServerOptimizer {
public:
    DynamicStep(std::unique_ptr<aggregation::ServerOptimizer> optimizer, std::size_t trainable, std::uint64_t num_clients)
        : optimizer_(std::move(optimizer)), trainable_(trainable), num_clients_(static_cast<double>(num_clients)) {}

    void step(ParamSpan next, ConstParamSpan global, const aggregation::Aggregate& mean) override {
        aggregation::check_spans(next, global, mean.values);
        const ParamSpan moved = aggregation::prepare_moment(moved_, global).first(trainable_);
        aggregation::add_scaled(moved, mean.values.part(0, trainable_), static_cast<double>(mean.clients) / num_clients_);
        if (direction_.span().size == 0) direction_ = aggregation::ParamBuffer(global.size, global.space);
        aggregation::copy(direction_, mean.values);
        aggregation::add(direction_.span().first(trainable_), moved);
        optimizer_->step(next, global, {direction_, mean.weight, mean.clients});
    }

    std::vector<aggregation::Moment> moments(std::size_t num_floats, aggregation::MemorySpace space) override {
        std::vector<aggregation::Moment> all = optimizer_->moments(num_floats, space);
        all.push_back({"moved", aggregation::prepare_moment(moved_, {nullptr, num_floats, space})});
        return all;
    }

private:
    std::unique_ptr<aggregation::ServerOptimizer> optimizer_;
    std::size_t trainable_;  // parameters before the model's buffers, which take the mean
    double num_clients_;
    aggregation::ParamBuffer moved_, direction_;
};

std::unique_ptr<aggregation::ServerOptimizer> make_dynamic_step(std::unique_ptr<aggregation::ServerOptimizer> optimizer,
                                                                const aggregation::Memories& memories,
                                                                std::uint64_t num_clients) {
    return std::make_unique<DynamicStep>(std::move(optimizer), memories.find(aggregation::kControl)->floats, num_clients);
}

}  // namespace

LocalRuleSpec local_dynamic() {
    return {
        .name = "dynamic",
        .summary =
            "the loss, a squared distance to the global model and a linear term that each client stores (arXiv:2111.04263)",
        .keys =
            {{.name = "alpha",
              .default_value = 0.01,
              .range = above(0),
              .doc = "Strength of the squared distance to the received model and of the stored linear term (α), dimensionless, "
                     "typically 0.001–0.1. Small values give large server steps; large values hold clients back."}},
        .whole_gradient = true,
        .client_term = true,
        // g_k grows by -alpha * (w_k - w_t) when the update is accepted; a client follows g - g_k.
        .memories = {{.name = aggregation::kControl,
                      .owner = aggregation::MemoryOwner::Client,
                      .change = aggregation::MemoryChange::Add}},
        .goes_by_one_update = "the server's h is the mean of the clients' slopes (arXiv:2111.04263, Algorithm 1)",
        .apply = [](Strategy& strategy, const Values& values) {
            strategy.objective.proximal_mu = static_cast<float>(values.number("alpha"));
            strategy.control_change.of_update = -values.number("alpha");
            strategy.around_server = make_dynamic_step;
        }};
}

}  // namespace fedhive::sim
