// Contract of every reader of examples, for any input.
#pragma once

#include "clients/data/dataset.h"
#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fedhive::fuzz {

inline void expect_examples(const clients::Examples& part, std::int64_t num_classes) {
    const std::size_t values = part.shape.num_values();
    expect(values > 0 && part.size() > 0 && part.values.size() == part.size() * values * clients::bytes_of(part.type),
           "an example for each label");
    expect(std::ranges::all_of(part.labels, [&](std::int32_t label) { return label >= 0 && label < num_classes; }),
           "labels inside the classes");
    expect(std::ranges::all_of(part.numbers, [](float number) { return std::isfinite(number); }), "finite targets");
    if (part.type != clients::ValueType::F32) return;
    for (std::size_t i = 0; i < part.size() * values; ++i) {
        float value = 0.0F;
        std::memcpy(&value, &part.values[i * sizeof value], sizeof value);
        expect(std::isfinite(value), "finite numbers");
    }
}

}  // namespace fedhive::fuzz
