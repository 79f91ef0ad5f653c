#include "aggregation/math/trimmed_mean.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/sorting_network.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <vector>

namespace fedhive::aggregation {

namespace {

/// The updates of a round, and what is left out of each column: `below` values at its lower end and `above` at its upper one.
/// around_median: their sum alone is fixed, and each column chooses `below`.
struct Trim {
    std::size_t below = 0;
    std::size_t above = 0;
    bool around_median = false;
};

/// The first value of the window of `kept` values around the median of sorted[0] to sorted[count - 1], for each column.
inline __attribute__((always_inline)) void windows(std::int32_t* begin, const std::int32_t* sorted, std::size_t count,
                                                   std::size_t kept) {
    for (std::size_t c = 0; c < kBlockColumns; ++c) begin[c] = 0;
    const std::int32_t* lower = sorted + (count - 1) / 2 * kBlockColumns;
    const std::int32_t* upper = sorted + count / 2 * kBlockColumns;
    for (std::size_t at = 0; at + kept < count; ++at)
        for (std::size_t c = 0; c < kBlockColumns; ++c) {
            const double middle = element::exact_middle(lower[c], upper[c]);
            const bool moves =
                element::is_closer(sorted[(at + kept) * kBlockColumns + c], sorted[at * kBlockColumns + c], middle);
            begin[c] += moves && begin[c] == static_cast<std::int32_t>(at) ? 1 : 0;
        }
}

/// The columns of a block: their updates' keys, and the bounds of what each column keeps.
struct Block {
    const std::int32_t* keys;         // [count][kBlockColumns]
    std::int32_t low[kBlockColumns];  // the smallest and the largest key that are kept
    std::int32_t high[kBlockColumns];
    std::int32_t begin[kBlockColumns];  // sorted position of the first value that is kept
};

/// Tree sums of rows of a block, as mean.h has them.
class TreeSums {
public:
    /// The row of the next term, after the folds before it.
    inline __attribute__((always_inline)) float* next(std::size_t folds) {
        for (; folds > 0; --folds, --depth_) element::add_row(sums_[depth_ - 2], sums_[depth_ - 1], kBlockColumns);
        return sums_[depth_++];
    }

    inline __attribute__((always_inline)) const float* finish() {
        for (; depth_ > 1; --depth_) element::add_row(sums_[depth_ - 2], sums_[depth_ - 1], kBlockColumns);
        depth_ = 0;
        return sums_[0];
    }

private:
    float sums_[element::kMaxTreeDepth][kBlockColumns]{};
    std::size_t depth_ = 0;
};

/// The sum of all values from low to high; nullptr if that is more than `kept` values in a column, since values equal the bounds.
inline __attribute__((always_inline)) const float* sum_between(TreeSums& sums, const Block& block,
                                                               const std::vector<std::uint8_t>& folds, std::size_t kept) {
    std::int32_t found[kBlockColumns] = {};
    for (std::size_t k = 0; k < folds.size(); ++k) {
        const std::int32_t* row = block.keys + k * kBlockColumns;
        float* top = sums.next(folds[k]);
        for (std::size_t c = 0; c < kBlockColumns; ++c) {
            const bool in = row[c] >= block.low[c] && row[c] <= block.high[c];
            found[c] += in ? 1 : 0;
            top[c] = in ? element::float_of_key(row[c]) : 0.0F;
        }
    }
    const float* sum = sums.finish();
    std::int32_t more = 0;
    for (const std::int32_t in_column : found) more |= in_column ^ static_cast<std::int32_t>(kept);
    return more == 0 ? sum : nullptr;
}

/// The same for any columns: of the values equal to `low`, the first ones are left out; of those equal to `high`, the last ones.
inline __attribute__((always_inline)) const float* sum_with_ties(TreeSums& sums, const Block& block,
                                                                 const std::vector<std::uint8_t>& folds,
                                                                 std::int32_t left_out) {
    std::int32_t first_low[kBlockColumns], end_high[kBlockColumns], seen_low[kBlockColumns] = {}, seen_high[kBlockColumns] = {};
    for (std::size_t c = 0; c < kBlockColumns; ++c) {
        first_low[c] = block.begin[c];
        end_high[c] = block.begin[c] - left_out;
    }
    for (std::size_t k = 0; k < folds.size(); ++k)
        for (std::size_t c = 0; c < kBlockColumns; ++c) {
            const std::int32_t key = block.keys[k * kBlockColumns + c];
            first_low[c] -= key < block.low[c] ? 1 : 0;
            end_high[c] += key >= block.high[c] ? 1 : 0;
        }
    for (std::size_t k = 0; k < folds.size(); ++k) {
        const std::int32_t* row = block.keys + k * kBlockColumns;
        float* top = sums.next(folds[k]);
        for (std::size_t c = 0; c < kBlockColumns; ++c) {  // without branches, so that columns go side by side
            const std::int32_t is_low = row[c] == block.low[c] ? 1 : 0, is_high = row[c] == block.high[c] ? 1 : 0;
            const std::int32_t is_out = (row[c] < block.low[c] ? 1 : 0) | (row[c] > block.high[c] ? 1 : 0) |
                                        (is_low & (seen_low[c] < first_low[c] ? 1 : 0)) |
                                        (is_high & (seen_high[c] >= end_high[c] ? 1 : 0));
            seen_low[c] += is_low;
            seen_high[c] += is_high;
            top[c] = is_out == 0 ? element::float_of_key(row[c]) : 0.0F;
        }
    }
    return sums.finish();
}

/// sorted, keys: room for `count` rows of kBlockColumns.
FEDHIVE_CLONES void trimmed_mean_on_host(float* out, const std::vector<const float*>& updates,
                                         const std::vector<std::uint8_t>& folds, const Trim& trim,
                                         const std::vector<Comparator>& network, std::int32_t* keys, std::int32_t* sorted,
                                         std::size_t size) {
    const std::size_t count = updates.size(), left_out = trim.below + trim.above, kept = count - left_out;
    TreeSums sums;
    Block block{};
    block.keys = keys;
    for (std::size_t first = 0; first < size; first += kBlockColumns) {
        const std::size_t width = std::min(kBlockColumns, size - first);
        write_keys(keys, updates, first, width);
        write_keys(sorted, updates, first,
                   width);  // not a copy: where both are a page apart, its loads would wait for its stores
        for (const Comparator& step : network) exchange(sorted + step.low * kBlockColumns, sorted + step.high * kBlockColumns);
        if (trim.around_median)
            windows(block.begin, sorted, count, kept);
        else
            std::fill(block.begin, block.begin + kBlockColumns, static_cast<std::int32_t>(trim.below));
        for (std::size_t c = 0; c < kBlockColumns; ++c) {
            const auto at = static_cast<std::size_t>(block.begin[c]);
            block.low[c] = sorted[at * kBlockColumns + c];
            block.high[c] = sorted[(at + kept - 1) * kBlockColumns + c];
        }
        const float* sum = sum_between(sums, block, folds, kept);
        if (sum == nullptr) sum = sum_with_ties(sums, block, folds, static_cast<std::int32_t>(left_out));
        for (std::size_t c = 0; c < width; ++c) out[first + c] = element::divided(sum[c], static_cast<double>(kept));
    }
}

class TrimmedMean final : public Aggregator {
public:
    TrimmedMean(ColumnRule rule, double number) : rule_(rule), number_(number) {}

