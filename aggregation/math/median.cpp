#include "aggregation/math/median.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// Moves the smaller key of two rows to row `low`, the larger to row `high`.
struct Comparator {
    std::size_t low;
    std::size_t high;
};

/// Batcher's merge exchange for any number of rows (Knuth, The Art of Computer Programming, vol. 3, 5.2.2, Algorithm M),
/// without the comparators that do not affect the middle rows.
std::vector<Comparator> median_network(std::size_t rows) {
    std::vector<Comparator> sorting;
    std::size_t top = 1;
    while (top * 2 < rows) top *= 2;
    for (std::size_t p = top; p > 0; p /= 2) {
        std::size_t q = top;
        std::size_t r = 0;
        for (std::size_t d = p; d > 0; d = q - p, q /= 2, r = p)
            for (std::size_t i = 0; i + d < rows; ++i)
                if ((i & p) == r) sorting.push_back({i, i + d});
    }
    std::vector<bool> needed(rows, false);
    needed[(rows - 1) / 2] = needed[rows / 2] = true;
    std::vector<Comparator> network;
    std::reverse(sorting.begin(), sorting.end());
    for (const Comparator& step : sorting) {
        if (!needed[step.low] && !needed[step.high]) continue;
        needed[step.low] = needed[step.high] = true;
        network.push_back(step);
    }
    std::reverse(network.begin(), network.end());
    return network;
}

constexpr std::size_t kBlockColumns = 64;  // columns of a block: four vectors of 512 bits per row

inline __attribute__((always_inline)) void exchange(std::int32_t* __restrict low, std::int32_t* __restrict high) {
    for (std::size_t c = 0; c < kBlockColumns; ++c) {
        const std::int32_t a = low[c];
        const std::int32_t b = high[c];
        low[c] = b < a ? b : a;
        high[c] = b < a ? a : b;
    }
}

/// keys: room for `count` rows of kBlockColumns.
FEDHIVE_CLONES void median_on_host(float* out, const std::vector<const float*>& updates, const std::vector<Comparator>& network,
                                   std::int32_t* keys, std::size_t size) {
    const std::size_t count = updates.size();
    for (std::size_t first = 0; first < size; first += kBlockColumns) {
        const std::size_t width = std::min(kBlockColumns, size - first);
        for (std::size_t k = 0; k < count; ++k)
            for (std::size_t c = 0; c < width; ++c) keys[k * kBlockColumns + c] = element::order_key(updates[k][first + c]);
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

AggregatorSpec median() {
    return {.name = "median",
            .summary = "the coordinate-wise median, which tolerates a minority of arbitrarily wrong clients (arXiv:1803.01498)",
            .single_updates = true,
            .weighs = false,
            .build = [](const Values&) { return make_median(); }};
}

}  // namespace fedhive::aggregation
