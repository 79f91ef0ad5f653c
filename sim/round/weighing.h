// Weights at the barrier: a strategy's weight rule weighs the updates that have arrived, before they are combined.
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/group_means.h"
#include "aggregation/cohort/pre_aggregation.h"
#include "aggregation/cohort/weight_rule.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/server_optimizer.h"
#include "aggregation/memory/arena.h"
#include "clients/protocol/reports.h"
#include "sim/round/flight.h"
#include "sim/strategies/strategy.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// Inner products of these updates, in their order, with updates[base] as r (inner_products.h). Only called if the rule needs them.
/// history_of: empty, or the updates' clients; then the products are of each update plus the sum of its client's earlier ones.
using TakeProducts = std::function<aggregation::InnerProducts(std::span<const aggregation::Update> updates, std::size_t base,
                                                              std::span<const std::uint32_t> history_of)>;

/// Updates with coefficients as scales and weights: for the aggregate, and for each further sum that the server reads.
struct WeighedUpdates {
    std::vector<aggregation::Update> of_aggregate;
    std::vector<std::vector<aggregation::Update>> further{};
};

class Weighing {
public:
    /// `strategy`'s weight rule and `arena` outlive this. local: with the client rate before its schedule. reports: the list of the
    /// run's clients.
    /// seed: of the draws of a grouping.
    Weighing(const Strategy& strategy, const aggregation::LocalSteps& local, const clients::Reports& reports,
             const aggregation::Arena& arena, const aggregation::Memories& memories, std::uint64_t num_clients,
             std::uint64_t seed = 0);

    /// The updates with the rule's coefficients as scales and weights, without those of coefficient 0; the last aggregate comes
    /// after them if the rule keeps it. Without a rule: the updates as they arrived. With groups, the rule weighs their means;
    /// an aggregator that combines them column by column is told the groups and gets the updates as they arrived. Throws Fault
    /// for a coefficient that is not finite.
    /// sent: the region that the clients got.
    WeighedUpdates weighed(const Arrivals& arrived, std::int64_t round, aggregation::ConstParamSpan sent,
                           const TakeProducts& products) const;

    /// The method's numbers of the server in a region, in its order.
    std::vector<double> server_numbers_in(aggregation::ConstParamSpan region) const;

    /// The clients of the updates, in their order; each slot has one.
    std::vector<aggregation::Sender> senders_of(const Arrivals& arrived) const;

    /// How far each client's labels are from evenly spread, by client, for a rule that asks for it.
    void set_label_discrepancies(std::vector<double> discrepancies) { label_discrepancies_ = std::move(discrepancies); }

    /// Call with each aggregate, before the server's step.
    void keep(const aggregation::Aggregate& aggregate) const;

    /// What a checkpoint keeps: the last aggregate as a vector, and the rule's own state as text. restore() is false if `state`
    /// cannot be from this rule.
    std::vector<aggregation::Moment> moments() const;
    std::string state() const { return rule_ == nullptr ? "" : rule_->state(); }
    bool restore(const std::string& state) const { return rule_ == nullptr ? state.empty() : rule_->restore(state); }

private:
    /// What the rule gives to `senders` and their products.
    aggregation::Coefficients weighed(const std::vector<aggregation::Sender>& senders,
                                      const aggregation::InnerProducts* products, std::int64_t round,
                                      std::span<const double> server_numbers = {}) const;
    std::vector<aggregation::Update> of_groups(const std::vector<aggregation::Update>& rows,
                                               const std::vector<aggregation::Sender>& senders,
                                               const aggregation::InnerProducts* products, std::int64_t round) const;
    std::vector<aggregation::Update> rows_of_products(const Arrivals& arrived) const;
    aggregation::Update last_aggregate(const Arrivals& arrived) const;

    aggregation::WeightRule* rule_;
    const aggregation::PreAggregationSpec& grouping_;
    Values of_grouping_;                    // values of its keys
    aggregation::GroupMeans* group_means_;  // null: the aggregator is linear, or there are no groups
    std::uint64_t seed_;
    bool needs_products_;
    std::vector<double> label_discrepancies_{};  // by client; empty: the rule does not ask
    std::optional<std::size_t> sent_loss_{};     // its place among the clients' reports
    std::vector<std::size_t> told_{};            // the places of Strategy::reports
    std::vector<std::string> numbers_{};         // the method's numbers of the server
    aggregation::Memories memories_;
    bool of_sum_;                             // the aggregator does not divide by the sum of the weights
    bool needs_root_;                         // the rule takes products with the root client's update
    bool needs_histories_;                    // the rule takes products of the clients' histories
    std::optional<std::size_t> last_slot_{};  // the last aggregate, if the rule keeps it
    aggregation::LocalSteps local_;
    LrSchedule lr_schedule_;
    const aggregation::Arena& arena_;
    std::uint64_t num_clients_;
};

}  // namespace fedhive::sim
