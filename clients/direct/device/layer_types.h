// The kinds of layers that a thread block on the device can compute, and the type that computes each. C++17.
#pragma once

#include "clients/direct/device/layers/attention.h"
#include "clients/direct/device/layers/batch_norm.h"
#include "clients/direct/device/layers/channel_shuffle.h"
#include "clients/direct/device/layers/convolution.h"
#include "clients/direct/device/layers/embedding.h"
#include "clients/direct/device/layers/linear.h"
#include "clients/direct/device/layers/norm.h"
#include "clients/direct/device/layers/pool.h"
#include "clients/direct/device/layers/recurrent.h"
#include "clients/direct/device/layers/residual.h"
#include "clients/direct/device/layers/sequence.h"
#include "clients/direct/device/layers/values.h"

namespace fedhive::clients::direct::device {

enum class Kind : std::uint32_t {
    Embedding,  // the first layer: a vector for each token id
    Linear,
    Convolution,
    ChannelShuffle,
    Relu,
    Tanh,
    Gelu,
    Scale,  // multiplies by a constant
    Dropout,
    ChannelDropout,
    MaxPool,
    AveragePool,
    Norm,
    BatchNorm,
    Attention,      // without its projections, which are linear layers
    Lstm,           // one layer in one direction, behind the linear layer of its input
    Gru,            // likewise
    Position,       // adds a weight for each value of the sequence
    LastPosition,   // keeps the last position of a sequence
    Mean,           // of all positions
    ResidualBegin,  // begins a residual block
    ResidualSum,    // adds the input of the block
    ShortcutBegin,  // begins a shortcut that has layers, with a copy of the input of the block and a separate gradient
    ShortcutSum     // adds the output of such a shortcut
};

/// Calls visit(object of the type of `kind`), such as LinearLayer{}. The build fails if a kind has no case here (-Wswitch).
template <typename Visit>
FEDHIVE_HOST_DEVICE void with_type_of(Kind kind, const Visit& visit) {
    switch (kind) {
        case Kind::Embedding:
            return visit(EmbeddingLayer{});
        case Kind::Linear:
            return visit(LinearLayer{});
        case Kind::Convolution:
            return visit(ConvolutionLayer{});
        case Kind::ChannelShuffle:
            return visit(ChannelShuffleLayer{});
        case Kind::Relu:
            return visit(ReluLayer{});
        case Kind::Tanh:
            return visit(TanhLayer{});
        case Kind::Gelu:
            return visit(GeluLayer{});
        case Kind::Scale:
            return visit(ScaleLayer{});
        case Kind::Dropout:
            return visit(DropoutLayer{});
        case Kind::ChannelDropout:
            return visit(ChannelDropoutLayer{});
        case Kind::MaxPool:
            return visit(MaxPoolLayer{});
        case Kind::AveragePool:
            return visit(AveragePoolLayer{});
        case Kind::Norm:
            return visit(NormLayer{});
        case Kind::BatchNorm:
            return visit(BatchNormLayer{});
        case Kind::Attention:
            return visit(AttentionLayer{});
        case Kind::Lstm:
            return visit(LstmLayer{});
        case Kind::Gru:
            return visit(GruLayer{});
        case Kind::Position:
            return visit(PositionLayer{});
        case Kind::LastPosition:
            return visit(LastPositionLayer{});
        case Kind::Mean:
            return visit(MeanLayer{});
        case Kind::ResidualBegin:
            return visit(ResidualBeginLayer{});
        case Kind::ResidualSum:
            return visit(ResidualSumLayer{});
        case Kind::ShortcutBegin:
            return visit(ShortcutBeginLayer{});
        case Kind::ShortcutSum:
            return visit(ShortcutSumLayer{});
    }
}

}  // namespace fedhive::clients::direct::device
