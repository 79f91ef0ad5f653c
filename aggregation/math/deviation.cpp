#include "aggregation/math/deviation.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <vector>

namespace fedhive::aggregation {

namespace {

FEDHIVE_CLONES void deviation_on_host(float* out, const std::vector<const float*>& updates, std::size_t size) {
    constexpr std::size_t kColumns = 512;
    double means[kColumns], squares[kColumns];
    const auto count = static_cast<double>(updates.size());
    for (std::size_t first = 0; first < size; first += kColumns) {
        const std::size_t width = std::min(kColumns, size - first);
        for (std::size_t c = 0; c < width; ++c) means[c] = squares[c] = 0.0;
        for (const float* values : updates)
            for (std::size_t c = 0; c < width; ++c) means[c] += static_cast<double>(values[first + c]);
        for (std::size_t c = 0; c < width; ++c) means[c] /= count;
        for (const float* values : updates)
            for (std::size_t c = 0; c < width; ++c) squares[c] += element::squared_deviation(values[first + c], means[c]);
        for (std::size_t c = 0; c < width; ++c) out[first + c] = element::deviation(squares[c], count);
    }
}

class Deviation final : public Aggregator {
public:
    ColumnRule column_rule() const override { return ColumnRule::Deviation; }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        if (out_.span().size != num_floats || out_.span().space != space) out_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override { updates_.add_one_client(update, "the deviation"); }

    Aggregate finish() override {
        const std::size_t count = updates_.all().size();
        const std::vector<const float*> values = updates_.pointers();
        float* out = out_.span().data;
        const std::size_t size = updates_.num_floats();
        dispatch(
            updates_.space(), [&] { deviation_on_host(out, values, size); },
            [&] { return kernels::deviation(out, values.data(), count, size); });
        return {out_, updates_.weight(), updates_.num_clients()};
    }

private:
    UpdateList updates_;
    ParamBuffer out_;
};

}  // namespace

std::unique_ptr<Aggregator> make_deviation() { return std::make_unique<Deviation>(); }

}  // namespace fedhive::aggregation
