#include "clients/models/catalog.h"

#include "aggregation/base/error.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace fedhive::clients {

NamedModel lr_model();
NamedModel linear_regression_model();
NamedModel mlp_model();
NamedModel mnist_cnn_model();
NamedModel cnn_m_model();
NamedModel net62k_model();
NamedModel mcmahan_cnn_model();
NamedModel resnet20_model();
NamedModel resnet18_model();
NamedModel char_lstm_model();
NamedModel char_transformer_model();

const std::vector<NamedModel>& model_catalog() {
    static const std::vector<NamedModel> models{lr_model(),
                                                linear_regression_model(),
                                                mlp_model(),
                                                mnist_cnn_model(),
                                                cnn_m_model(),
                                                net62k_model(),
                                                mcmahan_cnn_model(),
                                                resnet20_model(),
                                                resnet18_model(),
                                                char_lstm_model(),
                                                char_transformer_model()};
    return models;
}

namespace {

bool tells(const NamedModel& model, TargetKind kind) {
    if (kind == TargetKind::Numbers) return model.tells_numbers;
    return kind == TargetKind::Class ? model.tells_classes : model.layers_at_each != nullptr;
}

/// The misfit between the model's and the data's kind of examples (tokens or numbers); empty if they agree.
std::string misfit_of_tokens(const NamedModel& model, const ExampleShape& input, TargetKind kind) {
    if (model.takes_tokens == (input.vocabulary > 0)) return "";
    std::vector<std::string> others;
    for (const NamedModel& other : model_catalog())
        if (other.takes_tokens != model.takes_tokens && tells(other, kind)) others.push_back(other.name);
    const char* const wanted = model.takes_tokens ? "tokens" : "numbers";
    const char* const found = model.takes_tokens ? "numbers" : "tokens";
    return fmt::format("{} takes {}, but the data's examples are {}; for such data use {}, or model.layers", model.name, wanted,
                       found, fmt::join(others, ", "));
}

/// The misfit between the model and the data's targets; empty if the model predicts such targets.
std::string misfit_of_target(const NamedModel& model, TargetKind kind) {
    if (tells(model, kind)) return "";
    std::vector<std::string> others;
    for (const NamedModel& other : model_catalog())
        if (tells(other, kind) && other.takes_tokens == model.takes_tokens) others.push_back(other.name);
    others.emplace_back("model.layers");
    return fmt::format("{} does not support the data's targets, {}; for such data use {}", model.name, text_of(kind),
                       fmt::join(others, ", "));
}

}  // namespace

ModelSpec named_model(std::string_view name, const ExampleShape& input, std::int64_t num_classes, const Values& values,
                      TargetShape target) {
    const auto& catalog = model_catalog();
    const auto found = std::ranges::find(catalog, name, &NamedModel::name);
    if (found == catalog.end())
        throw ConfigError(fmt::format("unknown model '{}'; known: {}", name, fmt::join(names_of(catalog), ", ")));
    std::string misfit = misfit_of_tokens(*found, input, target.kind);
    if (misfit.empty()) misfit = misfit_of_target(*found, target.kind);
    if (misfit.empty() && found->misfit != nullptr) misfit = found->misfit(input);
    if (!misfit.empty()) throw ConfigError(misfit);
    ModelSpec spec;
    spec.input = input;
    spec.num_classes = num_classes;
    spec.target = target;
    const auto layers = target.kind == TargetKind::ClassEach ? found->layers_at_each : found->layers;
    spec.layers = layers(completed(values, found->keys));
    spec.name.set(name);
    return spec;
}

}  // namespace fedhive::clients
