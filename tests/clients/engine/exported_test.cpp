// Graphs of torch.export computed by LibTorch, against PyTorch's Python (tests/golden/exported), and graphs that are refused.
#include "aggregation/base/error.h"
#include "clients/engine/libtorch_guard.h"
#include "clients/exported/operations.h"
#include "clients/exported/rehearsal.h"
#include "tests/clients/engine/exported_golden.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <caffe2/serialize/versions.h>
#include <doctest/doctest.h>

#include <functional>

using namespace fedhive;
using namespace fedhive::clients;
using fedhive::testing::Exported;
using fedhive::testing::ExportedFile;
using fedhive::testing::Figures;
using fedhive::testing::kExample;
using fedhive::testing::networks;
using fedhive::testing::part;
using Json = nlohmann::json;

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;

std::string rehearsed(const std::string& bytes, std::uint64_t most_bytes = kMostBytes,
                      const DataShape& data = networks().at("cnn"), bool frozen_norms = false) {
    try {
        const exported::Program program = exported::read_program(std::as_bytes(std::span(bytes)), frozen_norms);
        exported::rehearse(program, data, most_bytes);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "none";
}

void check_refused(const std::string& name, const std::string& text, const std::function<void(ExportedFile&)>& alter) {
    ExportedFile file(name);
    alter(file);
    const std::string problem = rehearsed(file.archive(), kMostBytes, networks().at(name));
    CHECK_MESSAGE(problem.find(text) != std::string::npos, text << "\n" << problem);
}

Json tensor(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }
Json ints(const std::vector<std::int64_t>& values) { return {{"as_ints", values}}; }

}  // namespace

