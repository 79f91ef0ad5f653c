// Lists of layers by LibTorch: each kind under vmap against one client at a time, and cut in two against whole.
#include "clients/models/cut.h"
#include "clients/training/batched_training.h"
#include "clients/training/libtorch_batched_step.h"
#include "tests/clients/training/batched_clients.h"

#include <ATen/ops/randn.h>
#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

ModelSpec listed(const LayerList& layers) {
    ModelSpec spec;
    spec.name.set(kListedModel);
    spec.input = {1, 28, 28};
    spec.num_classes = 10;
    spec.layers = layers;
    return spec;
}

/// A network around each kind, small, without dropout that would be drawn.
std::vector<LayerList> networks() {
    LayerList convolutions, norms, residuals, plain;
    convolutions.add("conv2d", {4, 5, 2, 2}).add("relu").add("max_pool", {2}).add("conv2d", {6, 3, 1, 1, 2});
    convolutions.add("avg_pool", {2})
        .add("tanh")
        .add("dropout2d", {0})
        .add("flatten")
        .add("linear", {12})
        .add("gelu")
        .add("linear");
    norms.add("conv2d", {4, 3, 3}).add("group_norm", {2}).add("relu").add("max_pool", {3}).add("layer_norm").add("flatten");
    norms.add("layer_norm").add("dropout", {0}).add("linear");
    residuals.add("conv2d", {4, 4, 4}).add("residual").add("group_norm", {4}).add("relu").add("residual");
    residuals.add("conv2d", {4, 3, 1, 1}).add("tanh").end().end().add("max_pool", {2}).add("relu").add("flatten").add("linear");
    plain.add("flatten").add("linear", {16}).add("relu").add("residual").add("linear", {16}).add("gelu").end().add("linear");
    return {convolutions, norms, residuals, plain};
}

}  // namespace

TEST_SUITE("Layers") {
    TEST_CASE("EveryKindIsInANetworkHereAndHasAForwardPass") {
        std::set<std::string> kinds;
        for (const LayerList& layers : networks())
            for (const ListedLayer& layer : layers.entries())
                if (layer.kind != LayerList::kEnd) kinds.insert(layer_catalog()[layer.kind].name);
        for (const LayerKind& kind : layer_catalog()) CHECK_MESSAGE(kinds.contains(kind.name), kind.name);
    }

    TEST_CASE("ClientsAtOnceAreTrainedAsOneAtATime") {
        for (const LayerList& layers : networks()) {
            Clients all(listed(layers));
            const auto clients = all.clients(kUnequal);
            const auto results = all.at_once(clients);
            REQUIRE(results.size() == clients.size());
            for (std::size_t k = 0; k < clients.size(); ++k) {
                Floats alone;
                const ClientResult expected = all.alone(clients[k], alone);
                CAPTURE(k);
                CHECK(results[k].train_loss == doctest::Approx(expected.train_loss).epsilon(1e-4));
                CHECK(expected.update_norm > 1e-3);
                CHECK(largest_difference(all.update(k), alone) < 1e-4 * expected.update_norm + 1e-6);
            }
        }
    }

    TEST_CASE("TwoHalvesAreTheWholeAtEveryCut") {
        prepare_libtorch(1);
        for (const LayerList& layers : networks()) {
            const ModelSpec spec = listed(layers);
            Classifier model(spec);
            model.initialise();
            const at::Tensor x = at::randn({3, 1, 28, 28});
            const at::Tensor whole = model.forward(x);
            const std::vector<std::string> names = model_layers(spec);
            REQUIRE(names.size() == model.num_layers());
            for (std::size_t cut = 1; cut < names.size(); ++cut) {
                const Cut found = cut_after(spec, model_layout(spec), names[cut - 1]);
                CHECK(found.num_layers == cut);
                const at::Tensor activations = model.forward_layers(x, 0, cut);
                CHECK(activations.sizes().slice(1) == at::IntArrayRef(model.shape_after(cut)));
                CHECK(static_cast<std::uint64_t>(activations.numel()) == 3 * found.activation_floats);
                CHECK(model.forward_layers(activations, cut, names.size()).equal(whole));
            }
        }
    }

    TEST_CASE("NormsBeginAsOnesAndZeros") {
        Classifier model(listed(networks()[1]));
        model.initialise();
        CHECK(model.parameters()[2]->eq(1.0).all().item<bool>());
        CHECK(model.parameters()[3]->eq(0.0).all().item<bool>());
    }
}
