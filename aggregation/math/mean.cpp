#include "aggregation/math/mean.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/tree_mean.h"
#include "aggregation/math/update_list.h"
#include "aggregation/math/vector_ops.h"

#include <bit>
#include <cmath>
#include <limits>

namespace fedhive::aggregation {

namespace {

/// Whether the stack's neighbours a < b must be folded before position `next`: their smallest
/// common subtree does not contain `next`.
bool subtree_is_complete(std::size_t a, std::size_t b, std::size_t next) {
    return std::bit_width(a ^ b) < std::bit_width(b ^ next);
}

/// The weighted sum of updates; with `divides`, divided by the sum of their weights.
class Mean final : public Aggregator {
public:
    explicit Mean(bool divides) : divides_(divides) {}

    ColumnRule column_rule() const override { return divides_ ? ColumnRule::Mean : ColumnRule::Sum; }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        if (mean_.span().size != num_floats || mean_.span().space != space) mean_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override { updates_.add(update); }

    Aggregate finish() override {
        std::vector<std::size_t> positions;
        std::vector<double> scales;
        std::vector<double> weights;
        for (const Update& update : updates_.all()) {
            positions.push_back(update.position);
            scales.push_back(update.scale);
            weights.push_back(update.weight);
        }
        const double total = sum_weights(positions, weights);
        if (!(total > 0.0 && std::isfinite(total))) throw Fault(fmt::format("cannot divide by a sum of weights of {}", total));
        const std::vector<const float*> values = updates_.pointers();
        const std::vector<std::uint8_t> folds = tree_folds(positions);
        const element::TreeTerms terms{values.data(), scales.data(), folds.data(), values.size(), divides_ ? total : 1.0};
        float* out = mean_.span().data;
        dispatch(
            updates_.space(), [&] { tree_mean(out, terms, updates_.num_floats()); },
            [&] { return kernels::tree_mean(out, terms, updates_.num_floats()); });
        return {mean_, total, updates_.num_clients()};
    }

private:
    bool divides_;
    UpdateList updates_;
    ParamBuffer mean_;
};

}  // namespace

std::vector<std::uint8_t> tree_folds(std::span<const std::size_t> positions) {
    std::vector<std::uint8_t> folds;
    std::vector<std::size_t> stack;
    for (const std::size_t position : positions) {
        FEDHIVE_CHECK(position <= std::numeric_limits<std::uint32_t>::max(), "position {}", position);
        if (!stack.empty()) FEDHIVE_CHECK(position > stack.back(), "{} after {}", position, stack.back());
        std::uint8_t count = 0;
        for (; stack.size() > 1 && subtree_is_complete(stack[stack.size() - 2], stack.back(), position); ++count)
            stack.pop_back();
        folds.push_back(count);
        stack.push_back(position);
    }
    return folds;
}

double sum_weights(std::span<const std::size_t> positions, std::span<const double> weights) {
    FEDHIVE_CHECK_EQ(positions.size(), weights.size());
    FEDHIVE_CHECK(!weights.empty(), "no weights");
    std::vector<double> sums;
    const auto fold = [&] {
        const double top = sums.back();
        sums.pop_back();
        sums.back() += top;
    };
    const std::vector<std::uint8_t> folds = tree_folds(positions);
    for (std::size_t k = 0; k < weights.size(); ++k) {
        for (std::size_t i = 0; i < folds[k]; ++i) fold();
        sums.push_back(weights[k]);
    }
    while (sums.size() > 1) fold();
    return sums.front();
}

SlotSum::SlotSum(std::size_t num_floats, MemorySpace space) : num_floats_(num_floats), space_(space) {}

void SlotSum::zero_init() {
    next_position_ = 0;
    stack_.clear();
}

/// A term at an odd position is added to its neighbour's sum directly: the bits of scaling it and folding it next, in one pass.
SlotSum::Term SlotSum::next_term() {
    while (stack_.size() > 1 && subtree_is_complete(stack_[stack_.size() - 2], stack_.back(), next_position_)) fold_top();
    const std::size_t position = next_position_++;
    if (position % 2 == 1 && !stack_.empty() && stack_.back() == position - 1) return {buffers_[stack_.size() - 1], true};
    if (buffers_.size() == stack_.size()) buffers_.emplace_back(num_floats_, space_);
    stack_.push_back(position);
    return {buffers_[stack_.size() - 1], false};
}

void SlotSum::add(ConstParamSpan update, double weight) {
    const auto [sum, joins] = next_term();
    joins ? add_scaled(sum, update, weight) : scale(sum, update, weight);
}

void SlotSum::add_update(ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals) {
    const auto [sum, joins] = next_term();
    joins ? add_scaled_update(sum, local, global, weight, totals) : scale_update(sum, local, global, weight, totals);
}

void SlotSum::finish(ParamSpan slot) {
    FEDHIVE_CHECK(!stack_.empty(), "finish() before any update was added");
    while (stack_.size() > 1) fold_top();
    copy(slot, buffers_.front());
}

void SlotSum::fold_top() {
    stack_.pop_back();
    aggregation::add(buffers_[stack_.size() - 1], buffers_[stack_.size()]);
}

std::unique_ptr<Aggregator> make_mean() { return std::make_unique<Mean>(true); }

std::unique_ptr<Aggregator> make_sum() { return std::make_unique<Mean>(false); }

std::vector<std::size_t> partial_sums(std::span<const std::size_t> positions, std::span<const std::uint32_t> owners) {
    FEDHIVE_CHECK_EQ(positions.size(), owners.size());
    std::vector<std::size_t> counts;
    for (std::size_t begin = 0; begin < positions.size();) {
        std::size_t end = begin + 1;
        // Doubles the aligned block while it contains neither another owner's update nor one of an earlier sum.
        for (std::size_t bits = 1; bits < std::numeric_limits<std::uint32_t>::digits; ++bits) {
            const std::size_t first = positions[begin] >> bits << bits;
            const std::size_t last = first + (std::size_t{1} << bits) - 1;
            if (begin > 0 && positions[begin - 1] >= first) break;
            std::size_t further = end;
            while (further < positions.size() && positions[further] <= last && owners[further] == owners[begin]) ++further;
            if (further < positions.size() && positions[further] <= last) break;
            end = further;
            if (end == positions.size()) break;
        }
        counts.push_back(end - begin);
        begin = end;
    }
    return counts;
}

}  // namespace fedhive::aggregation
