// Lists of layers made from torch.export graphs compute the same as the graph, by LibTorch and by the direct engine.
#include "clients/direct/network.h"
#include "clients/engine/libtorch_guard.h"
#include "tests/clients/engine/exported_golden.h"
#include "tests/support/temporary_folder.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <fstream>

using namespace fedhive;
using namespace fedhive::clients;
using fedhive::testing::Exported;
using fedhive::testing::Figures;

namespace {

const std::vector<std::string> kBecomeLayers{"cnn",       "bn_cnn",       "group_resnet",  "resnet18",      "written",
                                             "token_mlp", "token_reader", "token_encoder", "token_decoder", "token_adapted",
                                             "shuffled",  "token_gpt",    "token_vit",     "token_mean"};

Exported as_layers(const std::string& name) {
    Exported exported(name);
    exported.spec.as_layers = true;
    return exported;
}

/// Absolute difference at most 1e-5 times the largest value, or 1 if that is larger.
void check_near(aggregation::ConstParamSpan ours, aggregation::ConstParamSpan theirs, const std::string& what) {
    REQUIRE(ours.size == theirs.size);
    float largest = 1.0F;
    for (const float value : theirs.host()) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < ours.size; ++i)
        CHECK_MESSAGE(std::abs(ours.data[i] - theirs.data[i]) <= 1e-5F * largest, what << "[" << i << "]");
}

/// Runs a training pass with dropout from a fixed seed; returns the loss. Gradient and buffers stay in the model.
double train(FlatModel& model, const Figures& figures) {
    model.module().train();
    seed_generator(at::kCPU, 9);
    const at::Tensor loss = figures.loss(model.module().forward(figures.examples()));
    loss.backward();
    model.take_gradient();
    return loss.item<double>();
}

/// The golden CNN without its head: flatten's output is the scores.
std::string without_head() {
    testing::ExportedFile file("cnn");
    nlohmann::json &graph = file.model["graph_module"]["graph"], &signature = file.model["graph_module"]["signature"];
    file.nodes().erase(file.nodes().size() - 1);
    for (nlohmann::json* inputs : {&graph["inputs"], &signature["input_specs"]}) inputs->erase(4), inputs->erase(4);
    graph["outputs"][0] = signature["output_specs"][0]["user_output"]["arg"] = {{"as_tensor", {{"name", "flatten"}}}};
    for (const char* tensor : {"head.weight", "head.bias"}) file.weights["config"].erase(tensor);
    return file.archive();
}

/// A golden file whose dropout drops nothing: engines draw it differently.
std::string without_dropout(const std::string& name) {
    testing::ExportedFile file(name);
    for (nlohmann::json& node : file.nodes())
        for (nlohmann::json& input : node["inputs"]) {
            const bool is_dropout = node["target"] == "torch.ops.aten.dropout.default";
            if (input["name"] == (is_dropout ? "p" : "dropout") || input["name"] == "dropout_p")
                input["arg"] = {{"as_float", 0.0}};
        }
    return file.archive();
}

double evaluate(FlatModel& model, const Figures& figures) {
    const at::NoGradGuard no_grad;
    model.module().eval();
    return figures.loss(model.module().forward(figures.examples())).item<double>();
}

}  // namespace

