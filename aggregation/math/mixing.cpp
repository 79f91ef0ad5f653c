#include "aggregation/math/mixing.h"

#include "aggregation/math/moments.h"
#include "aggregation/math/update_list.h"
#include "aggregation/math/vector_ops.h"

namespace fedhive::aggregation {

namespace {

class SingleUpdate final : public Aggregator {
public:
    ColumnRule column_rule() const override { return ColumnRule::None; }  // there is nothing to compute
    void zero_init(std::size_t num_floats, MemorySpace space) override { updates_.reset(num_floats, space); }
    void aggregate(const Update& update) override { updates_.add(update); }
    Aggregate finish() override {
        FEDHIVE_CHECK(updates_.all().size() == 1, "{} arrivals to mix in one step", updates_.all().size());
        const Update& update = updates_.all().front();
        if (update.weight == 0.0) throw Fault("nothing to mix: the arrival has weight 0");
        return {update.values, update.scale / update.weight, update.clients};
    }

private:
    UpdateList updates_;
};

FEDHIVE_CLONES void mix(float* __restrict next, const float* global, const float* local, std::size_t size, float rate) {
    for (std::size_t i = 0; i < size; ++i) next[i] = element::server_mix(global[i], local[i], rate);
}

class ServerMix final : public ServerOptimizer {
public:
    explicit ServerMix(double alpha) : alpha_(alpha) {}

    void step(ParamSpan next, ConstParamSpan global, const Aggregate& newest) override {
        const ConstParamSpan local = newest.values;
        check_spans(next, global, local);
        const auto rate = static_cast<float>(alpha_ * newest.weight);
        if (rate == 1.0F) return copy(next, local);
        dispatch(
            next.space, [&] { mix(next.data, global.data, local.data, next.size, rate); },
            [&] { return kernels::server_mix(next.data, global.data, local.data, next.size, rate); });
    }

    std::vector<Moment> moments(std::size_t, MemorySpace) override { return {}; }

private:
    double alpha_;
};

}  // namespace

std::unique_ptr<Aggregator> make_single_update() { return std::make_unique<SingleUpdate>(); }

std::unique_ptr<ServerOptimizer> make_server_mix(double alpha) { return std::make_unique<ServerMix>(alpha); }

}  // namespace fedhive::aggregation
