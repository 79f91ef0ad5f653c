#include "aggregation/math/sign_rules.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/update_list.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <vector>

namespace fedhive::aggregation {

namespace {

/// out: the mean before, what the rule makes of it after.
FEDHIVE_CLONES void by_signs_on_host(float* out, const std::vector<const float*>& updates, float threshold, bool majority,
                                     std::size_t size) {
    constexpr std::size_t kSignColumns = 1024;
    float counts[kSignColumns];
    for (std::size_t first = 0; first < size; first += kSignColumns) {
        const std::size_t width = std::min(kSignColumns, size - first);
        for (std::size_t c = 0; c < width; ++c) counts[c] = 0.0F;
        for (const float* values : updates)
            for (std::size_t c = 0; c < width; ++c) counts[c] += element::sign(values[first + c]);
        for (std::size_t c = 0; c < width; ++c)
            out[first + c] = majority ? element::sign(counts[c]) : element::robust_rate(out[first + c], counts[c], threshold);
    }
}

class SignRule final : public Aggregator {
public:
    SignRule(ColumnRule rule, double number) : rule_(rule), number_(number) {}

    ColumnRule column_rule() const override { return rule_; }
    double column_number() const override { return number_; }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        mean_->zero_init(num_floats, space);
        if (out_.span().size != num_floats || out_.span().space != space) out_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override {
        updates_.add_one_client(update, "a count of signs");
        mean_->aggregate(update);
    }

    Aggregate finish() override {
        const std::vector<const float*> values = (updates_.all(), updates_.pointers());
        Aggregate result = mean_->finish();
        copy(out_, result.values);
        result.values = out_;
        const bool majority = rule_ == ColumnRule::SignMajority;
        const auto threshold = static_cast<float>(number_);
        dispatch(
            updates_.space(), [&] { by_signs_on_host(out_.span().data, values, threshold, majority, updates_.num_floats()); },
            [&] {
                return kernels::by_signs(out_.span().data, values.data(), values.size(), threshold, majority,
                                         updates_.num_floats());
            });
        return result;
    }

private:
    ColumnRule rule_;
    double number_;
    UpdateList updates_;
    std::unique_ptr<Aggregator> mean_ = make_mean();
    ParamBuffer out_;
};

}  // namespace

std::unique_ptr<Aggregator> make_sign_majority() { return std::make_unique<SignRule>(ColumnRule::SignMajority, 0.0); }

std::unique_ptr<Aggregator> make_robust_rate(double threshold) {
    return std::make_unique<SignRule>(ColumnRule::RobustRate, threshold);
}

}  // namespace fedhive::aggregation
