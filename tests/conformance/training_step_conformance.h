// Contract of every local step (clients/engine/training_step.h), for any engine and model, in either memory.
#pragma once

#include "clients/engine/training_step.h"
#include "clients/visit/local_step.h"
#include "tests/aggregation/spans.h"
#include "tests/support/proximal.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace fedhive::conformance {

using aggregation::OptimizerOptions;
using aggregation::SgdOptions;
using aggregation::testing::download;
using aggregation::testing::Floats;
using aggregation::testing::same_bits;
using aggregation::testing::upload;

/// A way of training one client: a model, its memory, and at least 64 examples with a loss other than 0.
struct StepUnderTest {
    std::function<std::shared_ptr<clients::TrainingStep>(const OptimizerOptions&)> make;  // for batches of 16 at most
    aggregation::ParamBuffer start;                                                       // [P], the clients' initial model

    aggregation::MemorySpace space() const { return start.span().space; }
    Floats global() const { return download(start); }
    std::shared_ptr<clients::TrainingStep> begun(const OptimizerOptions& optimizer = SgdOptions{0.125F, 0.0F, 0.0F,
                                                                                                false}) const {
        const auto step = make(optimizer);
        begin(*step, start);
        return step;
    }

    static void begin(clients::TrainingStep& step, aggregation::ConstParamSpan from, std::uint64_t dropout_seed = 5) {
        clients::ClientStart start;
        start.global = from;
        start.dropout_seed = dropout_seed;
        step.begin(start);
    }
};

/// SGD settings to test.
inline constexpr SgdOptions kSgd[] = {
    {0.125F, 0.0F, 0.0F, false}, {0.125F, 0.5F, 0.0F, false}, {0.125F, 0.0F, 0.25F, false}, {0.125F, 0.5F, 0.25F, true}};

/// All optimiser settings. Epsilon is coarse: with a small one, the rounding of a gradient near 0 would
/// decide an element's step.
inline const OptimizerOptions kOptimizers[] = {kSgd[0],
                                               kSgd[1],
                                               kSgd[2],
                                               kSgd[3],
                                               aggregation::AdamOptions{0.05F, 0.5F, 0.75F, 0.01F, 0.25F, false},
                                               aggregation::AdamOptions{0.05F, 0.5F, 0.75F, 0.01F, 0.25F, true},
                                               aggregation::AdagradOptions{0.05F, 0.25F, 0.01F}};

/// Settings that a suite tries. Sanitized builds with large models test each rule once with all its terms, to save time.
inline std::span<const OptimizerOptions> optimizers_of(const StepUnderTest& way) {
#ifdef FEDHIVE_SANITIZED
    if (way.start.span().size > 100'000) return std::span(kOptimizers).subspan(3);
#endif
    static_cast<void>(way);
    return kOptimizers;
}

inline std::vector<std::uint32_t> examples(std::uint32_t first, std::size_t count) {
    std::vector<std::uint32_t> indices(count);
    std::iota(indices.begin(), indices.end(), first);
    return indices;
}

inline double norm(const Floats& values) {
    return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

/// |a - b| <= part * max(|a|, scale).
inline void check_close(const Floats& a, const Floats& b, double part, double scale = 0.0) {
    REQUIRE(a.size() == b.size());
    Floats distance(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) distance[i] = a[i] - b[i];
    CHECK(norm(distance) <= part * std::max(norm(a), scale));
}

/// Model, optimiser state and loss after three steps over consecutive parts of an epoch, the last one ragged.
struct Epoch {
    Floats parameters, state;
    double loss_sum = 0.0;

    explicit Epoch(clients::TrainingStep& step) {
        const auto order = examples(3, 39);
        for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 16}, {16, 16}, {32, 7}}) {
            const clients::RowBatch batch{std::span(order).subspan(first, count), {}, std::span(order).subspan(first + count)};
            step.step_rows({&batch, 1});
        }
        parameters = download(step.parameters());
        state = download(step.one_row()->optimizer_state());
        loss_sum = step.loss_sum();
    }
    void is(const Epoch& other) const {
        CHECK(same_bits(parameters, other.parameters));
        CHECK(same_bits(state, other.state));
        CHECK(loss_sum == other.loss_sum);
    }
};

