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

const std::vector<NamedModel>& model_catalog() {
    static const std::vector<NamedModel> models{lr_model(),    mlp_model(),    mnist_cnn_model(),
                                                cnn_m_model(), net62k_model(), mcmahan_cnn_model()};
    return models;
}

ModelSpec named_model(std::string_view name, const ExampleShape& input, std::int64_t num_classes, const Values& values) {
    const auto& catalog = model_catalog();
    const auto found = std::ranges::find(catalog, name, &NamedModel::name);
    if (found == catalog.end())
        throw ConfigError(fmt::format("unknown model '{}'; known: {}", name, fmt::join(names_of(catalog), ", ")));
    const std::string misfit = found->misfit != nullptr ? found->misfit(input) : "";
    if (!misfit.empty()) throw ConfigError(misfit);
    ModelSpec spec;
    spec.input = input;
    spec.num_classes = num_classes;
    spec.layers = found->layers(completed(values, found->keys));
    spec.name.set(name);
    return spec;
}

}  // namespace fedhive::clients
