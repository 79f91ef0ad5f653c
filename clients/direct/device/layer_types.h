// Kinds of layers on the device, each with its type. C++17.
#pragma once

#include "clients/direct/device/layers/convolution.h"
#include "clients/direct/device/layers/embedding.h"
#include "clients/direct/device/layers/linear.h"
#include "clients/direct/device/layers/norm.h"
#include "clients/direct/device/layers/pool.h"
#include "clients/direct/device/layers/residual.h"
#include "clients/direct/device/layers/values.h"

namespace fedhive::clients::direct::device {

enum class Kind : std::uint32_t {
    Embedding,  // of token ids, as the first layer
    Linear,
    Convolution,
    Relu,
    Tanh,
    Dropout,
    ChannelDropout,
    MaxPool,
    AveragePool,
    Norm,
    ResidualBegin,  // its input is used twice
    ResidualSum,
    ShortcutBegin,  // a copy of the residual's input, with its own gradient
    ShortcutSum     // both terms have layers before them
};

/// visit(an object of the layer type), for forward and backward alike. A kind without a line does not compile (-Wswitch).
template <typename Visit>
FEDHIVE_HOST_DEVICE void with_type_of(Kind kind, const Visit& visit) {
    switch (kind) {
        case Kind::Embedding:
            return visit(EmbeddingLayer{});
        case Kind::Linear:
            return visit(LinearLayer{});
        case Kind::Convolution:
            return visit(ConvolutionLayer{});
        case Kind::Relu:
            return visit(ReluLayer{});
        case Kind::Tanh:
            return visit(TanhLayer{});
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
