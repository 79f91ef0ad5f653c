// vector_ops against plain loops, bit for bit, in either memory space, with sizes around every boundary: warps, chunks, blocks
// (8,192 elements of an update) and batches of chunks (from 32,768 to 262,144 elements, depending on how they are fetched).
#pragma once

#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/pinned_array.h"
#include "tests/aggregation/reference.h"
#include "tests/aggregation/spans.h"

#include <doctest/doctest.h>

#include <cmath>
#include <iterator>
#include <vector>

namespace fedhive::aggregation::conformance {

constexpr std::size_t kSizes[] = {1, 15, 31, 32, 33, 256, 1023, 1024, 1025, 5000, 8193, 32769, 100003};

inline void sgd_is_as_written_down(MemorySpace space, const SgdOptions& options) {
    for (const std::size_t size : kSizes) {
        testing::Floats parameters = testing::random_floats(size, 1);
        testing::Floats velocity = options.momentum == 0.0F ? testing::Floats{} : testing::random_floats(size, 2);
        const ParamBuffer on_parameters = testing::upload(parameters, space);
        const ParamBuffer on_velocity = velocity.empty() ? ParamBuffer() : testing::upload(velocity, space);
        for (std::uint32_t step = 0; step < 2; ++step) {
            const testing::Floats gradient = testing::random_floats(size, 3 + step);
            sgd_step(on_parameters, testing::upload(gradient, space), on_velocity, options);
            reference::sgd_step(parameters, gradient, velocity, options);
        }
        CHECK(testing::same_bits(testing::download(on_parameters), parameters));
        if (!velocity.empty()) CHECK(testing::same_bits(testing::download(on_velocity), velocity));
    }
}

/// Steps 1 and 2 with two moments, the second not negative; Adagrad has one sum of squares.
template <typename Options, typename Step, typename Reference>
void moments_are_as_written_down(MemorySpace space, const Options& options, Step step, Reference written_down) {
    for (const std::size_t size : kSizes) {
        testing::Floats parameters = testing::random_floats(size, 1), m = testing::random_floats(size, 2), v(size, 0.25F);
        const ParamBuffer on_parameters = testing::upload(parameters, space), on_m = testing::upload(m, space),
                          on_v = testing::upload(v, space);
        for (int count = 1; count <= 2; ++count) {
            const testing::Floats gradient = testing::random_floats(size, 3 + static_cast<std::uint32_t>(count));
            step(on_parameters, testing::upload(gradient, space), on_m, on_v, options, count);
            written_down(parameters, gradient, m, v, options, count);
        }
        CHECK(testing::same_bits(testing::download(on_parameters), parameters));
        CHECK(testing::same_bits(testing::download(on_m), m));
        CHECK(testing::same_bits(testing::download(on_v), v));
    }
}

inline void adam_conforms(MemorySpace space) {
    for (const AdamOptions& options : {AdamOptions{}, AdamOptions{0.01F, 0.5F, 0.9F, 1e-3F, 0.125F, false},
                                       AdamOptions{0.01F, 0.5F, 0.9F, 1e-3F, 0.125F, true}})
        moments_are_as_written_down(
            space, options,
            [](const ParamBuffer& parameters, const ParamBuffer& gradient, const ParamBuffer& m, const ParamBuffer& v,
               const AdamOptions& with,
               int step) { adam_step(parameters, gradient, m, v, with, static_cast<std::uint64_t>(step)); },
            reference::adam_step);
}

inline void adagrad_conforms(MemorySpace space) {
    for (const AdagradOptions& options : {AdagradOptions{}, AdagradOptions{0.1F, 0.125F, 1e-3F}})
        moments_are_as_written_down(
            space, options,
            [](const ParamBuffer& parameters, const ParamBuffer& gradient, const ParamBuffer&, const ParamBuffer& sum,
               const AdagradOptions& with, int) { adagrad_step(parameters, gradient, sum, with); },
            [](testing::Floats& parameters, const testing::Floats& gradient, testing::Floats&, testing::Floats& sum,
               const AdagradOptions& with, int) { reference::adagrad_step(parameters, gradient, sum, with); });
}

inline void sgd_conforms(MemorySpace space) {
    sgd_is_as_written_down(space, {.lr = 0.1F, .momentum = 0.0F, .weight_decay = 0.0F, .nesterov = false});
    sgd_is_as_written_down(space, {.lr = 0.1F, .momentum = 0.0F, .weight_decay = 0.01F, .nesterov = false});
    sgd_is_as_written_down(space, {.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = false});
    sgd_is_as_written_down(space, {.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.0F, .nesterov = true});

    const ParamBuffer some(16, space);
    const ParamBuffer more(32, space);
    CHECK_THROWS_AS(sgd_step(some, more, ParamSpan(), {}), ShapeError);
    CHECK_THROWS_AS(sgd_step(some, some, more, {.lr = 0.1F, .momentum = 0.5F}), ShapeError);
    CHECK_THROWS_AS(sgd_step(some, some, some, {.lr = 0.1F, .momentum = 0.0F}), ShapeError);
    CHECK_THROWS_AS(sgd_step(some, some, ParamSpan(), {.lr = 0.1F, .momentum = 0.0F, .weight_decay = 0.0F, .nesterov = true}),
                    Fault);
}

inline void scale_and_add_conform(MemorySpace space) {
    for (const std::size_t size : kSizes) {
        const testing::Floats local = testing::random_floats(size, 2);
        const testing::Floats global = testing::random_floats(size, 3);
        const ParamBuffer target = testing::poisoned(size, space);
        scale(target, testing::upload(local, space), 1.0 / 3.0);
        CHECK(testing::same_bits(testing::download(target), reference::scaled(local, 1.0 / 3.0)));
        scale(target, target, 2.0);
        CHECK(testing::same_bits(testing::download(target), reference::scaled(reference::scaled(local, 1.0 / 3.0), 2.0)));

        testing::Floats sum = testing::download(target);
        add(target, testing::upload(global, space));
        for (std::size_t i = 0; i < size; ++i) sum[i] += global[i];
        CHECK(testing::same_bits(testing::download(target), sum));
        add_scaled(target, testing::upload(local, space), 1.0 / 3.0);
        const testing::Floats term = reference::scaled(local, 1.0 / 3.0);
        for (std::size_t i = 0; i < size; ++i) sum[i] += term[i];
        CHECK(testing::same_bits(testing::download(target), sum));
        set_zero(target);
        CHECK(testing::same_bits(testing::download(target), testing::Floats(size, 0.0F)));
    }
    const ParamBuffer some(16, space);
    const ParamBuffer more(32, space);
    CHECK_THROWS_AS(scale(some, more, 1.0), ShapeError);
    CHECK_THROWS_AS(add(some, more), ShapeError);
    CHECK_THROWS_AS(add_scaled(some, more, 1.0), ShapeError);
    CHECK_THROWS_AS(copy(some, more), ShapeError);
}

inline void write_update_conforms(MemorySpace space) {
    std::vector<std::size_t> sizes(std::begin(kSizes), std::end(kSizes));
    sizes.push_back(300007);
    for (const std::size_t size : sizes) {
        const testing::Floats local = testing::random_floats(size, 1);
        const testing::Floats global = testing::random_floats(size, 2);
        testing::Floats update(size);
        const UpdateSummary expected = reference::write_update(update, local, global);
        const ParamBuffer on_local = testing::upload(local, space);
        const ParamBuffer on_global = testing::upload(global, space);
        const ParamBuffer target = testing::poisoned(size, space);
        const UpdateSummary summary = write_update(target, on_local, on_global);
        CHECK(testing::same_bits(testing::download(target), update));
        CHECK(summary.norm == expected.norm);
        CHECK(summary.hash == expected.hash);
        CHECK(summary.finite);
        PinnedArray<element::ChunkSummary> totals(space);
        totals.reserve(2);
        for (const std::size_t i : {0U, 1U}) write_update(target, on_local, i == 0 ? on_global : on_local, totals[i]);
        synchronize(space);
        CHECK(summary_of(totals[0]).norm == expected.norm);
        CHECK(summary_of(totals[0]).hash == expected.hash);
        CHECK(summary_of(totals[1]).norm == 0.0);
        const ParamBuffer once = testing::poisoned(size, space);
        const ParamBuffer twice = testing::poisoned(size, space);
        scale_update(once, on_local, on_global, 1.0 / 3.0, totals[0]);
        copy(twice, once);
        add_scaled_update(twice, on_local, on_global, 7.0, totals[1]);
        synchronize(space);
        testing::Floats sum = reference::scaled(update, 1.0 / 3.0);
        CHECK(testing::same_bits(testing::download(once), sum));
        const testing::Floats term = reference::scaled(update, 7.0);
        for (std::size_t i = 0; i < size; ++i) sum[i] += term[i];
        CHECK(testing::same_bits(testing::download(twice), sum));
        for (const std::size_t i : {0U, 1U}) {
            CHECK(summary_of(totals[i]).norm == expected.norm);
            CHECK(summary_of(totals[i]).hash == expected.hash);
        }
        const ParamBuffer in_place = testing::upload(testing::download(on_global), space);
        CHECK(write_update(in_place, on_local, in_place).hash == expected.hash);
        CHECK(testing::same_bits(testing::download(in_place), update));
        CHECK(write_update(on_local, on_local, on_global).hash == expected.hash);
        CHECK(testing::same_bits(testing::download(on_local), update));
    }
    const ParamBuffer some(16, space);
    const ParamBuffer more(32, space);
    CHECK_THROWS_AS(write_update(some, more, some), ShapeError);
    CHECK_THROWS_AS(write_update(some, some, more), ShapeError);
}

/// A change of any single element changes the summary.
inline void single_elements_show_in_the_summary(MemorySpace space) {
    constexpr std::size_t kSize = 2100;
    const ParamBuffer zero(kSize, space);
    const ParamBuffer target(kSize, space);
    const std::uint64_t hash = write_update(target, zero, zero).hash;
    CHECK(all_finite(zero));
    for (const std::size_t at : {std::size_t{0}, std::size_t{31}, std::size_t{1024}, kSize - 1}) {
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(), 3.0F, std::numeric_limits<float>::max(), 1e-45F}) {
            testing::Floats local(kSize, 0.0F);
            local[at] = value;
            const UpdateSummary summary = write_update(target, testing::upload(local, space), zero);
            CHECK(summary.finite == std::isfinite(value));
            CHECK(all_finite(testing::upload(local, space)) == std::isfinite(value));
            CHECK(summary.hash != hash);
            if (value == 3.0F) CHECK(summary.norm == 3.0);
        }
    }
}

