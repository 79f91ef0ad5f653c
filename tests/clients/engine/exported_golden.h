// The golden files of tests/golden/exported as models, and PyTorch's results for them.
#pragma once

#include "clients/models/flat_model.h"
#include "clients/models/model_plan.h"
#include "clients/trainers/engine.h"
#include "clients/trainers/libtorch_info.h"
#include "sim/state/state_file.h"
#include "tests/support/exported_file.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace fedhive::testing {

using namespace fedhive::clients;

inline constexpr ExampleShape kExample{1, 12, 12}, kTokens{6, 1, 1, 11};
inline constexpr std::int64_t kClasses = 4;

/// The golden files with the data that each takes.
inline const std::map<std::string, DataShape>& networks() {
    static const DataShape image{kExample, kClasses}, tokens{kTokens, kClasses}, next{kTokens, kTokens.vocabulary},
        each{kTokens, kTokens.vocabulary, {TargetKind::ClassEach, static_cast<std::uint32_t>(kTokens.channels)}};
    static const std::map<std::string, DataShape> all{{"cnn", image},
                                                      {"bn_cnn", image},
                                                      {"residual", image},
                                                      {"lstm", image},
                                                      {"transformer", image},
                                                      {"tied", image},
                                                      {"kept", image},
                                                      {"gru", image},
                                                      {"gated", image},
                                                      {"resnet18", image},
                                                      {"token_lstm", tokens},
                                                      {"causal", each},
                                                      {"token_tied", next},
                                                      {"bag", tokens},
                                                      {"group_resnet", image},
                                                      {"written", image},
                                                      {"token_mlp", tokens},
                                                      {"mixed", image},
                                                      {"projected", image},
                                                      {"cells", image},
                                                      {"eval_norms", image},
                                                      {"token_reader", tokens},
                                                      {"token_encoder", tokens},
                                                      {"token_decoder", tokens},
                                                      {"token_adapted", tokens},
                                                      {"token_gpt", tokens},
                                                      {"token_vit", tokens},
                                                      {"token_mean", tokens},
                                                      {"shuffled", image}};
    return all;
}

/// A model of a golden file.
struct Exported {
    explicit Exported(const std::string& name) : file(golden_file(name + ".pt2")) {
        const DataShape& data = networks().at(name);
        spec.name.set(kExportedModel);
        spec.input = data.example;
        spec.num_classes = data.num_classes;
        spec.target = data.target;
        spec.exported = file.handle();
        spec.exported.frozen_norms = name == "eval_norms";
        frozen.resize(frozen_layout(spec).num_floats());
        initial_parameters(spec, frozen_layout(spec), 1, frozen);
    }

    /// The model with the file's own tensors.
    FlatModel model() const {
        FlatModel made(spec, aggregation::MemorySpace::Host, frozen);
        initial_parameters(spec, made.layout(), 1, made.parameters());
        return made;
    }

    exported::SharedModelFile file;
    ModelSpec spec;
    std::vector<float> frozen;
};

/// Results computed by PyTorch's Python.
struct Figures {
    explicit Figures(const std::string& name) : state(sim::read_state(golden_file(name + ".safetensors"))) {
        const LibtorchInfo here = libtorch_info();
        same_machine = state.metadata.at("cpu") == here.cpu_capability && state.metadata.at("vendor") == here.cpu_vendor;
    }
    at::Tensor tensor(const std::string& name) const {
        const sim::Tensor& found = *state.find(name);
        const at::ScalarType type = found.dtype == "I64" ? at::kLong : at::kFloat;
        const std::vector<std::int64_t> sizes(found.shape.begin(), found.shape.end());
        std::string bytes(found.data);
        return at::from_blob(bytes.data(), sizes, type).clone();
    }
    /// The examples in a batch's form: tokens are f32, too.
    at::Tensor examples() const { return tensor("x").to(at::kFloat); }
    at::Tensor loss(const at::Tensor& scores) const {
        return at::cross_entropy_loss(scores.flatten(0, -2), tensor("y").flatten());
    }
    double number(const std::string& name) const { return std::strtod(state.metadata.at(name).c_str(), nullptr); }

    /// Equal to the last bit if Python ran with the same instructions on a processor of the same maker; else up to rounding.
    void check_close(double ours, double theirs, const std::string& what) const {
        const double most = same_machine ? 0.0 : 1e-5 * std::max(1.0, std::abs(theirs));
        CHECK_MESSAGE(std::abs(ours - theirs) <= most, what << ": " << ours << " and " << theirs);
    }
    void check_close(aggregation::ConstParamSpan ours, const std::string& name) const {
        const at::Tensor theirs = tensor(name).contiguous();
        REQUIRE(theirs.numel() == static_cast<std::int64_t>(ours.size));
        for (std::size_t i = 0; i < ours.size; ++i) check_close(ours.data[i], theirs.const_data_ptr<float>()[i], name);
    }

    sim::StateFile state;
    bool same_machine = false;
};

inline aggregation::ConstParamSpan part(aggregation::ConstParamSpan whole, const aggregation::LayoutEntry& entry) {
    return {whole.data + entry.offset, entry.size, whole.space};
}

}  // namespace fedhive::testing
