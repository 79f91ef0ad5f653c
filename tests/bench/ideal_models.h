// The catalog's models as an expert writes them for the ideal loop: functions over leaf tensors that are views of one flat
// vector, so that a model is reset by one copy and summed by one call. In-place wherever autograd allows it. Same layers as
// clients/models.
#pragma once

#include "tests/bench/ideal_networks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedhive::bench {

using Forward = std::function<at::Tensor(const Tensors& p, const at::Tensor& x, bool dropout)>;

inline at::Tensor lr(const Tensors& p, const at::Tensor& x, bool /*dropout*/) { return at::linear(x, p[0], p[1]); }

inline at::Tensor mlp(const Tensors& p, const at::Tensor& x, bool /*dropout*/) {
    return at::linear(at::linear(at::linear(x, p[0], p[1]).relu_(), p[2], p[3]).relu_(), p[4], p[5]);
}

inline at::Tensor mnist_cnn(const Tensors& p, const at::Tensor& x, bool dropout) {
    at::Tensor maps = at::conv2d(at::max_pool2d(at::conv2d(x, p[0], p[1]), 2).relu_(), p[2], p[3]);
    if (dropout) maps = at::feature_dropout(maps, 0.5, true);
    at::Tensor units = at::linear(at::max_pool2d(maps, 2).relu_().flatten(1), p[4], p[5]).relu_();
    if (dropout) units = at::dropout(units, 0.5, true);
    return at::linear(units, p[6], p[7]);
}

inline at::Tensor cnn_m(const Tensors& p, const at::Tensor& x, bool dropout) {
    // Pool before ReLU: both orders give the same values, and this one applies the ReLU to a quarter of the elements.
    at::Tensor maps = at::max_pool2d(at::conv2d(at::conv2d(x, p[0], p[1]).relu_(), p[2], p[3]), 2).relu_();
    if (dropout) maps = at::dropout(maps, 0.25, true);
    at::Tensor units = at::linear(maps.flatten(1), p[4], p[5]).relu_();
    if (dropout) units = at::dropout(units, 0.5, true);
    return at::linear(units, p[6], p[7]);
}

struct Architecture {
    Forward forward;
    bool flat;                // takes flattened examples
    std::vector<Part> parts;  // in the order of forward()
};

inline Architecture architecture(const std::string& model, const std::vector<std::int64_t>& shape, std::int64_t classes,
                                 std::int64_t vocabulary) {
    const std::int64_t channels = shape.at(0), height = shape.at(1), width = shape.at(2), values = channels * height * width;
    const auto without_dropout = [](auto network) -> Forward {
        return [network](const Tensors& p, const at::Tensor& x, bool) { return network.forward(p, x); };
    };
    if (model == "lr") return {lr, true, {{{classes, values}}, {{classes}}}};
    if (model == "mlp") return {mlp, true, {{{200, values}}, {{200}}, {{200, 200}}, {{200}}, {{classes, 200}}, {{classes}}}};
    if (model == "mnist_cnn")
        return {mnist_cnn,
                false,
                {{{10, 1, 5, 5}}, {{10}}, {{20, 10, 5, 5}}, {{20}}, {{50, 320}}, {{50}}, {{classes, 50}}, {{classes}}}};
    if (model == "cnn_m") {
        const std::int64_t pooled = 64 * ((height - 4) / 2) * ((width - 4) / 2);
        return {cnn_m,
                false,
                {{{32, channels, 3, 3}},
                 {{32}},
                 {{64, 32, 3, 3}},
                 {{64}},
                 {{128, pooled}},
                 {{128}},
                 {{classes, 128}},
                 {{classes}}}};
    }
    for (const bool batch_norm : {true, false}) {
        const std::string norm = batch_norm ? "batch" : "group";
        for (const auto& [name, network] :
             {std::pair("resnet20 ", Residual{16, 3, 3, batch_norm}), std::pair("resnet18 ", Residual{64, 4, 2, batch_norm})})
            if (model == name + norm) return {without_dropout(network), false, network.parts(channels, classes)};
    }
    if (model == "char_lstm") return {without_dropout(CharLstm{}), true, CharLstm::parts(vocabulary, classes)};
    for (const std::int64_t rank : {0, 8})
        if (const CharTransformer network{rank}; model == (rank > 0 ? "char_transformer lora" : "char_transformer"))
            return {without_dropout(network), true, network.parts(vocabulary, values, classes)};
    throw std::runtime_error("there is no model '" + model + "'");
}

struct Model {
    Architecture parts;
    at::Tensor flat;     // [P]: what travels
    Tensors tensors;     // of the network; views of flat but for frozen ones
    Tensors parameters;  // the trained ones, leaves

    Model(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t classes, std::int64_t vocabulary)
        : parts(architecture(name, shape, classes, vocabulary)) {
        std::int64_t size = 0;
        for (const Part& part : parts.parts)
            if (part.role != Part::Role::Frozen) size += c10::multiply_integers(part.shape);
        flat = at::empty({size}).uniform_(-0.05, 0.05);
        std::int64_t offset = 0;
        for (const Part& part : parts.parts) {
            at::Tensor tensor = at::empty(part.shape).uniform_(-0.05, 0.05);
            if (part.role != Part::Role::Frozen) {
                tensor = flat.narrow(0, offset, tensor.numel()).view(part.shape).detach();
                offset += tensor.numel();
            }
            if (part.ones) tensor.fill_(1.0);
            tensors.push_back(tensor);
            if (part.role == Part::Role::Trained) parameters.push_back(tensor.requires_grad_());
        }
    }
};

}  // namespace fedhive::bench