inline void client_begins_at_the_global_model(const StepUnderTest& way) {
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto step = way.begun(optimizer);
        CHECK(same_bits(download(step->parameters()), way.global()));
        CHECK(step->loss_sum() == 0.0);
        const std::size_t trainable = step->one_row()->gradient().size;
        CHECK(trainable > 0);
        CHECK(trainable <= way.start.span().size);
        CHECK(download(step->one_row()->optimizer_state()) ==
              Floats(aggregation::num_state_vectors(optimizer) * trainable, 0.0F));
        CHECK(step->gather_s() >= 0.0);
    }
}

/// The gradient's norm equals the slope of the loss along it, by a central difference; computing it changes no parameter.
inline void gradient_is_the_slope_of_the_loss(const StepUnderTest& way) {
    const auto batch = examples(3, 16);
    const auto step = way.begun();
    step->compute_gradient(batch);
    const Floats gradient = download(step->one_row()->gradient());
    CHECK(same_bits(download(step->parameters()), way.global()));
    const double length = norm(gradient);
    REQUIRE(length > 1e-3);
    const auto loss_at = [&](double distance) {
        Floats moved = way.global();
        for (std::size_t i = 0; i < gradient.size(); ++i) moved[i] += static_cast<float>(distance * gradient[i] / length);
        const aggregation::ParamBuffer from = upload(moved, way.space());
        StepUnderTest::begin(*step, from);
        step->compute_gradient(batch);
        return step->loss_sum() / 16.0;
    };
    constexpr double kDistance = 1e-2;
    CHECK((loss_at(kDistance) - loss_at(-kDistance)) / (2.0 * kDistance) == doctest::Approx(length).epsilon(0.03));
}

/// A batch's gradient is the mean over its examples for any size; losses add up.
inline void batch_of_any_size_is_the_mean_of_its_examples(const StepUnderTest& way) {
    const auto step = way.begun();
    for (const std::size_t size : {2U, 7U, 16U}) {
        const double before = step->loss_sum();
        step->compute_gradient(examples(20, size));
        const Floats together = download(step->one_row()->gradient());
        const double loss = step->loss_sum() - before;
        Floats mean(together.size(), 0.0F);
        for (std::uint32_t i = 0; i < size; ++i) {
            step->compute_gradient(examples(20 + i, 1));
            const Floats one = download(step->one_row()->gradient());
            for (std::size_t k = 0; k < one.size(); ++k) mean[k] += one[k] / static_cast<float>(size);
        }
        check_close(together, mean, 1e-4);
        CHECK(step->loss_sum() - before == doctest::Approx(2.0 * loss).epsilon(1e-5));
    }
}

/// Same bits as the optimiser on flat parameters (its arithmetic: vector_ops_conformance.h) with the step's own gradient, in
/// one piece or in two halves.
inline void step_is_that_of_the_optimizer(const StepUnderTest& way) {
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto halves = way.begun(optimizer);
        const auto whole = way.begun(optimizer);
        const aggregation::ParamBuffer expected = upload(way.global(), way.space());
        aggregation::ClientOptimizer flat(optimizer, halves->one_row()->gradient().size, way.space());
        flat.begin();
        for (std::uint32_t first = 0; first < 3; ++first) {
            const auto batch = examples(16 * first, 16);
            halves->compute_gradient(batch);
            flat.begin_step();
            flat.step(expected.span().first(halves->one_row()->gradient().size), halves->one_row()->gradient());
            halves->apply_gradients();
            whole->step(batch);
            CHECK(same_bits(download(expected), download(halves->parameters())));
            CHECK(same_bits(download(flat.state()), download(halves->one_row()->optimizer_state())));
            CHECK(same_bits(download(whole->parameters()), download(halves->parameters())));
        }
    }
}

/// The start's rate scales the optimiser's client rate for one client: a half gives the results of half the rate.
inline void rate_is_the_starts_part_of_the_optimizers(const StepUnderTest& way) {
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto half = way.begun(
            std::visit([](const auto& rule) { return OptimizerOptions(aggregation::at_rate(rule, 0.5F)); }, optimizer));
        const Epoch expected(*half);
        const auto step = way.make(optimizer);
        clients::ClientStart start;
        start.global = way.start;
        start.rate.lr_factor = 0.5F;
        start.dropout_seed = 5;
        step->begin(start);
        Epoch(*step).is(expected);
        StepUnderTest::begin(*step, way.start);
        Epoch(*step).is(Epoch(*way.begun(optimizer)));
    }
}

