#include "aggregation/math/gradient_step.h"

#include "aggregation/math/moments.h"

namespace fedhive::aggregation {

namespace {

class GradientStep final : public ServerOptimizer {
public:
    explicit GradientStep(const SgdOptions& options) : options_(options) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& gradient) override {
        check_spans(next, global, gradient.values);
        copy(next, global);
        sgd_step(next, gradient.values, options_.momentum == 0.0F ? ParamSpan() : prepare_moment(velocity_, global), options_);
    }

    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        if (options_.momentum == 0.0F) return {};
        return {{"velocity", prepare_moment(velocity_, {nullptr, num_floats, space})}};
    }

private:
    SgdOptions options_;
    ParamBuffer velocity_;
};

}  // namespace

std::unique_ptr<ServerOptimizer> make_gradient_step(const SgdOptions& options) {
    return std::make_unique<GradientStep>(options);
}

}  // namespace fedhive::aggregation
