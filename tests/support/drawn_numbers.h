// Numeric targets instead of classes, for suites whose data sets have classes.
#pragma once

#include "clients/data/dataset.h"

namespace fedhive::testing {

/// Replaces classes by `width` numbers each, a function of the class, between -1.5 and 1.5.
inline clients::Dataset with_numbers(clients::Dataset dataset, std::uint32_t width) {
    for (clients::Examples* part : {&dataset.train, &dataset.test}) {
        for (const std::int32_t label : part->labels)
            for (std::uint32_t k = 0; k < width; ++k)
                part->numbers.push_back(static_cast<float>((static_cast<std::uint32_t>(label) * (2 * k + 1) + k) % 4) - 1.5F);
        part->labels.clear();
        part->target = {clients::TargetKind::Numbers, width};
    }
    dataset.num_classes = 0;
    return dataset;
}

}  // namespace fedhive::testing
