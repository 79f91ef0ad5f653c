#include "aggregation/math/trimmed_mean.h"

#include "aggregation/math/column_ops.h"
#include "aggregation/math/mean.h"
#include "tests/conformance/aggregator_conformance.h"
#include "tests/support/skip.h"

#include <algorithm>

using namespace fedhive;
using namespace fedhive::aggregation;
using conformance::aggregate_of;
using testing::Floats;

namespace {

/// `count` updates with many ties.
std::vector<Floats> updates_with_ties(std::size_t count, std::size_t num_floats) {
    std::vector<Floats> updates;
    Stream stream(19, Purpose::TestData, static_cast<std::uint32_t>(count));
    for (std::size_t k = 0; k < count; ++k) {
        updates.push_back(testing::random_floats(num_floats, static_cast<std::uint32_t>(k)));
        for (float& value : updates.back())
            if (stream.below(2) == 0) value = static_cast<float>(stream.below(5)) - 2.0F;
    }
    return updates;
}

/// The mean of sorted[begin] to sorted[begin + kept − 1] in double.
double mean_of(const Floats& sorted, std::size_t begin, std::size_t kept) {
    double sum = 0.0;
    for (std::size_t i = begin; i < begin + kept; ++i) sum += static_cast<double>(sorted[i]);
    return sum / static_cast<double>(kept);
}

Floats sorted_column(const std::vector<Floats>& updates, std::size_t column) {
    Floats values;
    for (const Floats& update : updates) values.push_back(update[column]);
    std::sort(values.begin(), values.end());
    return values;
}

double scale_of(const Floats& sorted) {
    return static_cast<double>(std::max({std::abs(sorted.front()), std::abs(sorted.back()), 1e-6F}));
}

/// The first of `kept` sorted values around the median: those farther than the value that follows the window leave it.
std::size_t window_of(const Floats& sorted, std::size_t kept) {
    const double median =
        (static_cast<double>(sorted[(sorted.size() - 1) / 2]) + static_cast<double>(sorted[sorted.size() / 2])) / 2.0;
    std::size_t begin = 0;
    while (begin + kept < sorted.size() &&
           static_cast<double>(sorted[begin + kept]) - median < median - static_cast<double>(sorted[begin]))
        ++begin;
    return begin;
}

void both_equal_sorting(MemorySpace space) {
    for (const std::size_t count : {1U, 2U, 3U, 8U, 10U, 33U, 70U}) {
        const std::vector<Floats> updates = updates_with_ties(count, 131);
        for (const double share : {0.0, 0.1, 0.3, 0.49}) {
            const auto cut = static_cast<std::size_t>(share * static_cast<double>(count));
            const Floats mean = aggregate_of(*make_trimmed_mean(share), updates, space);
            for (std::size_t i = 0; i < mean.size(); ++i) {
                const Floats sorted = sorted_column(updates, i);
                REQUIRE(mean[i] ==
                        doctest::Approx(mean_of(sorted, cut, count - 2 * cut)).epsilon(1e-5).scale(scale_of(sorted)));
            }
        }
        for (const std::size_t left_out : {0U, 1U, 5U, 100U}) {
            const std::size_t kept = left_out < count ? count - left_out : 1;
            const Floats mean = aggregate_of(*make_mean_around_median(static_cast<double>(left_out)), updates, space);
            for (std::size_t i = 0; i < mean.size(); ++i) {
                const Floats sorted = sorted_column(updates, i);
                REQUIRE(mean[i] ==
                        doctest::Approx(mean_of(sorted, window_of(sorted, kept), kept)).epsilon(1e-5).scale(scale_of(sorted)));
            }
        }
    }
}

/// One column after the other, as CUDA threads compute it.
Floats by_columns(const std::vector<Floats>& updates, std::size_t below, std::size_t above, bool around_median) {
    std::vector<const float*> values;
    std::vector<std::size_t> positions;
    for (const Floats& update : updates) {
        positions.push_back(positions.size());
        values.push_back(update.data());
    }
    const std::vector<std::uint8_t> folds = tree_folds(positions);
    Floats out;
    for (std::size_t i = 0; i < updates.front().size(); ++i)
        out.push_back(
            element::trimmed_mean({values.data(), nullptr, folds.data(), values.size(), 0.0}, below, above, around_median, i));
    return out;
}

}  // namespace

TEST_SUITE("TrimmedMean") {
    TEST_CASE("BothConformOnTheHost") {
        conformance::aggregator_conforms([] { return make_trimmed_mean(0.2); }, MemorySpace::Host);
        conformance::aggregator_conforms([] { return make_mean_around_median(2.0); }, MemorySpace::Host);
    }
    TEST_CASE("BothEqualSortingForAnyCount") { both_equal_sorting(MemorySpace::Host); }

    TEST_CASE("Gpu: BothConform") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        conformance::aggregator_conforms([] { return make_trimmed_mean(0.2); }, MemorySpace::Cuda);
        conformance::aggregator_conforms([] { return make_mean_around_median(2.0); }, MemorySpace::Cuda);
        both_equal_sorting(MemorySpace::Cuda);
    }

    TEST_CASE("WithoutATrimItHasTheBitsOfTheMean") {
        for (const std::size_t count : {1U, 2U, 5U, 12U, 31U}) {
            const std::vector<Floats> updates = updates_with_ties(count, 300);
            const Floats mean = aggregate_of(*make_mean(), updates, MemorySpace::Host);
            CHECK(testing::same_bits(aggregate_of(*make_trimmed_mean(0.0), updates, MemorySpace::Host), mean));
            CHECK(testing::same_bits(aggregate_of(*make_mean_around_median(0.0), updates, MemorySpace::Host), mean));
        }
    }

    TEST_CASE("DeviceCodeHasTheHostsBits") {
        for (const std::size_t count : {1U, 4U, 9U, 20U}) {
            const std::vector<Floats> updates = updates_with_ties(count, 150);
            const auto cut = static_cast<std::size_t>(0.3 * static_cast<double>(count));
            CHECK(testing::same_bits(by_columns(updates, cut, cut, false),
                                     aggregate_of(*make_trimmed_mean(0.3), updates, MemorySpace::Host)));
            const std::size_t left_out = std::min<std::size_t>(3, count - 1);
            CHECK(testing::same_bits(by_columns(updates, 0, left_out, true),
                                     aggregate_of(*make_mean_around_median(3.0), updates, MemorySpace::Host)));
        }
    }

    TEST_CASE("OfEqualValuesTheEarlierCountAsSmaller") {
        // The same sum for either choice, but the terms stand at other places of the tree: only one choice is exact.
        const std::vector<Floats> updates{{1.0F}, {1.0F}, {1.0F}, {5.0F}};
        CHECK(aggregate_of(*make_trimmed_mean(0.25), updates, MemorySpace::Host) == Floats{1.0F});
        CHECK(aggregate_of(*make_trimmed_mean(0.25), {{2.0F}, {2.0F}, {2.0F}, {2.0F}}, MemorySpace::Host) == Floats{2.0F});
    }
}
