// Contract of every data set, read or generated.
#pragma once

#include "clients/data/dataset.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

namespace fedhive::conformance {

inline void check_part(const clients::Examples& part, std::int64_t num_classes) {
    REQUIRE(part.size() > 0);
    CHECK(part.shape.num_values() > 0);
    CHECK(part.values.size() == part.size() * part.shape.num_values() * clients::bytes_of(part.type));
    bool labels_in_range = true;
    for (const std::int32_t label : part.labels) labels_in_range = labels_in_range && label >= 0 && label < num_classes;
    CHECK(labels_in_range);
}

/// Sizes, shapes and labels are consistent, and the test part differs from the training part.
inline void check_dataset(const clients::Dataset& dataset) {
    CHECK(dataset.num_classes > 0);
    check_part(dataset.train, dataset.num_classes);
    check_part(dataset.test, dataset.num_classes);
    CHECK(dataset.train.shape == dataset.test.shape);
    const std::size_t common = std::min(dataset.train.values.size(), dataset.test.values.size());
    CHECK_FALSE(std::equal(dataset.train.values.begin(), dataset.train.values.begin() + static_cast<std::ptrdiff_t>(common),
                           dataset.test.values.begin()));
}

/// Reading or generating twice gives the same bytes.
template <typename Make>
void check_repeatable(Make make) {
    const clients::Dataset once = make();
    const clients::Dataset again = make();
    check_dataset(once);
    CHECK(once.fingerprint() == again.fingerprint());
    CHECK(once.train.values == again.train.values);
    CHECK(once.test.labels == again.test.labels);
}

/// For generated data sets: equal seeds give equal data, and another seed changes both parts. `draw` takes the seed.
template <typename Draw>
void check_seeded(Draw draw) {
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 40}) {
        check_repeatable([&] { return draw(seed); });
        const clients::Dataset one = draw(seed);
        const clients::Dataset other = draw(seed + 1);
        CHECK(one.fingerprint() != other.fingerprint());
        CHECK(one.train.values != other.train.values);
        CHECK(one.test.values != other.test.values);
        CHECK(one.train.labels != other.train.labels);
    }
}

}  // namespace fedhive::conformance
