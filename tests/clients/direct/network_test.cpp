// Networks of the direct engine: gradients against finite differences, bits against other kernels and batches, and refusals.
#include "clients/direct/network.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "clients/direct/device/block_plan.h"
#include "tests/clients/direct/kernel_sets.h"
#include "tests/clients/direct/network_case.h"
#include "tests/support/drawn_lists/generator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

using direct::Floats;
using Case = fedhive::testing::NetworkCase;
using fedhive::testing::all_networks;
using fedhive::testing::batch_norm_networks;
using fedhive::testing::evaluation_of;
using fedhive::testing::kInput;
using fedhive::testing::listed_model;
using fedhive::testing::networks;

/// A network with a layer of more inputs than one step processes at a time.
ModelSpec wide_network() {
    LayerList layers;
    layers.add("flatten").add("linear", {1100}).add("relu").add("linear");
    return listed_model(layers, kInput, 5);
}

}  // namespace

TEST_SUITE("DirectNetwork") {
    TEST_CASE("GradientsAreThoseOfFiniteDifferences") {
        for (const ModelSpec& spec : all_networks()) {
            Case one(spec);
            one.loss();
            const Floats gradient = one.gradient;
            CAPTURE(fedhive::testing::text_of(spec));
            Stream directions(3, Purpose::Sampling);
            // Each direction lies within one tensor, so that an error in one is not hidden by the others.
            for (const auto& entry : one.network.layout().entries()) {
                if (entry.kind == aggregation::TensorKind::Buffer) continue;
                CAPTURE(entry.name);
                const Floats before = one.parameters;
                Floats direction(entry.size);
                double along = 0.0, length = 0.0;
                for (std::size_t i = 0; i < entry.size; ++i) {
                    direction[i] = static_cast<float>(directions.normal());
                    along += static_cast<double>(direction[i]) * static_cast<double>(gradient[entry.offset + i]);
                    length += static_cast<double>(direction[i]) * static_cast<double>(direction[i]);
                }
                const auto loss_at = [&](double step) {
                    for (std::size_t i = 0; i < entry.size; ++i)
                        one.parameters[entry.offset + i] =
                            before[entry.offset + i] + static_cast<float>(step / std::sqrt(length)) * direction[i];
                    return one.loss();
                };
                const double step = 3e-4, slope = (loss_at(step) - loss_at(-step)) / (2.0 * step);
                one.parameters = before;
                CHECK(slope == doctest::Approx(along / std::sqrt(length)).epsilon(0.02).scale(0.05));
            }
        }
    }

    TEST_CASE("IgnoredLabelsGiveTheSameBitsFromEveryKernelAndNothingAlone") {
        std::vector<ModelSpec> all = networks();
        for (ModelSpec& spec : batch_norm_networks()) all.push_back(std::move(spec));
        for (const ModelSpec& spec : all) {
            if (spec.target.kind == TargetKind::Numbers) continue;
            const auto trained = [&](const direct::Kernels& kernels, const std::vector<std::size_t>& ignored,
                                     Floats& gradient) {
                Case one(spec, kernels);
                for (const std::size_t i : ignored) one.labels[i] = kIgnored;
                direct::Batch batch = one.batch();
                batch.ignores = true;
                batch.counted -= ignored.size();
                const double loss = one.network.train(one.parameters.data(), one.gradient.data(), batch, Case::kKey);
                gradient = one.gradient;
                return loss;
            };
            Floats wanted, found;
            const double loss = trained(*fedhive::testing::all_kernels().front(), {0, 3, 4}, wanted);
            CHECK(loss > 0.0);
            for (const direct::Kernels* kernels : fedhive::testing::all_kernels()) {
                CAPTURE(kernels->name);
                CHECK(trained(*kernels, {0, 3, 4}, found) == loss);
                CHECK(fedhive::testing::same_bits(found, wanted));
                CHECK(trained(*kernels, {0, 1, 2, 3, 4, 5, 6}, found) == 0.0);
                const auto layout = model_layout(spec);
                for (const auto& entry : layout.entries())
                    for (std::size_t i = 0; i < entry.size && entry.kind == aggregation::TensorKind::Parameter; ++i)
                        REQUIRE(found[entry.offset + i] == 0.0F);
            }
        }
    }

    TEST_CASE("EveryInstructionSetGivesTheSameBits") {
        for (const ModelSpec& spec : all_networks()) {
            Case fastest(spec), plain(spec, *direct::kernels_by_name("plain"));
            CHECK(fastest.train() == plain.train());
            CHECK(fastest.gradient == plain.gradient);
            CHECK(fastest.parameters == plain.parameters);  // buffers have moved
            const auto found = evaluation_of(fastest.network, fastest.parameters, fastest.batch());
            const auto expected = evaluation_of(plain.network, plain.parameters, plain.batch());
            CHECK(found.loss_sum == expected.loss_sum);
            CHECK(found.correct == expected.correct);
            CHECK(found.among_five == expected.among_five);
            CHECK(found.absolute_sum == expected.absolute_sum);
            CHECK((found.absolute_sum > 0.0) == (spec.target.kind == TargetKind::Numbers));
        }
    }

    TEST_CASE("AnEvaluationDoesNotDependOnHowManyAreLookedAtAtOnce") {
        for (const ModelSpec& spec : all_networks()) {
            Case one(spec);
            const auto whole = evaluation_of(one.network, one.parameters, one.batch(), 7);
            const auto parts = evaluation_of(one.network, one.parameters, one.batch(), 2);
            CHECK(whole.correct == parts.correct);
            CHECK(whole.among_five == parts.among_five);
            CHECK(whole.absolute_sum == parts.absolute_sum);
            CHECK(whole.loss_sum == doctest::Approx(parts.loss_sum).epsilon(1e-12));
            one.loss();  // what training leaves in the buffers
            CHECK(evaluation_of(one.network, one.parameters, one.batch(), 7).loss_sum == whole.loss_sum);
        }
    }

    TEST_CASE("EvaluationUsesTheParametersItIsGivenAlsoWhereWeightsAreKeptTransformed") {
        for (const bool single : {true, false}) {
            const ModelSpec spec = fedhive::testing::wide_convolutions(single);
            Case one(spec), other(spec);
            const double before = evaluation_of(one.network, one.parameters, one.batch()).loss_sum;
            for (Floats* parameters : {&one.parameters, &other.parameters})
                for (float& value : *parameters) value *= 0.5F;
            const double after = evaluation_of(one.network, one.parameters, one.batch()).loss_sum;
            CHECK(after != before);
            CHECK(after == evaluation_of(other.network, other.parameters, other.batch()).loss_sum);
            CHECK(one.train() == other.train());
            CHECK(one.gradient == other.gradient);
        }
    }

    TEST_CASE("DescentIsAGradientAndAStepAlongItBitForBit") {
        std::vector<ModelSpec> all = all_networks();
        all.push_back(wide_network());
        for (const ModelSpec& spec : all)
            for (const aggregation::OptimizerOptions& options : std::initializer_list<aggregation::OptimizerOptions>{
                     aggregation::SgdOptions{0.1F, 0.0F, 0.0F, false}, aggregation::SgdOptions{0.1F, 0.0F, 0.01F, false},
                     aggregation::SgdOptions{0.1F, 0.9F, 0.01F, true}, aggregation::AdamOptions{.weight_decay = 0.01F},
                     aggregation::AdagradOptions{}}) {
                Case both(spec), one_after_the_other(spec);
                const std::size_t trainable = both.gradient.size(), layout_size = both.network.layout().num_floats();
                aggregation::ClientOptimizer optimizer(options, trainable, aggregation::MemorySpace::Host);
                aggregation::ClientOptimizer other(options, trainable, aggregation::MemorySpace::Host);
                optimizer.begin();
                other.begin();
                for (int i = 0; i < 3; ++i) {
                    optimizer.begin_step();
                    other.begin_step();
                    // The first step reads from another vector than it writes, as a client's does.
                    const Floats before = both.parameters;
                    if (i == 0) std::fill_n(both.parameters.begin(), layout_size, NAN);
                    const direct::Descent descent{both.parameters.data(), &optimizer, i == 0 ? before.data() : nullptr};
                    const double loss = both.network.descend(descent, both.gradient.data(), both.batch(), Case::kKey);
                    CHECK(loss == one_after_the_other.train());
                    other.step({one_after_the_other.parameters.data(), trainable, aggregation::MemorySpace::Host},
                               {one_after_the_other.gradient.data(), trainable, aggregation::MemorySpace::Host});
                }
                CHECK(both.parameters == one_after_the_other.parameters);
                CHECK(std::ranges::equal(optimizer.state().host(), other.state().host()));
            }
    }

    TEST_CASE("SquaredErrorIsAMeanOverNumbersAndExamples") {
        LayerList layers;
        layers.add("flatten").add("linear");
        direct::Network network(fedhive::testing::listed_regression(layers, {1, 1, 1}, 2));
        // A bias of (1, 3) with weights of 0: the errors are (-2, 3) and (1, 2).
        Floats parameters(network.layout().num_floats(), 0.0F), gradient(network.layout().num_trainable());
        const std::size_t bias = network.layout().entries()[1].offset;
        parameters[bias] = 1.0F;
        parameters[bias + 1] = 3.0F;
        const Floats examples{1, 2}, numbers{3, 0, 0, 1};
        const direct::Batch batch{examples.data(), nullptr, 2, numbers.data()};
        CHECK(network.train(parameters.data(), gradient.data(), batch, 0) == (4 + 9 + 1 + 4) / 4.0);
        CHECK(gradient[bias] == 2 * (-2 + 1) / 4.0F);
        CHECK(gradient[bias + 1] == 2 * (3 + 2) / 4.0F);
        CHECK(gradient[0] == 2 * (-2 * 1 + 1 * 2) / 4.0F);  // times the number of examples
        CHECK(gradient[1] == 2 * (3 * 1 + 2 * 2) / 4.0F);
        const auto quality = evaluation_of(network, parameters, batch);
        CHECK(quality.loss_sum == (4 + 9) / 2.0 + (1 + 4) / 2.0);
        CHECK(quality.absolute_sum == (2 + 3) / 2.0 + (1 + 2) / 2.0);
        CHECK(quality.correct == 0);
    }

    TEST_CASE("EmbeddingGivesATokensRowAndAddsUpWhatItsTokensGot") {
        LayerList layers;
        layers.add("embedding", {1, 4}).add("flatten").add("linear");
        direct::Network network(listed_model(layers, {2, 1, 1, 3}, 0, {TargetKind::Numbers, 1}));
        // A table of (10, 20, 30, 40) for three tokens, and weights of (1, 2).
        const std::size_t weight = network.layout().entries()[1].offset, bias = network.layout().entries()[2].offset;
        Floats parameters(network.layout().num_floats()), gradient(network.layout().num_trainable(), 7.0F);
        std::ranges::copy(Floats{10, 20, 30, 40}, parameters.begin());
        parameters[weight] = 1;
        parameters[weight + 1] = 2;
        Floats examples{2, 1, 0, 0};  // 30 + 2 * 20 = 70, target 50; 10 + 2 * 10 = 30, target 0
        const Floats numbers{50, 0};
        const direct::Batch batch{examples.data(), nullptr, 2, numbers.data()};
        CHECK(network.train(parameters.data(), gradient.data(), batch, 0) == (20 * 20 + 30 * 30) / 2.0);
        // Output gradients are 20 and 30. Token 0 is at both positions of the second example, token 3 nowhere.
        CHECK(Floats(gradient.begin(), gradient.begin() + 4) == Floats{30 * (1 + 2), 20 * 2, 20 * 1, 0});
        CHECK(gradient[weight] == 20 * 30 + 30 * 10);
        CHECK(gradient[weight + 1] == 20 * 20 + 30 * 10);
        CHECK(gradient[bias] == 20 + 30);
        for (const float none : {4.0F, -1.0F, NAN}) {
            examples[3] = none;
            CHECK_THROWS_WITH_AS(network.train(parameters.data(), gradient.data(), batch, 0), doctest::Contains(" of 4"),
                                 Fault);
        }
    }

    TEST_CASE("AClassIsAmongTheFiveWhereFewerThanFiveOthersAreAhead") {
        const Floats scores{0, 5, 1, 4, 3, 2, 5};
        const bool expected[]{false, true, false, true, true, true, true};
        for (std::uint32_t label = 0; label < 7; ++label)
            CHECK((classes_ahead(scores.data(), 7, label) < 5) == expected[label]);
        // Of equal scores the first are ahead; what is no number is ahead, and never among them.
        const Floats equal(7, 1.0F);
        for (std::uint32_t label = 0; label < 7; ++label) CHECK((classes_ahead(equal.data(), 7, label) < 5) == (label < 5));
        const Floats lost{NAN, 6, 5, 4, 3, 2, 1};
        for (std::uint32_t label = 0; label < 7; ++label)
            CHECK((classes_ahead(lost.data(), 7, label) < 5) == (label >= 1 && label <= 4));
        for (std::uint32_t label = 0; label < 3; ++label) CHECK(classes_ahead(equal.data(), 3, label) < 5);
    }

    TEST_CASE("DropoutFollowsItsKeyAndActsInTrainingOnly") {
        const ModelSpec spec = networks()[4];
        Case one(spec), same(spec);
        CHECK(one.loss() == same.loss());
        CHECK(one.gradient == same.gradient);
        const Floats before = one.gradient;
        one.network.train(one.parameters.data(), one.gradient.data(), one.batch(), Case::kKey + 1);
        CHECK(one.gradient != before);
    }

    TEST_CASE("TheNamedModelsAreAmongThoseItTrains") {
        for (const char* name : testing::kTrainedModels)
            CHECK(direct::misfit(testing::small_model(name, {1, 28, 28}, 10)).empty());
        for (const char* name : {"resnet20", "resnet18"}) {
            for (const char* norm : {"group", "batch"})
                CHECK(direct::misfit(named_model(name, {3, 32, 32}, 10, {{"norm", std::string(norm)}})).empty());
            for (const char* norm : {"group", "batch"})
                CHECK(direct::device::misfit(named_model(name, {3, 32, 32}, 10, {{"norm", std::string(norm)}})).empty());
        }
    }

    TEST_CASE("WhatItHasNoOperationForIsNamed") {
        LayerList wide, norm, within, beside, rows;
        const std::vector<float> around{2, 1, 1, 1};  // a kernel of 1 with padding 1
        wide.add("conv2d", {4, 2, 1, 2}).add("flatten").add("linear");
        norm.add("layer_norm").add("flatten").add("linear");
        within.add("relu").add("residual").add("conv2d", around).add("conv2d", {2, 3}).end().add("flatten").add("linear");
        beside.add("relu").add("residual").add("tanh").shortcut().add("conv2d", around).add("conv2d", {2, 3}).end();
        beside.add("flatten").add("linear");
        rows.add("residual").add("flatten").shortcut().add("flatten").end().add("linear");
        const std::string padded = "conv2d with padding not smaller than its kernel";
        CHECK(direct::misfit(listed_model(beside, kInput, 5)) == padded + " (layer 1.shortcut.0)");
        CHECK(direct::misfit(listed_model(within, kInput, 5)) == padded + " (layer 1.0)");
        CHECK(direct::misfit(listed_model(rows, kInput, 5)) == "residual that turns images into rows (layer 0)");
        CHECK(direct::misfit(listed_model(wide, kInput, 5)) == padded + " (layer 0)");
        CHECK(direct::misfit(listed_model(norm, kInput, 5)) == "layer_norm over images (layer 0)");
        CHECK_THROWS_WITH_AS(direct::Network{listed_model(wide, kInput, 5)},
                             ("the direct engine has no " + padded + " (layer 0)").c_str(), ConfigError);
    }

    TEST_CASE("WhatThreadBlocksLackIsNamed") {
        const auto lacking = [](std::initializer_list<std::pair<const char*, std::vector<float>>> kinds) {
            LayerList layers;
            for (const auto& [kind, arguments] : kinds) layers.add(kind, arguments);
            const ModelSpec spec = listed_model(layers.add("flatten").add("linear"), fedhive::testing::kTokens, 5);
            CHECK(direct::misfit(spec).empty());
            return direct::device::misfit(spec);
        };
        const std::pair<const char*, std::vector<float>> table{"embedding", {4, 0}};
        CHECK(lacking({table}).empty());
        CHECK(lacking({table, {"layer_norm", {}}}).empty());
        CHECK(lacking({table, {"layer_norm", {1}}, {"position", {}}, {"linear", {4}}, {"gelu", {}}}).empty());
        CHECK(lacking({table, {"lstm", {4, 1, 1}}, {"gru", {4, 2, 1, 1}}, {"attention", {2}}}).empty());
        const auto lacking_for_images = [](const char* kind, const std::vector<float>& arguments, ExampleShape input = kInput) {
            const ModelSpec spec = listed_model(LayerList().add(kind, arguments).add("flatten").add("linear"), input, 5);
            CHECK(direct::misfit(spec).empty());
            return direct::device::misfit(spec);
        };
        CHECK(lacking_for_images("conv2d", {4, 3, 1, 0, 2}) == "conv2d with groups on a GPU (layer 0)");
        CHECK(lacking_for_images("conv2d", {4, 3}).empty());
        const std::string pools = "pools whose windows overlap, leave gaps or exceed the image on a GPU (layer 0)";
        CHECK(lacking_for_images("max_pool", {3, 2}) == pools);
        CHECK(lacking_for_images("avg_pool", {2, 2, 1}) == pools);
        CHECK(lacking_for_images("avg_pool", {2, 2}).empty());
        CHECK(lacking_for_images("avg_pool", {}) == "avg_pool over a whole image that is not square on a GPU (layer 0)");
        CHECK(lacking_for_images("avg_pool", {}, {2, 8, 8}).empty());
    }
}