inline void gradient_that_is_changed_is_followed(const StepUnderTest& way) {
    const auto step = way.begun();
    step->compute_gradient(examples(0, 16));
    aggregation::set_zero(step->one_row()->gradient());
    step->apply_gradients();
    CHECK(same_bits(download(step->parameters()), way.global()));
}

/// The pieces cover the gradient, each parameter once; changes to them take effect in the step.
inline void pieces_are_the_gradient(const StepUnderTest& way) {
    const auto step = way.begun();
    step->compute_gradient(examples(0, 16));
    const Floats whole = download(step->one_row()->gradient());
    step->compute_gradient(examples(0, 16));
    Floats found(whole.size(), -1.0F);
    step->for_each_piece([&](const clients::GradientPiece& piece) {
        CHECK(piece.gradients.rows == 1);
        CHECK(piece.parameters.width == piece.gradients.width);
        CHECK(piece.parameters.data == step->parameters().data + piece.first);
        const Floats part = download(piece.gradients.row(0));
        std::copy(part.begin(), part.end(), found.begin() + static_cast<std::ptrdiff_t>(piece.first));
        aggregation::set_zero(piece.gradients.row(0));
    });
    CHECK(same_bits(found, whole));
    step->apply_gradients();
    CHECK(same_bits(download(step->parameters()), way.global()));
}

/// step_changed() has the bits of the two halves with the change between them; its pieces cover each parameter once, and with them come the
/// values before the step.
inline void changed_step_is_its_halves(const StepUnderTest& way) {
    const auto weigh_down = [](const clients::GradientPiece& piece) {
        aggregation::add_scaled(piece.gradients.row(0), piece.parameters.row(0), 0.5);
    };
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto halves = way.begun(optimizer), whole = way.begun(optimizer);
        for (std::uint32_t first = 0; first < 3; ++first) {
            const std::vector<std::uint32_t> batch = examples(16 * first, first == 2 ? 5 : 16);
            const clients::RowBatch row{batch};
            halves->compute_gradients({&row, 1});
            halves->for_each_piece(weigh_down);
            halves->apply_gradients();
            std::vector<int> covered(halves->one_row()->gradient().size, 0);
            whole->step_changed({&row, 1}, [&](const clients::GradientPiece& piece) {
                for (std::size_t i = 0; i < piece.gradients.width; ++i) ++covered.at(piece.first + i);
                weigh_down(piece);
            });
            CHECK(covered == std::vector<int>(covered.size(), 1));
            CHECK(same_bits(download(whole->parameters()), download(halves->parameters())));
            CHECK(same_bits(download(whole->one_row()->optimizer_state()), download(halves->one_row()->optimizer_state())));
        }
    }
}

/// A rule that adds mu * (local - global) around any engine.
inline void proximal_term_pulls_towards_the_global_model(const StepUnderTest& way) {
    const Floats global = way.global();
    const auto engine = way.make(SgdOptions{0.125F, 0.0F, 0.0F, false});
    std::vector<Floats> gradients, distances;
    for (const float mu : {0.0F, 0.5F, 2.0F, 0.0F}) {
        StepUnderTest::begin(*engine, way.start);
        testing::ProximalStep around(*engine, mu, engine->one_row()->gradient().size, way.start);
        clients::TrainingStep* const step = &around.step;
        StepUnderTest::begin(*step, way.start);
        step->step(examples(0, 16));  // at the global model, where the term is 0
        Floats distance = download(step->parameters());
        for (std::size_t i = 0; i < distance.size(); ++i) distance[i] -= global[i];
        distances.push_back(distance);
        step->compute_gradient(examples(16, 16));
        gradients.push_back(download(step->one_row()->gradient()));
    }
    for (const std::size_t which : {1U, 2U}) {
        CHECK(same_bits(distances[which], distances[0]));
        Floats expected = gradients[0];
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += (which == 1 ? 0.5F : 2.0F) * distances[0][i];
        check_close(expected, gradients[which], 1e-5);
    }
    CHECK(same_bits(gradients[3], gradients[0]));
}

