#include "clients/models/catalog.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/models/classifier.h"
#include "clients/models/flat_model.h"

#include <ATen/Context.h>
#include <fmt/ranges.h>

#include <mutex>

namespace fedhive::clients {

std::unique_ptr<Classifier> build_model(const ModelSpec& spec) {
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
    const auto model = build_model(spec);
    {
        at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
        const std::lock_guard lock(generator.mutex());
        generator.set_current_seed(Stream(seed, Purpose::ModelInit).next_u64());
    }
    for (Layer& layer : model->layers()) layer.initialise();
    store_parameters(*model, layout, to);
}

}  // namespace fedhive::clients
