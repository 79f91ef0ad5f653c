#include "aggregation/cohort/pre_aggregation.h"

#include "aggregation/base/error.h"

namespace fedhive::aggregation {

std::vector<Sender> senders_of(const Groups& groups, std::span<const Sender> senders, const InnerProducts* products) {
    std::vector<Sender> means;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto size = static_cast<double>(groups[g].size());
        Sender mean{.client_id = senders[groups[g].front()].client_id, .weight = 0.0};
        double steps = 0.0;
        for (const std::size_t k : groups[g]) {
            steps += static_cast<double>(senders[k].steps) / size;
            mean.weight += senders[k].weight / size;
            mean.sent_loss += senders[k].sent_loss / size;
            mean.label_discrepancy += senders[k].label_discrepancy / size;
        }
        mean.steps = static_cast<std::uint64_t>(steps);
        if (products != nullptr) mean.update_norm = products->norm(g);
        means.push_back(mean);
    }
    return means;
}

Groups chosen(const Groups& groups, std::span<const double> coefficients) {
    FEDHIVE_CHECK_EQ(coefficients.size(), groups.size());
    Groups result;
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (coefficients[g] != 0.0) result.push_back(groups[g]);
    return result;
}

Coefficients spread(const Groups& groups, const Coefficients& of_groups, std::size_t count) {
    FEDHIVE_CHECK_EQ(of_groups.of_updates.size(), groups.size());
    const std::vector<double>& weights = of_groups.weights.empty() ? of_groups.of_updates : of_groups.weights;
    Coefficients all{.of_updates = std::vector<double>(count, 0.0),
                     .weights = std::vector<double>(count, 0.0),
                     .of_last_aggregate = of_groups.of_last_aggregate};
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (const std::size_t k : groups[g]) {
            all.of_updates[k] += of_groups.of_updates[g] / static_cast<double>(groups[g].size());
            all.weights[k] += weights[g] / static_cast<double>(groups[g].size());
        }
    return all;
}

// Each is defined in the file of its name.
PreAggregationSpec bucketing();
PreAggregationSpec nearest_neighbors();

const std::vector<PreAggregationSpec>& pre_aggregation_catalog() {
    static const std::vector<PreAggregationSpec> catalog = {
        {.name = "none", .summary = "the rule sees the updates", .least = [](const Values&, std::size_t rows) { return rows; }},
        bucketing(),
        nearest_neighbors()};
    return catalog;
}

const PreAggregationSpec& pre_aggregation_spec(const std::string& name) {
    return entry_of(pre_aggregation_catalog(), name, "pre-aggregation");
}

}  // namespace fedhive::aggregation
