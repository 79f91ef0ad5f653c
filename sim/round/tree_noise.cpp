#include "sim/round/tree_noise.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <bit>

namespace fedhive::sim {

std::vector<TreeNode> nodes_of(std::uint64_t rounds) {
    std::vector<TreeNode> nodes;
    for (std::uint64_t end = rounds; end > 0; end &= end - 1)
        nodes.push_back({end, static_cast<std::uint32_t>(std::countr_zero(end))});
    return nodes;
}

TreeNoise::TreeNoise(const std::optional<NoiseTree>& tree, const clients::UploadPlan& upload, std::uint64_t seed,
                     const aggregation::Layout& layout, const clients::LocalPart& local)
    : tree_(tree), seed_(seed), layout_(layout), local_(local) {
    if (!tree_) return;
    FEDHIVE_CHECK(upload.size > 0, "a tree's noise without a clip");
    const clients::UploadStep& last = upload.steps.at(upload.size - 1);
    FEDHIVE_CHECK(clients::upload_catalog().at(last.kind).bounds, "a tree's noise needs a chain that ends with a clip");
    of_node_ = tree_->multiplier * last.numbers[0];
}

/// Rounds of the tree of `round` up to its last step; 0 if that was of an earlier tree.
std::uint64_t TreeNoise::rounds_before(std::int64_t round, std::int64_t last_step) const {
    const auto every = static_cast<std::int64_t>(tree_->restart_every);
    if (last_step == 0 || (last_step - 1) / every != round / every) return 0;
    return static_cast<std::uint64_t>((last_step - 1) % every + 1);
}

aggregation::Aggregate TreeNoise::completed(const aggregation::Aggregate& mean, std::int64_t round, std::int64_t last_step) {
    if (!tree_) return mean;
    if (sum_.span().size == 0) sum_ = aggregation::ParamBuffer(mean.values.size, mean.values.space);
    aggregation::copy(sum_, mean.values);
    const aggregation::ParamSpan model = sum_.span().first(layout_.num_floats());
    const auto in_tree = static_cast<std::uint64_t>(round) % tree_->restart_every;
    const std::uint64_t first = static_cast<std::uint64_t>(round) - in_tree;
    const std::vector<TreeNode> now = nodes_of(in_tree + 1), before = nodes_of(rounds_before(round, last_step));
    const double std = of_node_ / mean.weight;
    add_nodes(model, first, now, before, std);
    add_nodes(model, first, before, now, -std);
    local_.hide(model, mean.values.part(0, model.size));
    return {sum_, mean.weight, mean.clients};
}

/// Adds the noise of `nodes` that are not in `without`; first: the tree's first round.
void TreeNoise::add_nodes(aggregation::ParamSpan model, std::uint64_t first, const std::vector<TreeNode>& nodes,
                          const std::vector<TreeNode>& without, double std) const {
    for (const TreeNode& node : nodes) {
        if (std::ranges::find(without, node) != without.end()) continue;
        const auto end = static_cast<std::uint32_t>(first + node.end);
        clients::add_noise(model, layout_, Stream(seed_, Purpose::TreeNoise, end, node.level).next_u64(), std);
    }
}

}  // namespace fedhive::sim
