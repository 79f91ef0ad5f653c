// Weighted mean of the updates of a round: out[i] = sum_k f32(w_k * u_k[i]) / sum_k w_k.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/element_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// The fixed summation tree over positions, which number the clients of the cohort from 0. Position 1 is added to 0, 3 to 2, then 2 to 0,
/// and so on; missing positions are skipped. An aligned run of 2^n positions is a subtree, and the tree depends on the cohort only.
/// So neither the number of workers nor the number of clients in a slot changes a bit.
///
/// Returns, for each position in turn, the number of partial sums on the stack to fold (top into the one below) *before* that
/// position's term is pushed; at the end the stack is folded from the top. positions: strictly
/// increasing, below 2^32; throws Fault.
std::vector<std::uint8_t> tree_folds(std::span<const std::size_t> positions);

/// The sum of weights over the same tree, in double. Update::weight of a slot with several clients is computed with it, so that
/// non-integer weights, too, give the same bits for every slot size. One weight for each position; at least one.
double sum_weights(std::span<const std::size_t> positions, std::span<const double> weights);

/// Σ_k f32(w_k * u_k) over the same tree, one update at a time: the content of a slot that holds several clients' updates.
/// Memory: log2(clients) buffers, at least one, each as long as an update.
class SlotSum {
public:
    SlotSum(std::size_t num_floats, MemorySpace space);

    void zero_init();
    void add(ConstParamSpan update, double weight);  // next position
    void skip() { ++next_position_; }                // next position has no update
    void finish(ParamSpan slot);                     // slot = the sum; at least one add before

    /// add(local - global, weight) without storing the difference; adds its summary to `totals` as write_update() does.
    void add_update(ConstParamSpan local, ConstParamSpan global, double weight, element::ChunkSummary& totals);

private:
    struct Term {
        ParamSpan sum;
        bool joins = false;  // true: the term is added to the sum of the previous position; false: it starts a sum
    };
    Term next_term();
    void fold_top();

    std::size_t num_floats_;
    MemorySpace space_;
    std::size_t next_position_ = 0;
    std::vector<ParamBuffer> buffers_;  // the largest number needed so far
    std::vector<std::size_t> stack_;    // first positions of the partial sums; buffers_[i] holds the sum of stack_[i]
};

/// out[i] = sum_k f32(w_k * u_k[i]) / sum_k w_k.
///
/// Shapes   updates: K vectors of P floats; K >= 1.   Cost: 4*P*(K+1) bytes of traffic in one pass.
/// Order    tree_folds over the slots' positions; terms and sums in f32, division by sum_k w_k in double, rounded once.
/// Source   McMahan et al. 2017 (arXiv:1602.05629), Algorithm 1, server update.
/// Differs  sums over the accepted clients only, so weights are renormalised when clients fail.
std::unique_ptr<Aggregator> make_mean();

/// out[i] = sum_k f32(w_k * u_k[i]): the part that some updates contribute to the mean over all, if they form a subtree. The result
/// has the bits of a slot that holds the same clients, to be used with scale 1 and weight sum_k w_k.
std::unique_ptr<Aggregator> make_sum();

/// Cuts a sequence of updates into runs, each of which one owner (a rank) can sum alone; returns the number of updates of each run, in
/// order. A run is the largest subtree of tree_folds whose updates have one owner, so that the mean over the sums has the bits of the
/// mean over the updates. positions: one for each update, strictly increasing; owners: one for each update.
std::vector<std::size_t> partial_sums(std::span<const std::size_t> positions, std::span<const std::uint32_t> owners);

}  // namespace fedhive::aggregation