    ColumnRule column_rule() const override { return rule_; }
    double column_number() const override { return number_; }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        if (mean_.span().size != num_floats || mean_.span().space != space) mean_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override { updates_.add_one_client(update, "a mean over a column's middle"); }

    Aggregate finish() override {
        const std::vector<Update>& all = updates_.all();
        const std::size_t count = all.size();
        std::vector<std::size_t> positions;
        positions.reserve(count);
        for (const Update& update : all) positions.push_back(update.position);
        const std::vector<std::uint8_t> folds = tree_folds(positions);
        const std::vector<const float*> values = updates_.pointers();
        const Trim trim = trim_of(count);
        float* out = mean_.span().data;
        const std::size_t size = updates_.num_floats();
        dispatch(
            updates_.space(),
            [&] {
                std::vector<std::int32_t> keys(count * kBlockColumns), sorted(count * kBlockColumns);
                trimmed_mean_on_host(out, values, folds, trim, network(count, trim), keys.data(), sorted.data(), size);
            },
            [&] {
                return kernels::trimmed_mean(out, {values.data(), nullptr, folds.data(), count, 0.0}, trim.below, trim.above,
                                             trim.around_median, size);
            });
        return {mean_, updates_.weight(), updates_.num_clients()};
    }

private:
    Trim trim_of(std::size_t count) const {
        if (rule_ == ColumnRule::MeanAroundMedian) return {0, std::min(static_cast<std::size_t>(number_), count - 1), true};
        const auto end = static_cast<std::size_t>(number_ * static_cast<double>(count));
        return {end, end, false};
    }

    static std::vector<Comparator> network(std::size_t count, const Trim& trim) {
        std::vector<bool> needed(count, trim.around_median);
        if (!trim.around_median) needed[trim.below] = needed[count - 1 - trim.above] = true;
        return sorting_network(count, std::move(needed));
    }

    ColumnRule rule_;
    double number_;
    UpdateList updates_;
    ParamBuffer mean_;
};

}  // namespace

std::unique_ptr<Aggregator> make_trimmed_mean(double share) {
    return std::make_unique<TrimmedMean>(ColumnRule::TrimmedMean, share);
}

std::unique_ptr<Aggregator> make_mean_around_median(double left_out) {
    return std::make_unique<TrimmedMean>(ColumnRule::MeanAroundMedian, left_out);
}

}  // namespace fedhive::aggregation
