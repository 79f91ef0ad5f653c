#include "clients/models/catalog.h"

#include "aggregation/base/error.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace fedhive::clients {

NamedModel lr_model();
NamedModel mlp_model();
NamedModel mnist_cnn_model();
NamedModel cnn_m_model();
NamedModel net62k_model();
NamedModel mcmahan_cnn_model();
NamedModel resnet20_model();
NamedModel resnet18_model();
NamedModel char_lstm_model();

const std::vector<NamedModel>& model_catalog() {
    static const std::vector<NamedModel> models{lr_model(),       mlp_model(),      mnist_cnn_model(),
                                                cnn_m_model(),    net62k_model(),   mcmahan_cnn_model(),
                                                resnet20_model(), resnet18_model(), char_lstm_model()};
    return models;
}

namespace {

/// Empty where the model takes what the examples are: tokens, or numbers.
std::string misfit_of_tokens(const NamedModel& model, const ExampleShape& input) {
    if (model.takes_tokens == (input.vocabulary > 0)) return "";
    std::vector<std::string> others;
    for (const NamedModel& other : model_catalog())
        if (other.takes_tokens != model.takes_tokens) others.push_back(other.name);
    const char* const wanted = model.takes_tokens ? "tokens" : "numbers";
    const char* const found = model.takes_tokens ? "numbers" : "tokens";
    return fmt::format("{} takes {}, the data's examples are {}; for such data use {}, or model.layers", model.name, wanted,
                       found, fmt::join(others, ", "));
}

}  // namespace

ModelSpec named_model(std::string_view name, const ExampleShape& input, std::int64_t num_classes, const Values& values) {
    const auto& catalog = model_catalog();
    const auto found = std::ranges::find(catalog, name, &NamedModel::name);
    if (found == catalog.end())
        throw ConfigError(fmt::format("unknown model '{}'; known: {}", name, fmt::join(names_of(catalog), ", ")));
    std::string misfit = misfit_of_tokens(*found, input);
    if (misfit.empty() && found->misfit != nullptr) misfit = found->misfit(input);
    if (!misfit.empty()) throw ConfigError(misfit);
    ModelSpec spec;
    spec.input = input;
    spec.num_classes = num_classes;
    spec.layers = found->layers(completed(values, found->keys));
    spec.name.set(name);
    return spec;
}

}  // namespace fedhive::clients
