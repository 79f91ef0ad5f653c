#include "aggregation/math/control_variates.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <utility>

namespace fedhive::aggregation {

namespace {

class ControlStep final : public ServerOptimizer {
public:
    ControlStep(std::unique_ptr<ServerOptimizer> optimizer, const Memories& memories, std::uint64_t num_clients)
        : optimizer_(std::move(optimizer)), memories_(memories), num_clients_(static_cast<double>(num_clients)) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& mean) override {
        const ParamSpan control = memories_.of(next, kControl);
        optimizer_->step(next, global, mean);
        copy(control, memories_.of(global, kControl));
        add_scaled(control, memories_.of(mean.values, kControl), static_cast<double>(mean.clients) / num_clients_);
    }

    /// The optimiser's moments, over the whole region.
    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        return optimizer_->moments(num_floats, space);
    }

private:
    std::unique_ptr<ServerOptimizer> optimizer_;
    Memories memories_;
    double num_clients_;
};

}  // namespace

void write_correction(ParamSpan correction, ConstParamSpan control, ConstParamSpan state) {
    if (state.size == 0 && control.size == 0) return set_zero(correction);
    if (state.size == 0) return copy(correction, control);
    copy(correction, state);
    scale(correction, correction, -1.0);
    if (control.size > 0) add(correction, control);
}

void write_control_change(ParamSpan change, const ControlChange& by, ConstParamSpan update, ConstParamSpan control,
                          std::uint64_t steps, float lr) {
    FEDHIVE_CHECK(!by.by_steps || (steps > 0 && lr > 0.0F), "a control variate after {} steps at rate {}", steps, lr);
    scale(change, update, by.by_steps ? by.of_update / (static_cast<double>(steps) * static_cast<double>(lr)) : by.of_update);
    if (control.size > 0) add_scaled(change, control, -1.0);
}

std::unique_ptr<ServerOptimizer> make_control_step(std::unique_ptr<ServerOptimizer> optimizer, const Memories& memories,
                                                   std::uint64_t num_clients) {
    return std::make_unique<ControlStep>(std::move(optimizer), memories, num_clients);
}

}  // namespace fedhive::aggregation
