#include "clients/models/catalog.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/models/classifier.h"
#include "clients/models/flat_model.h"

#include <fmt/ranges.h>

namespace fedhive::clients {

std::shared_ptr<Classifier> build_model(const ModelSpec& spec) {
    const std::string name = spec.name.get();
    if (name == "lr") return build_lr(spec);
    if (name == "mlp") return build_mlp(spec);
    if (name == "mnist_cnn") return build_mnist_cnn(spec);
    if (name == "cnn_m") return build_cnn_m(spec);
    throw ConfigError(fmt::format("unknown model '{}'; known: {}", name, fmt::join(kModelNames, ", ")));
}

aggregation::Layout model_layout(const ModelSpec& spec) {
    try {
        return layout_of(*build_model(spec));
    } catch (const c10::Error& error) {
        throw ConfigError(fmt::format("{} cannot be built: {}", spec.name.get(), error.what_without_backtrace()));
    }
}

void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to) {
    torch::manual_seed(Stream(seed, Purpose::ModelInit).next_u64());
    const auto model = build_model(spec);
    store_tensors(*model, layout, to);
}

}  // namespace fedhive::clients
