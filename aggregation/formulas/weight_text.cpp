#include "aggregation/formulas/weight_text.h"

#include "aggregation/formulas/cohort_values.h"

#include <map>
#include <string>
#include <vector>

namespace fedhive::aggregation::formulas {

namespace {

Formulas parsed(const std::vector<std::string>& lines, const std::map<std::string, double>& keys) {
    MethodFormulas nothing;
    nothing.keys = keys;
    Scope scope = nothing.scope(Place::Cohort);
    for (const char* name : {"k.weight", "k.label_discrepancy"}) scope.given.emplace(name, Shape::Cohort);
    scope.given.emplace("lr", Shape::Number);
    scope.targets = {{"scale", Shape::Cohort}, {"share", Shape::Cohort}};
    return parse(lines, scope);
}

class WeightText final : public WeightRule {
public:
    WeightText(const std::vector<std::string>& lines, const std::map<std::string, double>& keys)
        : executor_(parsed(lines, keys)) {
        for (const auto& [name, value] : keys) executor_.set(name, value);
        for (const Target& target : executor_.program().formulas.targets) sets_share_ = sets_share_ || target.name == "share";
    }

    Coefficients weigh(const RoundUpdates& updates) override {
        set_cohort(executor_, CohortNames(MethodFormulas()), updates);
        Numbers weights, discrepancies;
        for (const Sender& sender : updates.senders) {
            weights.push_back(sender.weight);
            discrepancies.push_back(sender.label_discrepancy);
        }
        executor_.set("k.weight", weights);
        executor_.set("k.label_discrepancy", discrepancies);
        executor_.set("lr", updates.local.lr);
        executor_.run({});
        Coefficients result{.of_updates = weights_of(executor_, updates.size(), "scale")};
        if (sets_share_) result.weights = weights_of(executor_, updates.size(), "share");
        return result;
    }

private:
    Executor executor_;
    bool sets_share_ = false;
};

}  // namespace

std::unique_ptr<WeightRule> make_weight_rule(const AggregatorSpec& rule, const Values& values) {
    if (rule.lines != nullptr) return std::make_unique<WeightText>(rule.lines(), numbers_of(rule.keys, values));
    return rule.weigh != nullptr ? rule.weigh(values) : nullptr;
}

}  // namespace fedhive::aggregation::formulas
