#include "aggregation/cohort/aggregator_catalog.h"

#include "aggregation/base/error.h"
#include "aggregation/math/mean.h"

namespace fedhive::aggregation {

std::vector<Update> weighed(std::span<const Update> rows, const Coefficients& coefficients, bool of_sum) {
    const std::size_t count = coefficients.of_updates.size();
    FEDHIVE_CHECK(rows.size() == count || rows.size() == count + 1, "{} coefficients for {} rows", count, rows.size());
    const std::vector<double>& weights = coefficients.weights.empty() ? coefficients.of_updates : coefficients.weights;
    std::vector<Update> all;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        Update row = rows[k];
        row.scale = k < count ? coefficients.of_updates[k] : coefficients.of_last_aggregate;
        row.weight = of_sum ? 1.0 : k < count ? weights[k] : coefficients.of_last_aggregate;
        if (row.scale != 0.0) all.push_back(row);
    }
    if (!all.empty() || !of_sum) return all;
    all.push_back(rows.front());
    all.front().scale = 0.0;
    all.front().weight = 1.0;
    return all;
}

// Each is defined in the file of its name.
AggregatorSpec mean();
AggregatorSpec median();
AggregatorSpec trimmed_mean();
AggregatorSpec mean_around_median();
AggregatorSpec sign_majority();
AggregatorSpec robust_rate();
AggregatorSpec krum();
AggregatorSpec bulyan();
AggregatorSpec geometric_median();
AggregatorSpec centered_clipping();
AggregatorSpec fedexp_rule();
AggregatorSpec fednova_rule();
AggregatorSpec loss_power();
AggregatorSpec tilted();
AggregatorSpec agnostic();
AggregatorSpec common_descent();
AggregatorSpec aligned();
AggregatorSpec without_conflicts();
AggregatorSpec spectral();
AggregatorSpec even_labels();
AggregatorSpec root_trust();
AggregatorSpec root_score();
AggregatorSpec similarity();

const std::vector<AggregatorSpec>& aggregator_catalog() {
    static const std::vector<AggregatorSpec> catalog = {
        mean(),       median(),      trimmed_mean(),     mean_around_median(), sign_majority(), robust_rate(),
        krum(),       bulyan(),      geometric_median(), centered_clipping(),  fedexp_rule(),   fednova_rule(),
        loss_power(), tilted(),      agnostic(),         common_descent(),     aligned(),       without_conflicts(),
        spectral(),   even_labels(), root_trust(),       root_score(),         similarity()};
    return catalog;
}

const AggregatorSpec& aggregator_spec(const std::string& name) {
    static const AggregatorSpec formula = {.name = "formula",
                                           .summary = "the sum with the weights of strategy.file",
                                           .single_updates = true,
                                           .weighs = false,
                                           .build = [](const Values&) { return make_sum(); }};
    static const AggregatorSpec with_root = [] {
        AggregatorSpec spec = formula;
        spec.name = "formula_with_root";
        spec.products = spec.root = true;
        return spec;
    }();
    // sim/round/python_rule.h takes its place when a run begins.
    static const AggregatorSpec python = {.name = "python",
                                          .summary = "the function of strategy.rule",
                                          .single_updates = true,
                                          .weighs = false,
                                          .build = [](const Values&) { return make_mean(); }};
    if (name == python.name) return python;
    if (name == with_root.name) return with_root;
    return name == formula.name ? formula : entry_of(aggregator_catalog(), name, "aggregator");
}

std::size_t least_updates(const AggregatorSpec& rule, const Values& values) {
    return rule.least == nullptr ? 1 : rule.least(values);
}

}  // namespace fedhive::aggregation
