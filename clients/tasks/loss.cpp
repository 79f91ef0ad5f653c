#include "clients/tasks/loss.h"

#include "aggregation/base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

// Each is defined in the file of its name.
LossSpec cross_entropy_loss();
LossSpec focal_loss();
LossSpec squared_error_loss();

const std::vector<LossSpec>& loss_catalog() {
    static const std::vector<LossSpec> catalog = {cross_entropy_loss(), focal_loss(), squared_error_loss()};
    return catalog;
}

const LossSpec& loss_spec(const std::string& name) { return entry_of(loss_catalog(), name, "loss"); }

std::vector<KeySpec> class_weight_keys() {
    return {
        {.name = "class_weights",
         .default_value = std::vector<double>{},
         .range = at_least(0),
         .default_note = "all 1",
         .doc = "A factor for each class, in the order of their numbers: the loss of an example is multiplied by that of its "
                "class. A batch's mean divides by the sum of its factors, as nn.CrossEntropyLoss does (focal: by its size)."},
        {.name = "balanced",
         .default_value = false,
         .doc = "Class weights from the training examples of all clients: n / (C · n_c) for the n_c of n examples that are of "
                "class c of C."}};
}

namespace {

std::span<const double> given_weights(const Values& values) {
    const KeyValue* value = values.find("class_weights");
    if (value == nullptr) return {};
    return std::get<std::vector<double>>(*value);
}

bool is_balanced(const Values& values) { return values.find("balanced") != nullptr && values.flag("balanced"); }

}  // namespace

std::optional<KeyProblem> check_class_weights(const Values& values) {
    const std::span<const double> given = given_weights(values);
    if (given.empty()) return std::nullopt;
    if (is_balanced(values)) return KeyProblem{"balanced", "class_weights and balanced are both given; keep one"};
    if (std::ranges::all_of(given, [](double weight) { return weight == 0.0; }))
        return KeyProblem{"class_weights", "all weights are 0; give at least one class a weight above 0"};
    return std::nullopt;
}

std::optional<KeyProblem> check_class_weights(const Values& values, std::int64_t num_classes) {
    const std::span<const double> given = given_weights(values);
    const auto classes = static_cast<std::size_t>(num_classes);
    if (given.empty() && !is_balanced(values)) return std::nullopt;
    const std::string key = given.empty() ? "balanced" : "class_weights";
    if (classes > LossPlan::kMostWeights)
        return KeyProblem{key, fmt::format("the data have {} classes; class weights are possible for at most {}", classes,
                                           LossPlan::kMostWeights)};
    if (!given.empty() && given.size() != classes)
        return KeyProblem{key, fmt::format("{} weights for {} classes; give one weight for each class", given.size(), classes)};
    return std::nullopt;
}

void set_class_weights(LossPlan& plan, const Values& values, std::span<const std::uint64_t> examples_by_class) {
    const std::span<const double> given = given_weights(values);
    if (given.empty() && !is_balanced(values)) return;
    const std::size_t classes = examples_by_class.size();
    FEDHIVE_CHECK(classes <= LossPlan::kMostWeights, "weights of {} classes", classes);
    const std::uint64_t examples = std::accumulate(examples_by_class.begin(), examples_by_class.end(), std::uint64_t{0});
    plan.num_weights = static_cast<std::uint32_t>(classes);
    for (std::size_t c = 0; c < classes; ++c) {
        if (!given.empty())
            plan.class_weights.at(c) = static_cast<float>(given[c]);
        else if (examples_by_class[c] > 0)
            plan.class_weights.at(c) = static_cast<float>(
                static_cast<double>(examples) / (static_cast<double>(classes) * static_cast<double>(examples_by_class[c])));
    }
}

}  // namespace fedhive::clients
