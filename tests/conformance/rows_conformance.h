// Contract of every step for several clients at once (clients/engine/training_step.h): each row matches the
// step of a single client.
#pragma once

#include "tests/conformance/training_step_conformance.h"
#include "tests/support/proximal.h"

#include <algorithm>

namespace fedhive::conformance {

/// A way of training at least four clients at once.
struct RowsUnderTest {
    std::function<std::shared_ptr<clients::TrainingStep>(const SgdOptions&)> make;  // for batches of 16 at most
    StepUnderTest alone;                                                            // reference of a row, up to rounding

    std::shared_ptr<clients::TrainingStep> begun(const SgdOptions& optimizer) const {
        const auto step = make(optimizer);
        begin(*step);
        return step;
    }
    void begin(clients::TrainingStep& step, std::size_t rows = 4, std::uint64_t dropout_seed = 5) const {
        clients::ClientStart start;
        start.rows = rows;
        start.global = alone.start;
        start.dropout_seed = dropout_seed;
        step.begin(start);
    }
};

/// [step][row]: ranges of examples; batch sizes differ, and rows end at different steps.
struct RangeOfExamples {
    std::uint32_t first = 0;
    std::size_t count = 0;
};
using Schedule = std::vector<std::vector<RangeOfExamples>>;
inline const Schedule kRagged{
    {{0, 16}, {16, 16}, {32, 9}, {48, 1}}, {{5, 16}, {20, 16}, {40, 4}, {}}, {{8, 16}, {30, 3}, {}, {}}, {{11, 2}, {}, {}, {}}};

inline void take(clients::TrainingStep& step, const std::vector<RangeOfExamples>& ranges) {
    std::vector<std::vector<std::uint32_t>> indices;
    for (const RangeOfExamples& range : ranges) indices.push_back(examples(range.first, range.count));
    std::vector<clients::RowBatch> batches;
    for (const std::vector<std::uint32_t>& of_row : indices) batches.push_back({of_row});
    step.step_rows(batches);
}

/// Results of all rows after a schedule.
struct Rows {
    std::vector<Floats> parameters;
    std::vector<double> losses;