TEST_SUITE("GraphAsLayers") {
    TEST_CASE("TheseAndNoOthersOfTheGoldenFilesBecomeLayers") {
        std::vector<std::string> found;
        for (const auto& [name, data] : testing::networks()) {
            const Exported exported(name);
            if (kept_as_graph(exported.spec, program_of(exported.spec)).empty()) found.push_back(name);
        }
        std::vector<std::string> wanted = kBecomeLayers;
        std::ranges::sort(wanted);
        CHECK(found == wanted);
    }

    TEST_CASE("LossGradientAndBuffersAreThoseOfTheGraph") {
        at::set_num_threads(1);
        for (const std::string& name : kBecomeLayers) {
            CAPTURE(name);
            const Figures figures(name);
            FlatModel graph = Exported(name).model(), layers = as_layers(name).model();
            CHECK(graph.layout().fingerprint() == layers.layout().fingerprint());
            CHECK(std::abs(evaluate(layers, figures) - evaluate(graph, figures)) < 1e-5);
            CHECK(std::abs(evaluate(layers, figures) - figures.number("eval")) < 1e-5);
            // Attention's result is transposed when the graph drops its values: the same draws hit others. Without dropout: below.
            if (name == "token_encoder" || name == "token_decoder" || name == "token_gpt") continue;
            CHECK(std::abs(train(layers, figures) - train(graph, figures)) < 1e-5);
            check_near(layers.gradient(), graph.gradient(), name + ": gradient");
            check_near(layers.parameters(), graph.parameters(), name + ": parameters and buffers");
        }
    }

    TEST_CASE("WithoutDropoutBothEnginesHaveTheGraphsLossAndGradient") {
        at::set_num_threads(1);
        for (const std::string& name : kBecomeLayers) {
            CAPTURE(name);
            const testing::TemporaryFolder folder;
            std::ofstream(folder.path() / "model.pt2", std::ios::binary) << without_dropout(name);
            const exported::SharedModelFile file(folder.path() / "model.pt2");
            const Exported exported(name);
            ModelSpec spec = exported.spec;
            spec.exported = file.handle();
            FlatModel graph(spec, aggregation::MemorySpace::Host, exported.frozen);
            initial_parameters(spec, graph.layout(), 1, graph.parameters());
            const aggregation::ConstParamSpan before = graph.parameters();
            std::vector<float> moved(before.data, before.data + before.size);
            const Figures figures(name);
            const double loss = train(graph, figures);
            spec.as_layers = true;
            FlatModel layers(spec, aggregation::MemorySpace::Host, exported.frozen);
            initial_parameters(spec, layers.layout(), 1, layers.parameters());
            CHECK(std::abs(train(layers, figures) - loss) < 1e-5);
            check_near(layers.gradient(), graph.gradient(), name + " by LibTorch");
            REQUIRE(direct::misfit(spec).empty());
            direct::Network network(spec, direct::kernels(), exported.frozen);
            const at::Tensor examples = figures.examples().contiguous(), labels = figures.tensor("y");
            const direct::Batch batch{examples.const_data_ptr<float>(), labels.const_data_ptr<std::int64_t>(),
                                      static_cast<std::size_t>(examples.size(0))};
            std::vector<float> gradient(network.layout().num_trainable());
            CHECK(std::abs(network.train(moved.data(), gradient.data(), batch, 1, moved.data()) - loss) < 1e-5);
            check_near(gradient, graph.gradient(), name);
            check_near(moved, graph.parameters(), name + ": parameters and buffers");
        }
    }

    TEST_CASE("AllKernelsHaveTheSameBitsOfAttentionWithSeparateParts") {
        for (const char* name : {"token_gpt", "token_vit"}) {
            CAPTURE(name);
            const Exported exported = as_layers(name);
            const Figures figures(name);
            const at::Tensor examples = figures.examples().contiguous(), labels = figures.tensor("y");
            const direct::Batch batch{examples.const_data_ptr<float>(), labels.const_data_ptr<std::int64_t>(),
                                      static_cast<std::size_t>(examples.size(0))};
            const FlatModel model = exported.model();
            std::vector<std::vector<float>> gradients;
            for (const char* set : {"plain", "avx2", "avx512"}) {
                const direct::Kernels* kernels = direct::kernels_by_name(set);
                if (kernels == nullptr) continue;
                direct::Network network(exported.spec, *kernels, exported.frozen);
                std::vector<float>& gradient = gradients.emplace_back(network.layout().num_trainable());
                network.train(model.parameters().data, gradient.data(), batch, 1);
                CHECK(std::ranges::any_of(gradient, [](float value) { return value != 0.0F; }));
                CHECK(std::memcmp(gradient.data(), gradients.front().data(), gradient.size() * sizeof(float)) == 0);
            }
        }
    }

    TEST_CASE("GraphThatEndsInFlattenIsTheDirectEnginesToo") {
        at::set_num_threads(1);
        const testing::TemporaryFolder folder;
        std::ofstream(folder.path() / "model.pt2", std::ios::binary) << without_head();
        const exported::SharedModelFile file(folder.path() / "model.pt2");
        const Exported whole("cnn");
        ModelSpec spec = whole.spec;
        spec.exported = file.handle();
        spec.num_classes = program_of(whole.spec).tensors[4].sizes[1];  // the head's input
        REQUIRE(kept_as_graph(spec, program_of(spec)).empty());
        FlatModel graph(spec, aggregation::MemorySpace::Host);
        initial_parameters(spec, graph.layout(), 1, graph.parameters());
        const Figures figures("cnn");
        const double loss = train(graph, figures);
        spec.as_layers = true;
        direct::Network network(spec);
        const at::Tensor examples = figures.examples().contiguous(), labels = figures.tensor("y");
        const direct::Batch batch{examples.const_data_ptr<float>(), labels.const_data_ptr<std::int64_t>(),
                                  static_cast<std::size_t>(examples.size(0))};
        std::vector<float> gradient(network.layout().num_trainable());
        CHECK(std::abs(network.train(graph.parameters().data, gradient.data(), batch, 1) - loss) < 1e-5);
        check_near(gradient, graph.gradient(), "gradient");
    }
}
