// Random lists of layers: every kind of the direct engine wherever its shape allows it, first and last, alone and after each
// other kind, in residuals and shortcuts; widths down to 1, for classes (down to one) and for numbers.
#pragma once

#include "clients/direct/network.h"
#include "clients/models/catalog.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::testing {

/// Returns a number below its argument, from a stream or from a fuzzer's bytes. An exhausted source gives 0.
using Choose = std::function<std::uint64_t(std::uint64_t)>;

/// Pairs of a layer and its successor. kModel and kResidual stand for the boundaries of the model and of a residual's lists.
using Neighbours = std::vector<std::pair<std::string, std::string>>;
inline constexpr const char *kModel = "(model)", *kResidual = "(residual)";

/// Targets match the list's output: classes or numbers. Without `dropout`, each p is 0.
clients::ModelSpec draw_model(const Choose& choose, bool dropout);

/// "2 x 5 x 4: conv2d(3, 1, 1, 0, 1, 1) residual(relu | flatten) flatten, 7 classes"
std::string text_of(const clients::ModelSpec& spec);

Neighbours neighbours_of(const clients::ModelSpec& spec);

/// A model with everything that a step needs.
struct DrawnStep {
    /// Parameters and examples are scaled such that values between layers stay near 1.
    DrawnStep(const clients::ModelSpec& drawn, std::size_t batch_size, std::uint64_t seed);

    clients::direct::Batch batch() const;

    clients::ModelSpec spec;
    std::size_t size;
    clients::direct::Floats parameters, examples, numbers;  // numbers or labels
    std::vector<std::int64_t> labels;
    std::uint64_t dropout_key;
};

/// Boundary cases: a single example, as many as one backward pass takes at once, one more, …
std::size_t draw_batch_size(const Choose& choose);

}  // namespace fedhive::testing
