#include "aggregation/math/server_copy.h"

#include "aggregation/math/moments.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::aggregation {

namespace {

class ServerCopy final : public ServerOptimizer {
public:
    ServerCopy(ParamSpan velocity, ConstParamSpan arrived_velocity) : velocity_(velocity), arrived_velocity_(arrived_velocity) {
        require_same(velocity, arrived_velocity, "velocity");
    }

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& model) override {
        check_spans(next, global, model.values);
        copy(next, model.values);
        if (velocity_.size > 0) copy(velocity_, arrived_velocity_);
    }

    std::vector<Moment> moments(std::size_t, MemorySpace) override {
        if (velocity_.size == 0) return {};
        return {{"velocity", velocity_}};
    }

private:
    ParamSpan velocity_;
    ConstParamSpan arrived_velocity_;
};

}  // namespace

std::unique_ptr<ServerOptimizer> make_server_copy(ParamSpan velocity, ConstParamSpan arrived_velocity) {
    return std::make_unique<ServerCopy>(velocity, arrived_velocity);
}

}  // namespace fedhive::aggregation
