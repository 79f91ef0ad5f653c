// Lists of layers by LibTorch: each kind under vmap against single clients, and a cut model against the whole.
#include "clients/engine/vmap_step.h"
#include "clients/models/cut.h"
#include "clients/trainers/engine.h"
#include "tests/clients/visit/batched_clients.h"

#include "tests/support/small_model.h"
#include "tests/support/statistics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;
using namespace fedhive::testing;

namespace {

/// A model on images, or on tokens if it begins with an embedding.
ModelSpec listed(const LayerList& layers) {
    const bool tokens = layer_catalog()[layers.entries().front().kind].takes_tokens;
    return listed_model(layers, tokens ? ExampleShape{12, 1, 1, 7} : ExampleShape{1, 28, 28});
}

/// Batch norm of two channels, then of features in a row.
LayerList with_statistics() {
    LayerList layers;
    layers.add("conv2d", {2, 4, 4}).add("residual").add("batch_norm").add("relu").end().add("flatten").add("batch_norm");
    return layers.add("linear");
}

/// Batch norm of examples of two values; the last layer returns them unchanged.
ModelSpec plain_batch_norm() {
    ModelSpec spec = listed(LayerList().add("flatten").add("batch_norm").add("linear"));
    spec.input = {2, 1, 1};
    spec.num_classes = 2;
    return spec;
}

/// Small networks that cover each kind that several clients can train at once; dropout would be random and is left out.
std::vector<LayerList> kinds_of_networks() {
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
    LayerList mobile;
    mobile.add("conv2d", {6, 3, 2, 1}).add("max_pool", {3, 2, 1}).add("conv2d", {6, 3, 1, 1, 6, 0}).add("relu");
    mobile.add("conv2d", {12, 5, 2, 2, 6})
        .add("channel_shuffle", {3})
        .add("tanh")
        .add("avg_pool", {3, 1, 1})
        .add("flatten")
        .add("linear");
    LayerList sequences;
    sequences.add("embedding", {5, 9}).add("lstm", {6, 2, 1}).add("residual").add("tanh").add("lstm", {6, 1, 1}).end();
    sequences.add("lstm", {8, 1, 1}).add("last_position").add("linear");
    LayerList gated;
    gated.add("embedding", {5, 9})
        .add("gru", {6, 2, 1})
        .add("lstm", {3, 2, 1, 1})
        .add("residual")
        .add("gru", {3, 1, 1, 1})
        .end();
    gated.add("gru", {8, 1, 0, 1}).add("linear", {9}).add("tanh").add("linear");
    LayerList shortcuts;
    shortcuts.add("conv2d", {4, 4, 4, 0, 1, 0}).add("residual").add("conv2d", {6, 3, 2, 1}).add("group_norm", {2}).shortcut();
    shortcuts.add("conv2d", {6, 1, 2, 0, 1, 0}).add("group_norm", {3}).end().add("relu").add("avg_pool").add("flatten");
    shortcuts.add("residual").add("linear", {9}).add("relu").shortcut().add("linear", {9}).end().add("linear");
    LayerList attentions;
    attentions.add("embedding", {6})
        .add("position")
        .add("residual")
        .add("layer_norm", {1})
        .add("attention", {2, 1, 0, 3, 6})
        .end();
    attentions.add("residual")
        .add("linear", {9, 1, 2})
        .add("gelu")
        .add("linear", {6, 0, 4, 2})
        .add("scale", {0.5F})
        .end()
        .add("attention", {3});
    attentions.add("mean").add("linear");
    return {convolutions, norms, residuals, plain, mobile, sequences, gated, shortcuts, attentions};
}

at::Tensor some_examples(const ModelSpec& spec, std::int64_t count) {
    if (spec.input.vocabulary > 0) return at::randint(spec.input.vocabulary, {count, spec.input.channels, 1, 1}).to(at::kFloat);
    return at::randn({count, spec.input.channels, spec.input.height, spec.input.width});
}

std::vector<double> values_of(const at::Tensor& tensor) {
    const at::Tensor values = tensor.detach().contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

}  // namespace

TEST_SUITE("Layers") {
    TEST_CASE("EveryKindIsInANetworkHereAndHasAForwardPass") {
        std::set<std::string> kinds;
        std::vector<LayerList> all = kinds_of_networks();
        all.push_back(with_statistics());
        for (const LayerList& layers : all)
            for (const ListedLayer& layer : layers.entries())
                if (layer.kind != LayerList::kEnd && layer.kind != LayerList::kShortcut)
                    kinds.insert(layer_catalog()[layer.kind].name);
        for (const LayerSpec& kind : layer_catalog()) CHECK_MESSAGE(kinds.contains(kind.name), kind.name);
    }

    TEST_CASE("ClientsAtOnceAreTrainedAsOneAtATime") {
        for (const LayerList& layers : kinds_of_networks()) {
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
        for (const LayerList& layers : kinds_of_networks()) {
            const ModelSpec spec = listed(layers);
            Classifier model(spec);
            model.initialise();
            const at::Tensor x = some_examples(spec, 3);
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

    TEST_CASE("EmbeddingsBeginAsNormalsAndLstmsWithinTheRootOfTheirUnits") {
        prepare_libtorch(1);
        ModelSpec spec = listed(LayerList().add("embedding", {200, 100}).add("lstm", {64}).add("linear"));
        Classifier model(spec);
        model.initialise();
        const std::vector<double> table = values_of(*model.tensors()[0]);
        const double bound = kolmogorov_bound(table.size());
        CHECK(distance_from_normal(table, 0.0, 1.0) < bound);
        CHECK(distance_from_normal(table, 0.0, 0.9) > bound);
        CHECK(distance_from_normal(table, 0.1, 1.0) > bound);
        for (std::size_t i = 1; i <= 4; ++i) {
            CAPTURE(i);
            const std::vector<double> values = values_of(*model.tensors()[i]);
            const auto within = [](double root) {
                return [root](double value) { return std::clamp((value * root + 1.0) / 2.0, 0.0, 1.0); };
            };
            CHECK(kolmogorov_distance(values, within(8.0)) < kolmogorov_bound(values.size()));
            // The bound depends on the state's size, not on the inputs'.
            CHECK(kolmogorov_distance(values, within(std::sqrt(200.0))) > kolmogorov_bound(values.size()));
        }
    }

    TEST_CASE("AttentionsInProjectionBeginsByXaviersRule") {
        prepare_libtorch(1);
        Classifier model(listed(LayerList().add("embedding", {60}).add("attention", {4}).add("last_position").add("linear")));
        model.initialise();
        const auto within = [](double bound) {
            return [bound](double value) { return std::clamp((value / bound + 1.0) / 2.0, 0.0, 1.0); };
        };
        const auto begins = [&](std::size_t tensor, double bound, double other) {
            const std::vector<double> values = values_of(*model.tensors()[tensor]);
            CHECK(kolmogorov_distance(values, within(bound)) < kolmogorov_bound(values.size()));
            CHECK(kolmogorov_distance(values, within(other)) > kolmogorov_bound(values.size()));
        };
        const double xavier = std::sqrt(6.0 / (60 + 180)), kaiming = 1.0 / std::sqrt(60.0);
        begins(1, xavier, kaiming);
        begins(3, kaiming, std::sqrt(6.0 / (60 + 60)));
        for (const std::size_t bias : {2, 4}) CHECK(model.tensors()[bias]->eq(0.0).all().item<bool>());
    }

    TEST_CASE("CausalAttentionChangesNoScoreOfAnEarlierTokenAndOtherAttentionDoes") {
        prepare_libtorch(1);
        for (const bool causal : {true, false}) {
            LayerList layers;
            layers.add("embedding", {6}).add("position").add("attention", {2, causal ? 1.0F : 0.0F}).add("layer_norm", {1});
            ModelSpec spec = listed(layers.add("attention", {3, causal ? 1.0F : 0.0F}).add("linear"));
            spec.target = {TargetKind::ClassEach, 12};
            Classifier model(spec);
            model.initialise();
            const at::Tensor one = some_examples(spec, 2), scores = model.forward(one);
            for (const std::int64_t position : {0, 5, 11}) {
                at::Tensor other = one.clone();
                other.select(1, position).copy_((one.select(1, position) + 1).remainder(7));
                const at::Tensor changed = model.forward(other).ne(scores).any(-1);  // [2, 12]
                CHECK(changed.narrow(1, position, 12 - position).all().item<bool>());
                CHECK(changed.narrow(1, 0, position).any().item<bool>() == (!causal && position > 0));
            }
        }
    }

    TEST_CASE("AttentionKnowsTheOrderOfTokensByTheirPositionsAlone") {
        prepare_libtorch(1);
        for (const bool placed : {true, false}) {
            LayerList layers;
            layers.add("embedding", {6});
            if (placed) layers.add("position");
            const ModelSpec spec = listed(layers.add("attention", {2}).add("last_position").add("linear"));
            Classifier model(spec);
            model.initialise();
            const at::Tensor one = at::tensor({0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4}, at::kFloat).view({1, 12, 1, 1});
            at::Tensor other = one.clone();
            other.select(1, 0).copy_(one.select(1, 1));
            other.select(1, 1).copy_(one.select(1, 0));
            CHECK(at::allclose(model.forward(other), model.forward(one), 1e-4, 1e-5) != placed);
        }
    }

    TEST_CASE("LastPositionsStateKnowsTheFirstTokenAndTheLast") {
        prepare_libtorch(1);
        const ModelSpec spec = listed(LayerList().add("embedding", {4}).add("lstm", {6}).add("linear"));
        Classifier model(spec);
        model.initialise();
        const at::Tensor one = some_examples(spec, 1);
        for (const std::int64_t position : {0, 11}) {
            const at::Tensor other = one.clone();
            other[0][position].copy_((one[0][position] + 1).remainder(7));
            CHECK_FALSE(model.forward(one).equal(model.forward(other)));
        }
    }

    TEST_CASE("NormsBeginAsOnesAndZeros") {
        Classifier model(listed(kinds_of_networks()[1]));
        model.initialise();
        CHECK(model.tensors()[2]->eq(1.0).all().item<bool>());
        CHECK(model.tensors()[3]->eq(0.0).all().item<bool>());
    }

    TEST_CASE("BatchNormMovesItsStatisticsInTrainingAndEvaluatesByThem") {
        prepare_libtorch(1);
        Classifier model(plain_batch_norm());
        model.initialise();
        const at::NoGradGuard no_grad;
        model.tensors()[2]->copy_(at::eye(2));
        model.tensors()[3]->zero_();
        const at::Tensor &mean = *model.tensors()[4], &variance = *model.tensors()[5];
        const at::Tensor x = at::tensor({1.0F, 5.0F, 3.0F, 9.0F}).view({2, 2, 1, 1});

        const double one = 1.0 / std::sqrt(1.0 + 1e-5), two = 2.0 / std::sqrt(4.0 + 1e-5);
        CHECK(at::allclose(model.forward(x), at::tensor({-one, -two, one, two}, at::kFloat).view({2, 2})));
        CHECK(at::allclose(mean, at::tensor({0.2F, 0.7F})));      // 0.1 times the batch's 2 and 7
        CHECK(at::allclose(variance, at::tensor({1.1F, 1.7F})));  // 0.9 times 1 plus 0.1 times 2 and 8

        const at::Tensor by_statistics = (x.view({2, 2}) - mean) / (variance + 1e-5).sqrt();
        const std::vector<at::Tensor> before{mean.clone(), variance.clone()};
        // A single example has no variance, so running statistics are used.
        CHECK(at::allclose(model.forward(x.narrow(0, 0, 1)), by_statistics.narrow(0, 0, 1)));
        model.eval();
        CHECK(at::allclose(model.forward(x), by_statistics));
        CHECK((mean.equal(before[0]) && variance.equal(before[1])));
    }

    TEST_CASE("BuffersLieBehindParametersAndNoStepMovesThem") {
        prepare_libtorch(1);
        const ModelSpec spec = listed(with_statistics());
        FlatModel model(spec, aggregation::MemorySpace::Host);
        const aggregation::Layout& layout = model.layout();
        REQUIRE(layout.entries().size() == 12);
        CHECK(layout.entries()[7].name == "4.bias");
        CHECK(layout.entries()[8].name == "1.0.running_mean");
        CHECK(layout.entries()[11].name == "3.running_var");
        CHECK(layout.num_trainable() == layout.entries()[8].offset);
        CHECK(layout.num_parameters() == layout.num_values() - 4 - 2 * 98);

        initial_parameters(spec, layout, 1, model.parameters());
        for (const bool in_one_piece : {false, true}) {
            model.module().forward(at::randn({3, 1, 28, 28})).square().sum().backward();
            model.take_gradient();
            const Floats before = aggregation::testing::download(model.parameters());
            if (in_one_piece) CHECK(model.gradient().size == layout.num_trainable());
            aggregation::ClientOptimizer optimizer(aggregation::SgdOptions{.lr = 0.1F, .weight_decay = 0.5F},
                                                   model.trainable().size, aggregation::MemorySpace::Host);
            optimizer.begin();
            optimizer.begin_step();
            model.descend(optimizer);
            const Floats after = aggregation::testing::download(model.parameters());
            CHECK(before[layout.entries()[11].offset] != 1.0F);  // the forward pass has changed it
            for (const aggregation::LayoutEntry& entry : layout.entries())
                CHECK((before[entry.offset] == after[entry.offset]) == (entry.kind == aggregation::TensorKind::Buffer));
        }
    }
}
