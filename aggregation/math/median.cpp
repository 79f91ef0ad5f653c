#include "aggregation/math/median.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/sorting_network.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// The comparisons that bring the middle rows to their places.
std::vector<Comparator> median_network(std::size_t rows) {
    std::vector<bool> needed(rows, false);
    needed[(rows - 1) / 2] = needed[rows / 2] = true;
    return sorting_network(rows, std::move(needed));
}

/// keys: room for `count` rows of kBlockColumns.
FEDHIVE_CLONES void median_on_host(float* out, const std::vector<const float*>& updates, const std::vector<Comparator>& network,
                                   std::int32_t* keys, std::size_t size) {
    const std::size_t count = updates.size();
    for (std::size_t first = 0; first < size; first += kBlockColumns) {
        const std::size_t width = std::min(kBlockColumns, size - first);
        write_keys(keys, updates, first, width);
        for (const Comparator& step : network) exchange(keys + step.low * kBlockColumns, keys + step.high * kBlockColumns);
        const std::int32_t* lower = keys + (count - 1) / 2 * kBlockColumns;
        const std::int32_t* upper = keys + count / 2 * kBlockColumns;
        for (std::size_t c = 0; c < width; ++c) out[first + c] = element::middle(lower[c], upper[c]);
    }
}

class Median final : public Aggregator {
public:
    ColumnRule column_rule() const override { return ColumnRule::Median; }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        if (median_.span().size != num_floats || median_.span().space != space) median_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override { updates_.add_one_client(update, "the median"); }

    Aggregate finish() override {
        const std::size_t count = updates_.all().size();
        const std::vector<const float*> values = updates_.pointers();
        float* out = median_.span().data;
        const std::size_t size = updates_.num_floats();
        dispatch(
            updates_.space(),
            [&] {
                std::vector<std::int32_t> keys(count * kBlockColumns);
                median_on_host(out, values, median_network(count), keys.data(), size);
            },
            [&] { return kernels::median(out, values.data(), count, size); });
        return {median_, updates_.weight(), updates_.num_clients()};
    }

private:
    UpdateList updates_;
    ParamBuffer median_;
};

}  // namespace

std::unique_ptr<Aggregator> make_median() { return std::make_unique<Median>(); }

}  // namespace fedhive::aggregation
