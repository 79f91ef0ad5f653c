// The groups of rows (block_network.h) that layers compute, and loops over them for any number of cooperating threads: a block on a GPU,
// or a single thread in a test. Each layer is one file of layers/. C++17.
//
// Order    a single thread computes an output and adds its terms in a fixed order by fused multiply-adds. So neither the number of
//          threads nor the size of a group changes a bit.
#pragma once

#include "clients/direct/device/block_network.h"
#include "clients/direct/device/element.h"

namespace fedhive::clients::direct::device {

/// Rows [0, rows) of a group: examples first, first + 1, … of the batch.
struct RowGroup {
    float* values = nullptr;  // [rows][row]
    std::uint32_t row = 0;
    std::uint32_t rows = 0;
    std::uint32_t first = 0;
    bool training = true;    // false: dropout does nothing, and batch norm uses its running statistics
    float* moved = nullptr;  // [P]: training moves the running statistics in it; may be the parameters that are read
    std::uint64_t dropout_key = 0;
};

struct Gradients {
    const float* parameters = nullptr;  // [P]: the model
    float* sums = nullptr;              // [trainable], added to
};

/// body(i) for each i < size, divided among the threads; then a barrier.
template <typename Threads, typename Body>
FEDHIVE_HOST_DEVICE void for_each(const Threads& threads, std::uint32_t size, const Body& body) {
    for (std::uint32_t i = threads.index(); i < size; i += threads.count()) body(i);
    threads.wait();
}

/// body(row's values, i) for each row and each i < size.
template <typename Threads, typename Body>
FEDHIVE_HOST_DEVICE void for_each_of_rows(const Threads& threads, const RowGroup& group, std::uint32_t size, const Body& body) {
    for_each(threads, group.rows * size, [&](std::uint32_t e) {
        const std::uint32_t r = e / size;
        body(group.values + static_cast<std::size_t>(r) * group.row, e - r * size, r);
    });
}

/// Outputs that a thread computes together, reading shared inputs once, if there are enough outputs for all threads. Each output keeps its
/// own sum, so this changes no bit.
constexpr std::uint32_t kAbreast = 4;

/// run(Abreast<kAbreast>), or run(Abreast<1>) if that would leave threads idle.
template <std::uint32_t Width>
struct Abreast {
    static constexpr std::uint32_t width = Width;
};
template <typename Threads, typename Run>
FEDHIVE_HOST_DEVICE void abreast(const Threads& threads, std::uint32_t outputs, const Run& run) {
    if (outputs >= kAbreast * threads.count())
        run(Abreast<kAbreast>{});
    else
        run(Abreast<1>{});
}

/// min(number, last): past the end, the index of the last output, whose result is computed again and dropped.
FEDHIVE_HOST_DEVICE std::uint32_t at_most(std::uint32_t number, std::uint32_t last) { return number < last ? number : last; }

/// A layer's three passes over a group, which here do nothing. A layer type replaces those that it needs.
///
///   forward             the values at out_at from those at in_at
///   parameter_gradient  adds the parameters' gradient to `to.sums`, from the output's gradient at out_at
///   input_gradient      writes the input's gradient in the input's place; only where in_at > 0, since data get none
struct NoPasses {
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void forward(const Threads&, const Layer&, const RowGroup&, const float*) {}
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void parameter_gradient(const Threads&, const Layer&, const RowGroup&, const Gradients&) {}
    template <typename Threads>
    FEDHIVE_HOST_DEVICE static void input_gradient(const Threads&, const Layer&, const RowGroup&, const float*) {}
};

}  // namespace fedhive::clients::direct::device