    Rows(clients::TrainingStep& step, const Schedule& schedule) {
        const std::size_t rows = schedule.front().size();
        for (const auto& ranges : schedule) take(step, ranges);
        for (std::size_t row = 0; row < rows; ++row) parameters.push_back(download(step.parameters_of(row)));
        for (std::size_t row = 0; row < rows; ++row) losses.push_back(step.loss_of(row));
    }
    bool same(const Rows& other, std::size_t row) const {
        return same_bits(parameters[row], other.parameters[row]) && losses[row] == other.losses[row];
    }
};

inline void rows_begin_at_the_global_model(const RowsUnderTest& way) {
    const auto step = way.begun({0.125F, 0.5F, 0.0F, false});
    REQUIRE(step->num_rows() >= 4);
    for (std::size_t row = 0; row < 4; ++row) CHECK(same_bits(download(step->parameters_of(row)), way.alone.global()));
    for (std::size_t row = 0; row < 4; ++row) CHECK(step->loss_of(row) == 0.0);
    CHECK(step->gather_s() >= 0.0);
}

/// For every optimiser setting, with and without a proximal term; one engine serves all, so leftovers of earlier clients would show.
inline void rows_are_clients_trained_alone(const RowsUnderTest& way) {
    for (const SgdOptions& optimizer : kSgd) {
        const auto engine = way.make(optimizer), engine_alone = way.alone.make(optimizer);
        for (const float mu : {0.0F, 0.5F}) {
            way.alone.begin(*engine_alone, way.alone.start);
            const std::size_t trained = engine_alone->one_row()->gradient().size;
            testing::ProximalStep rows(*engine, mu, trained, way.alone.start), one(*engine_alone, mu, trained, way.alone.start);
            clients::LocalStep *const step = &rows.step, *const alone = &one.step;
            way.begin(*step);
            const Rows found(*step, kRagged);
            for (std::size_t row = 0; row < 4; ++row) {
                CAPTURE(row);
                StepUnderTest::begin(*alone, way.alone.start);
                for (const auto& ranges : kRagged)
                    if (ranges[row].count > 0) alone->step(examples(ranges[row].first, ranges[row].count));
                check_close(download(alone->parameters()), found.parameters[row], 1e-5);
                CHECK(found.losses[row] == doctest::Approx(alone->loss_sum()).epsilon(1e-4));
            }
        }
    }
}

/// A row without a batch stays unchanged, even if momentum, a proximal term or weight decay would move it.
inline void row_at_rest_stays_as_it_is(const RowsUnderTest& way) {
    const auto engine = way.make({0.125F, 0.5F, 0.25F, true});
    const auto alone = way.alone.begun();
    testing::ProximalStep local(*engine, 0.5F, alone->one_row()->gradient().size, way.alone.start);
    clients::LocalStep* const step = &local.step;
    way.begin(*step);
    const Rows before(*step, {kRagged.front()});
    const Rows after(*step, {{{5, 16}, {}, {40, 4}, {}}});
    for (const std::size_t row : {1U, 3U}) CHECK(after.same(before, row));
    for (const std::size_t row : {0U, 2U}) {
        CHECK_FALSE(same_bits(after.parameters[row], before.parameters[row]));
        CHECK(after.losses[row] > before.losses[row]);
    }
    // Later batches of that row train it again.
    const Rows later(*step, {{{}, {20, 16}, {}, {}}});
    CHECK_FALSE(same_bits(later.parameters[1], after.parameters[1]));
}

inline void rows_bits_do_not_depend_on_the_others_values(const RowsUnderTest& way) {
    const SgdOptions optimizer{0.125F, 0.5F, 0.25F, false};
    Schedule others = kRagged;
    for (auto& ranges : others)
        for (std::size_t row = 0; row < 4; ++row)
            if (row != 2 && ranges[row].count > 0) ranges[row].first += 1;
    const auto step = way.begun(optimizer);
    const Rows before(*step, kRagged);
    way.begin(*step);
    const Rows after(*step, others);
    for (std::size_t row = 0; row < 4; ++row) CHECK(after.same(before, row) == (row == 2));
}

/// Each row is clipped by its own gradient norm, as a single client is.
inline void rows_are_clipped_each_by_itself(const RowsUnderTest& way) {
    const SgdOptions optimizer{0.125F, 0.0F, 0.0F, false};
    const auto engine = way.make(optimizer), engine_alone = way.alone.make(optimizer);
    StepUnderTest::begin(*engine_alone, way.alone.start);
    engine_alone->compute_gradient(examples(16, 16));
    const double most = 0.5 * norm(download(engine_alone->one_row()->gradient()));
    clients::LocalStep rows(*engine, most), alone(*engine_alone, most);
    way.begin(rows);
    const Rows found(rows, kRagged);
    for (std::size_t row = 0; row < 4; ++row) {
        CAPTURE(row);
        StepUnderTest::begin(alone, way.alone.start);
        for (const auto& ranges : kRagged)
            if (ranges[row].count > 0) alone.step(examples(ranges[row].first, ranges[row].count));
        check_close(download(alone.parameters()), found.parameters[row], 1e-5);
    }
}

inline void nothing_of_the_clients_before_remains(const RowsUnderTest& way) {
    const SgdOptions optimizer{0.125F, 0.5F, 0.25F, true};
    const auto step = way.begun(optimizer);
    const Rows first(*step, kRagged);
    way.begin(*step, 2, 2.0F);  // with fewer rows
    const Rows other(*step, {{{0, 16}, {16, 7}}});
    way.begin(*step);
    const Rows again(*step, kRagged);
    const auto another = way.begun(optimizer);
    const Rows elsewhere(*another, kRagged);
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(again.same(first, row));
        CHECK(elsewhere.same(first, row));
    }
}

inline void what_is_not_finite_stays_in_its_row(const RowsUnderTest& way) {
    const auto step = way.begun({0.125F, 0.5F, 0.0F, false});
    const Rows before(*step, kRagged);
    way.begin(*step);
    const Floats broken(way.alone.start.span().size, std::numeric_limits<float>::quiet_NaN());
    aggregation::copy(step->parameters_of(1), aggregation::ConstParamSpan(upload(broken, way.alone.space())));
    const Rows after(*step, kRagged);
    for (const std::size_t row : {0U, 2U, 3U}) CHECK(after.same(before, row));
    CHECK_FALSE(std::isfinite(after.losses[1]));
    CHECK(std::isnan(after.parameters[1].front()));
}

inline void rows_conform(const RowsUnderTest& way) {
    rows_begin_at_the_global_model(way);
    rows_are_clients_trained_alone(way);
    row_at_rest_stays_as_it_is(way);
    rows_bits_do_not_depend_on_the_others_values(way);
    rows_are_clipped_each_by_itself(way);
    nothing_of_the_clients_before_remains(way);
    what_is_not_finite_stays_in_its_row(way);
}

/// For a model with dropout: rows with the same examples draw different masks, and all depend on the start's seed.
inline void rows_draw_their_own_dropout(const RowsUnderTest& way) {
    const Schedule same_examples{{{0, 16}, {0, 16}, {0, 16}, {0, 16}}};
    const SgdOptions optimizer{0.125F, 0.0F, 0.0F, false};
    const auto step = way.begun(optimizer);
    const Rows first(*step, same_examples);
    way.begin(*step);
    const Rows again(*step, same_examples);
    way.begin(*step, 4, 6);
    const Rows other(*step, same_examples);
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(again.same(first, row));
        CHECK(other.losses[row] != first.losses[row]);
        if (row > 0) CHECK(first.losses[row] != first.losses[0]);
    }
}

}  // namespace fedhive::conformance