/// Chunks' squares are added in order: small ones count before a large one and are lost after it.
inline void chunks_are_added_in_their_order(MemorySpace space) {
    constexpr std::size_t kChunks = 300;
    const ParamBuffer zero(kChunks * element::kChunk, space);
    const ParamBuffer target(kChunks * element::kChunk, space);
    for (const std::size_t large : {std::size_t{0}, std::size_t{100}, kChunks - 1}) {
        testing::Floats local(kChunks * element::kChunk, 0.0F);
        double sum = 0.0;
        for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
            const double value = chunk == large ? 134217728.0 : 1.0;  // 2^27, whose square is 2^54
            local[chunk * element::kChunk] = static_cast<float>(value);
            sum += value * value;
        }
        CHECK(write_update(target, testing::upload(local, space), zero).norm == std::sqrt(sum));
    }
}

/// Swapping two elements or flipping two signs changes the hash: in one lane of a chunk, in two lanes, in two chunks.
inline void pairs_of_elements_show_in_the_summary(MemorySpace space) {
    constexpr std::size_t kSize = 2100;
    const testing::Floats values = testing::random_floats(kSize, 5);
    const ParamBuffer zero(kSize, space);
    const ParamBuffer target(kSize, space);
    const std::uint64_t hash = write_update(target, testing::upload(values, space), zero).hash;
    for (const std::size_t other : {std::size_t{1}, std::size_t{32}, std::size_t{31 * 32}, std::size_t{1024}, kSize - 1}) {
        testing::Floats swapped = values;
        std::swap(swapped[0], swapped[other]);
        CHECK(write_update(target, testing::upload(swapped, space), zero).hash != hash);
        testing::Floats turned = values;
        turned[0] = -turned[0];
        turned[other] = -turned[other];
        CHECK(write_update(target, testing::upload(turned, space), zero).hash != hash);
    }
}

