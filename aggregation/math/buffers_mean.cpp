#include "aggregation/math/buffers_mean.h"

#include "aggregation/base/error.h"

#include <utility>

namespace fedhive::aggregation {

namespace {

class BuffersMean final : public ServerOptimizer {
public:
    BuffersMean(std::unique_ptr<ServerOptimizer> optimizer, std::size_t num_trainable)
        : optimizer_(std::move(optimizer)), mean_(make_server_sgd({})), num_trainable_(num_trainable) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& sum) override {
        FEDHIVE_CHECK(num_trainable_ < next.size, "no buffers behind {} of {} floats", num_trainable_, next.size);
        optimizer_->step(next, global, sum);
        const std::size_t buffers = next.size - num_trainable_;
        mean_->step(next.part(num_trainable_, buffers), global.part(num_trainable_, buffers),
                    {sum.values.part(num_trainable_, buffers), sum.weight, sum.clients});
    }

    /// The optimiser's moments over all [P], as for a model without buffers.
    std::vector<Moment> moments(std::size_t num_floats, MemorySpace space) override {
        return optimizer_->moments(num_floats, space);
    }

private:
    std::unique_ptr<ServerOptimizer> optimizer_, mean_;
    std::size_t num_trainable_;
};

}  // namespace

std::unique_ptr<ServerOptimizer> make_buffers_mean(std::unique_ptr<ServerOptimizer> optimizer, std::size_t num_trainable) {
    return std::make_unique<BuffersMean>(std::move(optimizer), num_trainable);
}

}  // namespace fedhive::aggregation
