// A rule of the catalog from updates to aggregate in one process, as the round loop does it.
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/group_means.h"
#include "aggregation/cohort/pre_aggregation.h"
#include "aggregation/formulas/weight_text.h"
#include "aggregation/math/aggregator.h"
#include "tests/aggregation/spans.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::aggregation::testing {

class CombinedRule {
public:
    CombinedRule(const std::string& name, const Values& values, const Chosen& grouping = {"none"})
        : spec_(aggregator_spec(name)),
          values_(completed(values, spec_.keys)),
          grouping_(pre_aggregation_spec(grouping.name)),
          of_grouping_(completed(grouping.values, grouping_.keys)),
          aggregator_(spec_.build(values_)),
          rule_(formulas::make_weight_rule(spec_, values_)) {
        if (grouping_.groups == nullptr || is_linear(aggregator_->column_rule())) return;
        auto of_means = std::make_unique<GroupMeans>(std::move(aggregator_));
        group_means_ = of_means.get();
        aggregator_ = std::move(of_means);
    }

    std::size_t least_updates() const { return aggregation::least_updates(spec_, values_); }
    WeightRule* rule() { return rule_.get(); }
    /// Of the last round.
    const Groups& groups() const { return groups_; }
    /// The root client's update in the next rounds, for a rule that needs it.
    void set_root(Floats root) { root_ = std::move(root); }

    /// The aggregate of the next round. senders: one for each update; left out, of equal weight.
    Floats operator()(const std::vector<Floats>& updates, MemorySpace space = MemorySpace::Host,
                      std::vector<Sender> senders = {}, const LocalSteps& local = {}) {
        const std::size_t size = updates.front().size();
        if (last_.size() != size) last_.assign(size, 0.0F);
        for (std::size_t k = senders.size(); k < updates.size(); ++k)
            senders.push_back({.client_id = static_cast<std::uint32_t>(k)});
        std::vector<ParamBuffer> slots;
        std::vector<Update> rows;
        for (const Floats& update : updates) slots.push_back(upload(update, space));
        if (spec_.root) slots.push_back(upload(root_, space));
        if (spec_.keeps_last) slots.push_back(upload(last_, space));
        std::vector<ConstParamSpan> spans;
        std::vector<double> norms;
        for (const Floats& update : updates) {
            double squared = 0.0;
            for (const float value : update) squared += static_cast<double>(value) * static_cast<double>(value);
            norms.push_back(std::sqrt(squared));
        }
        for (std::size_t k = 0; k < slots.size(); ++k) {
            const double weight = k < senders.size() ? senders[k].weight : 1.0;
            rows.push_back({slots[k], k, weight, weight, 1});
            if (k < norms.size()) senders[k].update_norm = norms[k];
            spans.push_back(slots[k]);
        }
        if (spec_.root) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(updates.size()));
        const bool of_sum = aggregator_->column_rule() == ColumnRule::Sum;
        const InnerProducts products = inner_products_of(spans, spec_.root ? updates.size() : base_row(norms), kept(updates));
        const auto coefficients = [&](const std::vector<Sender>& of_rows, const InnerProducts& of) {
            if (!rule_) return Coefficients{.of_updates = std::vector<double>(of_rows.size(), 1.0)};
            return rule_->weigh({.senders = of_rows,
                                 .products = spec_.products ? &of : nullptr,
                                 .num_clients = updates.size(),
                                 .local = local});
        };
        if (grouping_.groups != nullptr) {
            groups_ = grouping_.groups(of_grouping_, updates.size(), &products, Stream(1, Purpose::Bucketing));
            Groups of_rows = groups_;
            if (spec_.keeps_last) of_rows.push_back({updates.size()});
            const InnerProducts means = products.of_means(of_rows);
            const Coefficients given = coefficients(senders_of(groups_, senders, &means), means);
            if (group_means_ != nullptr)
                group_means_->set_groups(chosen(groups_, given.of_updates));
            else
                rows = weighed(rows, spread(groups_, given, updates.size()), of_sum);
        } else if (rule_) {
            rows = weighed(rows, coefficients(senders, products), of_sum);
        }
        aggregator_->zero_init(size, space);
        for (const Update& row : rows) aggregator_->aggregate(row);
        return last_ = download(aggregator_->finish().values);
    }

private:
    /// The sums of the rows' earlier updates, for a rule that needs them; afterwards they include `updates`.
    std::vector<ConstParamSpan> kept(const std::vector<Floats>& updates) {
        if (!spec_.histories) return {};
        before_ = after_;
        after_.resize(updates.size(), Floats(updates.front().size(), 0.0F));
        for (std::size_t k = 0; k < updates.size(); ++k)
            for (std::size_t i = 0; i < updates[k].size(); ++i) after_[k][i] += updates[k][i];
        std::vector<ConstParamSpan> spans(before_.begin(), before_.end());
        spans.resize(updates.size());
        return spans;
    }

    const AggregatorSpec& spec_;
    Values values_;
    const PreAggregationSpec& grouping_;
    Values of_grouping_;
    std::unique_ptr<Aggregator> aggregator_;
    GroupMeans* group_means_ = nullptr;
    Groups groups_;
    std::unique_ptr<WeightRule> rule_;
    Floats root_, last_;
    std::vector<Floats> before_, after_;  // sums of each row's updates, without and with the last round's
};

}  // namespace fedhive::aggregation::testing
