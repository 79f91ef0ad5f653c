// Lists of layers that are drawn: every kind that the direct engine has, wherever its shape allows it, first and last, alone and behind each
// other, in residuals and their shortcuts; of widths down to 1, for classes (down to one) and for numbers.
#pragma once

#include "clients/direct/network.h"
#include "clients/models/catalog.h"

#include <functional>
#include <string>
#include <vector>

namespace fedhive::testing {

/// Returns a number below its argument: of a stream, or of the bytes that a fuzzer makes up. A source that ends goes on with 0.
using Choose = std::function<std::uint64_t(std::uint64_t)>;

/// A layer and the one right behind it. Before the first one and behind the last one of the model stand kModel, of a residual's lists kResidual.
using Neighbours = std::vector<std::pair<std::string, std::string>>;
inline constexpr const char *kModel = "(model)", *kResidual = "(residual)";

/// As many classes, or numbers, as the list gives. No dropout: p is 0 wherever it is drawn.
clients::ModelSpec draw_model(const Choose& choose, bool dropout);

/// "2 x 5 x 4: conv2d(3, 1, 1, 0, 1, 1) residual(relu | flatten) flatten, 7 classes"
std::string text_of(const clients::ModelSpec& spec);

Neighbours neighbours_of(const clients::ModelSpec& spec);

/// A model, with all that a step of it takes.
struct DrawnStep {
    /// Parameters and examples are of a size at which values between layers stay near 1.
    DrawnStep(const clients::ModelSpec& drawn, std::size_t batch_size, std::uint64_t seed);

    clients::direct::Batch batch() const;

    clients::ModelSpec spec;
    std::size_t size;
    clients::direct::Floats parameters, examples, numbers;  // numbers or labels
    std::vector<std::int64_t> labels;
    std::uint64_t dropout_key;
};

/// An example alone, as many as go back at once, one more, …
std::size_t draw_batch_size(const Choose& choose);

}  // namespace fedhive::testing