inline void momentum_goes_on_from_what_a_start_gives(const StepUnderTest& way) {
    const SgdOptions optimizer{0.125F, 0.5F, 0.0F, false};
    const auto one = way.begun(optimizer);
    one->step(examples(0, 16));
    const aggregation::ParamBuffer model = upload(download(one->parameters()), way.space());
    const aggregation::ParamBuffer velocity = upload(download(one->one_row()->optimizer_state()), way.space());
    one->step(examples(16, 16));
    const auto other = way.make(optimizer);
    clients::ClientStart start;
    start.global = model;
    start.optimizer_state = velocity;
    other->begin(start);
    other->step(examples(16, 16));
    CHECK(same_bits(download(other->parameters()), download(one->parameters())));
    CHECK(same_bits(download(other->one_row()->optimizer_state()), download(one->one_row()->optimizer_state())));
}

/// The same start gives the same bits from a step object that trained other clients and from a fresh one.
inline void nothing_of_the_client_before_remains(const StepUnderTest& way) {
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto step = way.begun(optimizer);
        const Epoch first(*step);
        const aggregation::ParamBuffer moved = upload(first.parameters, way.space());
        StepUnderTest::begin(*step, moved, 6);
        const Epoch other(*step);
        CHECK_FALSE(same_bits(other.parameters, first.parameters));
        step->compute_gradient(examples(0, 5));  // it is not applied
        StepUnderTest::begin(*step, way.start);
        Epoch(*step).is(first);
        Epoch(*way.begun(optimizer)).is(first);
    }
}

/// Hogwild: with one client the shared model equals the local one; writes by others are seen by the next step.
inline void shared_model_is_read_and_written_in_place(const StepUnderTest& way) {
    for (const OptimizerOptions& optimizer : optimizers_of(way)) {
        const auto local = way.begun(optimizer);
        const Epoch expected(*local);
        const aggregation::ParamBuffer model = upload(way.global(), way.space());
        const auto step = way.make(optimizer);
        clients::ClientStart start;
        start.global = model;
        start.shared = clients::RacyModel(model);
        start.dropout_seed = 5;
        step->begin(start);
        const Epoch found(*step);
        CHECK(same_bits(download(model), expected.parameters));
        CHECK(found.loss_sum == expected.loss_sum);
        Floats written = expected.parameters;
        written.front() += 1.0F;
        aggregation::copy(model, aggregation::ConstParamSpan(upload(written, way.space())));
        step->compute_gradient(examples(0, 16));
        CHECK(same_bits(download(step->parameters()), written));
        CHECK(same_bits(download(model), written));
    }
}

inline void loss_that_is_not_finite_is_told_and_forgotten(const StepUnderTest& way) {
    const Floats broken(way.start.span().size, std::numeric_limits<float>::quiet_NaN());
    const auto step = way.begun();
    const Epoch expected(*step);
    const aggregation::ParamBuffer from = upload(broken, way.space());
    StepUnderTest::begin(*step, from);
    step->step(examples(0, 16));
    CHECK_FALSE(std::isfinite(step->loss_sum()));
    CHECK(std::isnan(download(step->parameters()).front()));
    StepUnderTest::begin(*step, way.start);
    Epoch(*step).is(expected);
}

inline void training_step_conforms(const StepUnderTest& way) {
    client_begins_at_the_global_model(way);
    gradient_is_the_slope_of_the_loss(way);
    batch_of_any_size_is_the_mean_of_its_examples(way);
    step_is_that_of_the_optimizer(way);
    rate_is_the_starts_part_of_the_optimizers(way);
    gradient_that_is_changed_is_followed(way);
    pieces_are_the_gradient(way);
    changed_step_is_its_halves(way);
    proximal_term_pulls_towards_the_global_model(way);
    momentum_goes_on_from_what_a_start_gives(way);
    nothing_of_the_client_before_remains(way);
    shared_model_is_read_and_written_in_place(way);
    loss_that_is_not_finite_is_told_and_forgotten(way);
}

/// For a model with dropout, where no slope can be measured: draws depend on the client's seed only.
inline void dropout_follows_the_clients_seed(const StepUnderTest& way) {
    const auto step = way.begun();
    const Epoch first(*step);
    StepUnderTest::begin(*step, way.start, 6);
    CHECK(Epoch(*step).loss_sum != first.loss_sum);
    nothing_of_the_client_before_remains(way);
    shared_model_is_read_and_written_in_place(way);
}

}  // namespace fedhive::conformance