/// Spans inside larger buffers: neighbours are NaN, must stay unread and unwritten.
inline void neighbours_of_a_span_are_left_alone(MemorySpace space) {
    for (const std::size_t size : {1U, 63U, 256U, 1000U, 8193U}) {
        constexpr std::size_t kFirst = 3, kRest = 70;
        const testing::Floats values = testing::random_floats(size, 1);
        const auto inside = [&](const ParamBuffer& buffer) { return buffer.span().part(kFirst, size); };
        const auto filled = [&] {
            ParamBuffer buffer = testing::poisoned(kFirst + size + kRest, space);
            copy(inside(buffer), ConstParamSpan(values));
            return buffer;
        };
        const auto check = [&](const ParamBuffer& buffer) {
            const testing::Floats all = testing::download(buffer);
            std::size_t numbers = 0;
            for (const float value : all) numbers += std::isnan(value) ? 0 : 1;
            CHECK(numbers == size);
            CHECK(std::isfinite(all[kFirst]));
            CHECK(std::isfinite(all[kFirst + size - 1]));
        };
        const ParamBuffer a = filled(), b = filled(), c = filled();
        sgd_step(inside(a), inside(b), ParamSpan(), {.lr = 0.1F, .momentum = 0.0F});
        check(a);
        sgd_step(inside(a), inside(b), inside(c), {.lr = 0.1F, .momentum = 0.9F});
        check(a);
        check(c);
        scale(inside(b), inside(a), 0.5);
        check(b);
        add(inside(b), inside(a));
        add_scaled(inside(b), inside(a), 0.5);
        check(b);
        const UpdateSummary summary = write_update(inside(c), inside(a), inside(b));
        check(c);
        CHECK(summary.finite);
        set_zero(inside(a));
        check(a);
    }
}

inline void vector_ops_conform(MemorySpace space) {
    neighbours_of_a_span_are_left_alone(space);
    pairs_of_elements_show_in_the_summary(space);
    sgd_conforms(space);
    adam_conforms(space);
    adagrad_conforms(space);
    scale_and_add_conform(space);
    write_update_conforms(space);
    single_elements_show_in_the_summary(space);
    chunks_are_added_in_their_order(space);
}

}  // namespace fedhive::aggregation::conformance
