// A network as plain data that a kernel reads: its layers in order, over rows of values; one thread block trains it. C++17.
//
//   row      all values of one example, contiguous: its input, then each layer's output, channel by channel
//            [ examples' values | layer 1's | layer 2's | … | answers ]
//            of odd length, so that neighbouring rows use different banks of shared memory
//   back     the gradient of a layer's output overwrites the output, and the input's gradient the input; so backward needs a
//            layer's input alone, and no memory beside the rows
//   group    rows that fit at once; a batch passes forward and backward group by group, and gradients add up. With batch norm a group is
//            the whole batch
#pragma once

#include "aggregation/math/element_ops.h"
#include "clients/tasks/losses/terms.h"
#include "clients/tasks/outcome.h"

#include <cstddef>
#include <cstdint>

namespace fedhive::clients::direct::device {

/// Threads per block. No result depends on it, since a single thread adds all terms of an output, in their order.
inline constexpr unsigned kThreads = 256;

/// Kinds of layers on the device; layer_types.h defines them, each with its type.
enum class Kind : std::uint32_t;

/// [channels][height][width]; flat features are channels of one pixel.
struct Extent {
    std::uint32_t channels = 1, height = 1, width = 1;
    FEDHIVE_HOST_DEVICE std::uint32_t size() const { return channels * height * width; }
};

struct Layer {
    Kind kind{};
    Extent in, out;
    std::uint32_t in_at = 0, out_at = 0;                // offsets in a row; the network's input is at 0 and gets no gradient
    std::uint32_t weight = 0, bias = 0;                 // offsets in the parameters
    std::uint32_t biased = 1;                           // 1: a convolution or a linear layer has a bias
    std::uint32_t kernel = 1, stride = 1, padding = 0;  // a pool's size is its kernel

    /// Of a norm or a channel shuffle; heads of attention; directions whose last states a last position takes.
    std::uint32_t groups = 1;
    std::uint32_t positions = 1;  // of a sequence, for layers that act on each
    std::uint32_t by_value = 0;   // 1: a norm has a scale and shift for each value, not for each channel

    /// Offset in a row. Norm: of its [groups][4] floats. Batch norm, attention, recurrent layers: of their figures. Sum: of its second term.
    /// ResidualBegin: of the second path's gradient, which is at the sum's output or at the shortcut's copy.
    std::uint32_t other_at = 0;

    std::uint32_t running_mean = 0, running_variance = 0;  // batch norm: offsets in the parameters
    std::uint32_t keys_at = 0, values_at = 0;              // attention: offsets in a row; queries are at in_at
    float score_scale = 1.0F;
    std::uint32_t causal = 0;  // 1: attention to no later positions

    /// Floats from a position to the next: attention: of queries, keys and values; recurrent layers: of states.
    std::uint32_t pitch = 0;
    std::uint32_t hidden = 0, backwards = 0;  // recurrent: features of the state; 1: from the last position to the first

    /// Dropout, also attention's: its number in the network, and the threshold below which a value is dropped.
    std::uint32_t drop_number = 0, drop_below = 0;
    float keep_scale = 1.0F;  // dropout's factor of a value that is kept; the number that a scale multiplies by
};

/// The results of one example.
struct RowOutcome {
    double loss = 0.0;
    TargetOutcome outcome{};
};

struct BlockNetwork {
    const Layer* layers = nullptr;  // in the memory that the threads read
    std::uint32_t num_layers = 0;
    std::uint32_t num_floats = 0;           // P: floats of the model
    std::uint32_t trainable = 0;            // the first floats of the model, which are trained
    std::uint32_t inputs = 0, outputs = 0;  // values of an example; outputs: a score for each class, or the predicted numbers
    std::uint32_t row = 0;                  // floats of a row
    bool whole_batches = false;             // batch norm: a batch of training must be one group
    std::uint32_t answers_at = 0;
    LossTerms loss{};  // of training; class weights in the memory that the threads read
};

}  // namespace fedhive::clients::direct::device
