// A rule over means of groups of the updates, column by column.
#pragma once

#include "aggregation/cohort/pre_aggregation.h"
#include "aggregation/math/aggregator.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/update_list.h"
#include "aggregation/memory/param_buffer.h"

#include <memory>
#include <utility>

namespace fedhive::aggregation {

/// out = rule(y_1, …, y_G), y_g the plain mean of the updates of group g; weights and scales of updates are ignored.
///
/// Memory   G × one block of columns for the y_g, and one vector of the model's P floats for the result.
class GroupMeans final : public Aggregator {
public:
    /// rule: one that combines column by column.
    explicit GroupMeans(std::unique_ptr<Aggregator> rule) : rule_(std::move(rule)) {}

    ColumnRule column_rule() const override { return rule_->column_rule(); }
    double column_number() const override { return rule_->column_number(); }
    const Groups* groups() const override { return &groups_; }

    /// Sets the groups of the next finish(); an update's index counts the calls of aggregate().
    void set_groups(Groups groups) { groups_ = std::move(groups); }

    void zero_init(std::size_t num_floats, MemorySpace space) override;
    void aggregate(const Update& update) override { updates_.add_one_client(update, "a mean of groups"); }
    Aggregate finish() override;

private:
    void means_of_block(std::size_t first, std::size_t size);

    std::unique_ptr<Aggregator> rule_;
    std::unique_ptr<Aggregator> mean_ = make_mean();
    Groups groups_;
    UpdateList updates_;
    ParamBuffer rows_;  // [G × block]
    ParamBuffer result_;
};

}  // namespace fedhive::aggregation
