// Noise of DP-FTRL: binary-tree aggregation (Dwork et al. 2010; Chan, Shi and Song 2011) over the rounds, as in Kairouz et al.
// 2021, arXiv:2103.00039. The server adds it. What it costs: tree_nodes() in sim/privacy/accountant.h.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/uploads/upload.h"
#include "sim/privacy/accountant.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fedhive::sim {

/// A node: it covers the rounds (end - 2^level, end] of its tree, counted from 1.
struct TreeNode {
    std::uint64_t end = 0;
    std::uint32_t level = 0;
    bool operator==(const TreeNode&) const = default;
};

/// The nodes whose sum covers the first `rounds` rounds of a tree: one for each 1 in its binary digits. Empty for 0.
std::vector<TreeNode> nodes_of(std::uint64_t rounds);

class TreeNoise {
public:
    /// tree: empty: no noise. upload: its last step is the clip. seed: that of the clients' training. layout: the model's; local:
    /// the part of the model that never travels.
    TreeNoise(const std::optional<NoiseTree>& tree, const clients::UploadPlan& upload, std::uint64_t seed,
              const aggregation::Layout& layout, const clients::LocalPart& local);

    const std::optional<NoiseTree>& tree() const { return tree_; }

    /// The step of `round`, from 0, is the first one of its tree. last_step: last round with a step, from 1; 0: none.
    bool begins(std::int64_t round, std::int64_t last_step) const { return rounds_before(round, last_step) == 0; }

    /// mean + (N_t - N_s) / weight: N_t is the noise of the nodes of the tree's first t rounds, t with this one and s up to its last
    /// step. So the sum of the means times their weights has the noise N_t. Each value of a node's noise is normal with standard
    /// deviation multiplier · C. `mean` itself without a tree.
    ///
    /// Order    noise keyed by (seed, node): same bits on every rank and after a resume.
    /// Cost     two vectors of normals on average, log2(t) at most.
    aggregation::Aggregate completed(const aggregation::Aggregate& mean, std::int64_t round, std::int64_t last_step);

private:
    std::uint64_t rounds_before(std::int64_t round, std::int64_t last_step) const;
    void add_nodes(aggregation::ParamSpan model, std::uint64_t first, const std::vector<TreeNode>& nodes,
                   const std::vector<TreeNode>& without, double std) const;

    std::optional<NoiseTree> tree_;
    double of_node_ = 0.0;  // standard deviation
    std::uint64_t seed_;
    aggregation::Layout layout_;
    clients::LocalPart local_;
    aggregation::ParamBuffer sum_;
};

}  // namespace fedhive::sim