TEST_SUITE("ExportedNetwork") {
    TEST_CASE("LossGradientAndBuffersAreThoseOfPython") {
        at::set_num_threads(1);
        for (const auto& [name, data] : networks()) {
            CAPTURE(name);
            const Exported exported(name);
            const Figures figures(name);
            FlatModel model = exported.model();
            model.module().train();
            seed_generator(at::kCPU, 9);
            const at::Tensor loss = figures.loss(model.module().forward(figures.examples()));
            loss.backward();
            model.take_gradient();
            figures.check_close(loss.item<double>(), figures.number("train"), "loss");
            for (const aggregation::LayoutEntry& entry : model.layout().entries()) {
                if (entry.kind == aggregation::TensorKind::Parameter)
                    figures.check_close(part(model.gradient(), entry), "gradient." + entry.name);
                else
                    figures.check_close(part(model.parameters(), entry), "buffer." + entry.name);
            }
        }
    }

    TEST_CASE("EvaluationIsThatOfPythonAndChangesNothing") {
        at::set_num_threads(1);
        for (const auto& [name, data] : networks()) {
            CAPTURE(name);
            const Exported exported(name);
            const Figures figures(name);
            FlatModel model = exported.model();
            const FlatModel before = exported.model();
            model.module().eval();
            const at::NoGradGuard no_grad;
            for (int pass = 0; pass < 2; ++pass) {
                const at::Tensor loss = figures.loss(model.module().forward(figures.examples()));
                figures.check_close(loss.item<double>(), figures.number("eval"), "loss");
            }
            const auto ours = model.parameters().host(), first = before.parameters().host();
            CHECK(std::equal(ours.begin(), ours.end(), first.begin()));
        }
    }

    TEST_CASE("CounterAndConstantsStayHoweverOftenItTrains") {
        const Exported exported("kept");
        const Figures figures("kept");
        FlatModel model = exported.model();
        std::vector<double> losses;
        for (int pass = 0; pass < 2; ++pass) {
            initial_parameters(exported.spec, model.layout(), 1, model.parameters());
            losses.push_back(model.module().forward(figures.tensor("x")).sum().item<double>());
        }
        CHECK(losses[0] == losses[1]);
    }

    TEST_CASE("OneExampleHasNoVarianceAndLeavesRunningStatistics") {
        const Exported exported("bn_cnn");
        FlatModel model = exported.model();
        const FlatModel before = exported.model();
        model.module().train();
        const at::Tensor scores = model.module().forward(at::ones({1, 1, 12, 12}));
        CHECK(scores.isfinite().all().item<bool>());
        for (const aggregation::LayoutEntry& entry : model.layout().entries()) {
            const auto ours = part(model.parameters(), entry).host(), first = part(before.parameters(), entry).host();
            if (entry.name.starts_with("7.running")) CHECK(std::equal(ours.begin(), ours.end(), first.begin()));
        }
    }

    TEST_CASE("GoodFilesAreRehearsedAndLeaveNoMark") {
        for (const auto& [name, data] : networks())
            CHECK_MESSAGE(rehearsed(ExportedFile(name).bytes(), kMostBytes, data, name == "eval_norms") == "none", name);
        CHECK(rehearsed(ExportedFile("cnn").archive()) == "none");  // valid, before the alterations below
    }

    TEST_CASE("ArgumentsThatDoNotFitTheSchemaAreRefused") {
        const auto refused = [](const std::string& text, const std::string& argument, const Json& value) {
            check_refused("cnn", text, [&](ExportedFile& file) { file.argument("conv2d", argument, value); });
        };
        refused("a value for stride that is not", "stride", {{"as_string", "x"}});
        refused("an unknown argument", "nonsense", {{"as_int", 1}});
        refused("cannot be computed", "stride", ints({0, 0}));
        refused("cannot be computed", "padding", ints({-100, -100}));
        refused("cannot be computed", "stride", ints(std::vector<std::int64_t>(1000, 1)));
        refused("cannot be computed", "groups", {{"as_int", 0}});
        refused("is used before it is defined", "weight", tensor("nothing"));
        refused("is used before it is defined", "weight", tensor("linear"));
        refused("a value for weight that is not", "weight", {{"as_string", "x"}});
        check_refused("cnn", "value 'relu' exists twice",
                      [](ExportedFile& file) { file.nodes().push_back(file.node("relu.default")); });
        check_refused("cnn", "has the argument 'self' twice", [](ExportedFile& file) {
            Json& inputs = file.node("relu.default")["inputs"];
            inputs.push_back(inputs[0]);
        });
        check_refused("cnn", "has no argument self",
                      [](ExportedFile& file) { file.node("relu.default")["inputs"] = Json::array(); });
    }

    TEST_CASE("TokensThatTheTableDoesNotHaveAreRefusedWithItsSize") {
        DataShape data = networks().at("bag");
        data.example.vocabulary = 12;
        const std::string problem = rehearsed(ExportedFile("bag").bytes(), kMostBytes, data);
        CHECK_MESSAGE(problem.starts_with("does not support the data's tokens, 0 to 11: index out of range in self"), problem);
    }

    TEST_CASE("TokensAreNotWrittenTo") {
        const std::string input = ExportedFile("bag").input();
        check_refused("bag", "writes through a view", [&](ExportedFile& file) {
            file.insert(0, "alias.default", input, Json::object(), "seen_otherwise");
            file.insert(1, "zero_.default", "seen_otherwise", Json::object(), "written");
        });
    }

    TEST_CASE("HugeResultsEndWithAnErrorAndNotWithTheMachinesMemory") {
        check_refused("cnn", "needs more than 268435456 bytes", [](ExportedFile& file) {
            file.argument("conv2d", "padding", ints({1 << 12, 1 << 12}));
        });
        check_refused("cnn", "needs more than 268435456 bytes", [](ExportedFile& file) {
            file.insert(0, "expand.default", "p_conv1_bias", {{"size", ints({std::int64_t{1} << 26, 4})}}, "wide");
            file.insert(1, "clone.default", "wide", Json::object(), "copied");
        });
    }

    TEST_CASE("ShapesOfRecurrentLayersAreComparedBeforeTheKernel") {
        check_refused("lstm", "a recurrent layer with shapes",
                      [](ExportedFile& file) { file.node("lstm.input")["inputs"][2]["arg"]["as_tensors"].erase(0); });
        check_refused("lstm", "a recurrent layer with shapes", [](ExportedFile& file) {
            for (Json& input : file.node("zeros")["inputs"])
                if (input["name"] == "size") input["arg"]["as_sym_ints"][1] = {{"as_int", 1}};
        });
        check_refused("lstm", "a recurrent layer with shapes", [](ExportedFile& file) {
            Json& weights = file.node("lstm.input")["inputs"][2]["arg"]["as_tensors"];
            std::swap(weights[0], weights[1]);
        });
    }

    TEST_CASE("WritesThroughViewsAreRefused") {
        const auto refused = [](const std::string& value) {
            check_refused("kept", "writes through a view", [&](ExportedFile& file) {
                file.insert(0, "alias.default", value, Json::object(), "seen_otherwise");
                file.insert(1, "mul_.Tensor", "seen_otherwise", {{"other", {{"as_float", 2.0}}}}, "written");
            });
        };
        refused("p_frozen");
        refused("b_scale");
        refused("b_steps");
        refused("b_seen");  // in evaluation
        refused(ExportedFile("kept").input());
    }

    TEST_CASE("NormsInEvaluationModeKeepTheirStatisticsInTraining") {
        const Exported exported("eval_norms");
        FlatModel model = exported.model();
        std::vector<std::string> names;
        for (const aggregation::LayoutEntry& entry : model.layout().entries()) names.push_back(entry.name);
        CHECK(names == std::vector<std::string>{"conv.weight", "norm.weight", "norm.bias", "between.weight", "between.bias",
                                                "head.weight", "head.bias"});  // no moved buffers
        model.module().train();
        const at::Tensor x = Figures("eval_norms").examples(), trained = model.module().forward(x);
        CHECK(
            at::allclose(trained.narrow(0, 0, 1), model.module().forward(x.narrow(0, 0, 1))));  // independent of other examples
        model.module().eval();
        CHECK(at::equal(trained, model.module().forward(x)));
    }

    TEST_CASE("RecurrentKernelsAreNotCalledWithShapesThatTheyDoNotCompare") {
        const auto refused = [](const std::string& network, const std::string& weight, const std::string& what) {
            check_refused(network, "calls " + what + " with shapes or types that do not fit each other",
                          [&](ExportedFile& file) {
                              nlohmann::json& about = file.weights["config"][weight]["tensor_meta"];
                              auto& rows = about["sizes"][0]["as_int"];
                              rows = rows.get<int>() - 1;
                          });
        };
        refused("projected", "rnn.weight_hr_l0", "a recurrent layer");
        refused("projected", "rnn.weight_hh_l1", "a recurrent layer");
        refused("cells", "first.weight_ih", "a recurrent cell");
        refused("cells", "second.weight_hh", "a recurrent cell");
        refused("cells", "third.bias_ih", "a recurrent cell");
    }

    TEST_CASE("ScoresHaveToBeThoseOfTheClassesAndOfTheParameters") {
        const std::string bytes = ExportedFile("cnn").bytes();
        const exported::Program program = exported::read_program(std::as_bytes(std::span(bytes)));
        CHECK_THROWS_WITH_AS(exported::rehearse(program, {kExample, 7}, kMostBytes),
                             "gives [2, 4] for 2 examples; expected: [2, 7], a score for each of the data's 7 classes; fix: "
                             "self.head = nn.Linear(width, 7)",
                             ConfigError);
        check_refused("cnn", "gives scores that depend on no parameter", [](ExportedFile& file) {
            const std::string scores = file.model["graph_module"]["graph"]["outputs"][0]["as_tensor"]["name"];
            file.insert(file.nodes().size(), "detach.default", scores, Json::object(), "cut_off");
            for (Json* output : {&file.model["graph_module"]["graph"]["outputs"][0],
                                 &file.model["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]})
                (*output)["as_tensor"]["name"] = "cut_off";
        });
    }

    TEST_CASE("VersionOfTheOperatorsIsLibtorchs") {
        CHECK(exported::kAtenVersion == static_cast<int>(caffe2::serialize::kMaxSupportedFileFormatVersion));
    }

    TEST_CASE("EveryOperationOfTheListIsLibtorchsAndWritesWhatItsNameSays") {
        for (const std::string_view name : exported::aten_operations()) {
            const std::string operation(name.substr(0, name.find('.'))), overload(name.substr(name.find('.') + 1));
            const auto found =
                c10::Dispatcher::singleton().findSchema({"aten::" + operation, overload == "default" ? "" : overload});
            REQUIRE_MESSAGE(found, name);
            std::vector<std::string> written;
            for (const c10::Argument& argument : found->schema().arguments())
                if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) written.push_back(argument.name());
            const exported::Node node{std::string(exported::kAten) + std::string(name), {}, {}};
            CHECK_MESSAGE(written == exported::written_arguments(node), name);
        }
    }
}
