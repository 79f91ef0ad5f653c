// A rule of the catalog from updates to aggregate in one process, as the round loop does it.
#pragma once

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/aggregator.h"
#include "tests/aggregation/spans.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace fedhive::aggregation::testing {

class CombinedRule {
public:
    CombinedRule(const std::string& name, const Values& values)
        : spec_(aggregator_spec(name)),
          values_(completed(values, spec_.keys)),
          aggregator_(spec_.build(values_)),
          rule_(spec_.weigh != nullptr ? spec_.weigh(values_) : nullptr) {}

    std::size_t least_updates() const { return aggregation::least_updates(spec_, values_); }
    WeightRule* rule() { return rule_.get(); }

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
        if (rule_) {
            const InnerProducts products = spec_.products ? inner_products_of(spans, base_row(norms)) : InnerProducts();
            const Coefficients given = rule_->weigh({.senders = senders,
                                                     .products = spec_.products ? &products : nullptr,
                                                     .num_clients = updates.size(),
                                                     .local = local});
            rows = weighed(rows, given, aggregator_->column_rule() == ColumnRule::Sum);
        }
        aggregator_->zero_init(size, space);
        for (const Update& row : rows) aggregator_->aggregate(row);
        return last_ = download(aggregator_->finish().values);
    }

private:
    const AggregatorSpec& spec_;
    Values values_;
    std::unique_ptr<Aggregator> aggregator_;
    std::unique_ptr<WeightRule> rule_;
    Floats last_;
};

}  // namespace fedhive::aggregation::testing
