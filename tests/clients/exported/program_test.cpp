// Reader of torch.export files as data: contents of valid files, and every error that is detected without LibTorch.
#include "clients/exported/program.h"

#include "aggregation/base/error.h"
#include "clients/exported/operations.h"
#include "clients/exported/roles.h"
#include "tests/support/exported_file.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <functional>

using namespace fedhive;
using namespace fedhive::clients::exported;
using fedhive::testing::ExportedFile;
using Json = nlohmann::json;

namespace {

Program read(const std::string& bytes) { return read_program(std::as_bytes(std::span(bytes))); }

std::string problem_of(const std::string& bytes) {
    try {
        read(bytes);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "none";
}

/// Expects a ConfigError with that text for the altered file.
void check_refused(const std::string& name, const std::string& text, const std::function<void(ExportedFile&)>& alter) {
    ExportedFile file(name);
    alter(file);
    const std::string problem = problem_of(file.archive());
    CHECK_MESSAGE(problem.find(text) != std::string::npos, text << "\n" << problem);
    CHECK_MESSAGE_IS("models", "", problem);
}

Json as_int(std::int64_t value) { return {{"as_int", value}}; }

}  // namespace

TEST_SUITE("ExportedProgram") {
    TEST_CASE("ExpandedBuffersHaveTheValuesThatTheyRepeat") {
        const std::string bytes = ExportedFile("cells").bytes();
        const Program program = read(bytes);
        const auto start = std::ranges::find(program.tensors, "start", &StoredTensor::name);
        REQUIRE(start != program.tensors.end());
        CHECK(start->repeats_itself());
        CHECK(start->strides == std::vector<std::int64_t>{0, 1});
        const std::string values = program.values_of(*start);
        REQUIRE(values.size() == 3 * 6 * sizeof(float));
        for (std::size_t row = 0; row < 3; ++row) CHECK(values.substr(row * 24, 24) == values.substr(0, 24));
        const auto expanded = [](const char* name, int times, const char* text) {
            check_refused("cells", text, [&](ExportedFile& file) {
                auto& about = file.weights["config"][name]["tensor_meta"];
                about["sizes"][0]["as_int"] = times;
                about["strides"][0]["as_int"] = 0;
            });
        };
        expanded("start", 10'000'000, "'start' as an expanded tensor");
        expanded("head.weight", 4, "'head.weight' as an expanded tensor");
    }

    TEST_CASE("GoodFileHasTheModulesTensorsInTheirRoles") {
        const ExportedFile file("kept");
        const Program program = read(file.bytes());
        std::map<std::string, Role> roles;
        for (const StoredTensor& tensor : program.tensors)
            if (tensor.kind != StoredTensor::Kind::Constant) roles[tensor.name] = tensor.role;
        CHECK(roles == std::map<std::string, Role>{{"a.weight", Role::Trained},
                                                   {"a.bias", Role::Trained},
                                                   {"head.weight", Role::Trained},
                                                   {"head.bias", Role::Trained},
                                                   {"unused", Role::Trained},
                                                   {"frozen", Role::Frozen},
                                                   {"scale", Role::Constant},
                                                   {"shift", Role::Constant},
                                                   {"seen", Role::Moved},
                                                   {"steps", Role::Counter}});
        const aggregation::Layout layout = layout_of(program, {Role::Trained, Role::Moved});
        CHECK(layout.entries().back().name == "seen");
        CHECK(layout.num_parameters() == 12 * 6 + 6 + 6 * 4 + 4 + 3);
        CHECK(layout_of(program, {Role::Frozen}).num_parameters() == 6);
        CHECK(layout_of(program, {Role::Trained, Role::Frozen}).num_values() == layout.num_parameters() + 6);
        std::vector<float> values(16, -1.0F);
        store_values(program, layout_of(program, {Role::Frozen}), values);
        CHECK(std::ranges::count(values, 0.5F) == 6);
        std::vector<std::string> others;
        for (const OtherTensor& other : other_tensors(program)) others.push_back(other.name + " " + other.dtype);
        std::ranges::sort(others);
        CHECK(others == std::vector<std::string>{"scale F64", "steps I64"});
        CHECK(program.input == std::vector<std::int64_t>{1, 12, 12});
        CHECK(takes(program, {1, 12, 12}));
        CHECK(takes(program, {12, 12, 1}));
        CHECK_FALSE(takes(program, {12, 1, 11}));
    }

    TEST_CASE("TiedWeightsAreOneTensorWithTwoNames") {
        const ExportedFile file("tied");
        const Program program = read(file.bytes());
        CHECK(layout_of(program, {Role::Trained, Role::Moved}).entries().size() == 5);
        REQUIRE(other_tensors(program).size() == 1);
        CHECK(other_tensors(program)[0].name == "b.weight");
        CHECK(other_tensors(program)[0].same_as == "a.weight");
        check_refused("tied", "share memory with different shapes", [](ExportedFile& other) {
            other.meta("b.weight", "sizes", Json::array({as_int(144)}));
            other.meta("b.weight", "strides", Json::array({as_int(1)}));
        });
    }

    TEST_CASE("OtherFilesSayHowToExport") {
        const std::string pickle("\x80\x02}q\0.", 6);
        for (const auto& [bytes, text] : std::map<std::string, std::string>{
                 {pickle, "is a pickle, which is code; fix: torch.export.save("},
                 {"\x10", "is not a file of torch.export.save"},
                 {"PK\3\4 and so on", "is not a complete archive"},
                 {testing::golden_bytes("script.pt"), "is TorchScript, which is code; fix: torch.export.save("},
                 {testing::archive_of({{"net/data.pkl", ""}, {"net/version", "3"}}),
                  "is a pickle of torch.save, which is code"},
                 {testing::archive_of({{"x.npy", ""}}), "has no models/*.json"}})
            CHECK_MESSAGE(problem_of(bytes).find(text) != std::string::npos, problem_of(bytes));
    }

    TEST_CASE("DamagedArchivesAreRefused") {
        ExportedFile file("cnn");
        REQUIRE(problem_of(file.archive()) == "none");  // valid, before the alterations below
        const std::string whole = file.bytes();
        for (std::size_t keep : {whole.size() - 10, whole.size() / 2, std::size_t{40}})
            CHECK(problem_of(whole.substr(0, keep)).find("is not a complete archive") != std::string::npos);
        std::string flipped = whole;
        flipped[flipped.find("graph_module")] = 'G';
        CHECK_MESSAGE(problem_of(flipped).find("is damaged") != std::string::npos, problem_of(flipped));
        check_refused("cnn", "", [](ExportedFile& other) { other.members.push_back(other.members[0]); });
        check_refused("cnn", "has more than one model",
                      [](ExportedFile& other) { other.members.emplace_back("x/models/y.json", "{}"); });
        check_refused("cnn", "whose format is not pt2", [](ExportedFile& other) { other.member("archive_format") = "pt3"; });
        check_refused("cnn", "from a big-endian machine", [](ExportedFile& other) { other.member("byteorder") = "big"; });
        check_refused("cnn", "", [](ExportedFile& other) { other.model["graph_module"] = nullptr; });
        check_refused("cnn", "has schema version 9.", [](ExportedFile& other) { other.model["schema_version"]["major"] = 9; });
        const auto operators = [](const Json& version) {
            check_refused("cnn", "", [&](ExportedFile& other) { other.model["opset_version"]["aten"] = version; });
        };
        for (const Json& version : {Json(99), Json(9), Json("10"), Json(nullptr)}) operators(version);
    }

    TEST_CASE("CompressedMembersAreRefused") {
        ExportedFile file("cnn");
        std::string bytes = testing::archive_of({{"a/models/b.json", std::string(1000, ' ')}});
        const std::size_t at = bytes.find("PK\1\2");
        bytes[at + 10] = bytes[8] = 8;  // the header says deflated
        CHECK_MESSAGE(problem_of(bytes).find("is compressed") != std::string::npos, problem_of(bytes));
    }

    TEST_CASE("SizesAreBoundedBeforeTheyAreMultiplied") {
        const auto refused = [](const std::string& key, const Json& value) {
            check_refused("cnn", "", [&](ExportedFile& file) { file.meta("conv1.weight", key, value); });
        };
        const std::int64_t huge = std::int64_t{1} << 40;
        refused("sizes", {as_int(huge), as_int(huge), as_int(3), as_int(3)});
        refused("sizes", {as_int(4), as_int(1), as_int(3), as_int(4)});
        refused("sizes", {as_int(-4), as_int(1), as_int(3), as_int(3)});
        refused("sizes", Json::array({as_int(4)}));
        refused("strides", {as_int(9), as_int(9), as_int(3), as_int(huge)});
        refused("strides", {as_int(9), as_int(9), as_int(3), as_int(-1)});
        refused("storage_offset", as_int(-4));
        refused("storage_offset", as_int((std::int64_t{1} << 62) - 1));
        refused("storage_offset", as_int(1));
        check_refused("cnn", "", [](ExportedFile& file) { file.member("weights/weight_0").resize(140); });
    }

    TEST_CASE("TensorsThatAreNoPlainBlocksAreRefused") {
        check_refused("cnn", "has 'conv1.weight' as a pickle",
                      [](ExportedFile& file) { file.meta("conv1.weight", "use_pickle", true); });
        check_refused("cnn", "does not fit its values",
                      [](ExportedFile& file) { file.meta("conv1.weight", "path_name", "../../../etc/passwd"); });
        check_refused("cnn", "parameter 'conv1.weight' is I32; expected: F32; fix: net = net.float()",
                      [](ExportedFile& file) { file.meta("conv1.weight", "dtype", 4); });
        check_refused("cnn", "has a tensor of the unknown type 99",
                      [](ExportedFile& file) { file.meta("conv1.weight", "dtype", 99); });
        check_refused("cnn", "'conv1.weight' is sparse", [](ExportedFile& file) { file.meta("conv1.weight", "layout", 2); });
        check_refused("cnn", "has no values of 'conv1.weight'",
                      [](ExportedFile& file) { file.weights["config"].erase("conv1.weight"); });
    }

    TEST_CASE("OperationsThatAreNotInTheListAreRefusedByName") {
        for (const auto& [target, text] : std::map<std::string, std::string>{
                 {"torch.ops.aten.from_file.default", "operation 'aten.from_file.default', which is"},
                 {"torch.ops.aten.relu.out", "; fix: h = torch.relu(…) without"},
                 {"torch.ops.aten.exp_.default", "; fix: h = h.exp(…) instead of h.exp_(…)"},
                 {"torch.ops.aten.mean.names_dim", "of that name: mean.default, mean.dim"},
                 {"torch.ops.mylib.twice.default", "'torch.ops.mylib.twice.default', which is not"},
                 {"torch.ops.prim.Print.default", "'torch.ops.prim.Print.default', which is not"},
                 {"builtins.eval", "'builtins.eval', which is not"},
                 {"torch.ops.higher_order.scan", "'torch.ops.higher_order.scan', which is not"}})
            check_refused("cnn", text, [&](ExportedFile& file) { file.node("relu.default")["target"] = target; });
        check_refused("cnn", "('net.py:12, return torch.special.erfcx(h)')", [](ExportedFile& file) {
            Json& node = file.node("relu.default");
            node["target"] = "torch.ops.aten.special_erfcx.default";
            node["metadata"]["stack_trace"] =
                "File \"/home/me/net.py\", line 12, in forward\n    return torch.special.erfcx(h)\n"
                "  File \"/lib/torch/nn/modules/module.py\", line 3, in forward\n    return F.x(h)";
        });
        check_refused("cnn", "export without run_decompositions()", [](ExportedFile& file) {
            file.node("relu.default")["target"] = "torch.ops.aten.native_dropout.default";
        });
    }

    TEST_CASE("TrainedParametersAreFrozenByTheirNamesTiedOnesTogether") {
        const auto roles_of = [](const std::string& name, const std::string& pattern) {
            const ExportedFile file(name);
            Program program = read(file.bytes());
            freeze(program, clients::NamePatterns::of({pattern}));
            std::map<std::string, Role> roles;
            for (const StoredTensor& tensor : program.tensors) roles[tensor.name] = tensor.role;
            return roles;
        };
        const auto kept = roles_of("kept", "*.weight");
        CHECK(kept.at("a.weight") == Role::Frozen);
        CHECK(kept.at("head.weight") == Role::Frozen);
        CHECK(kept.at("a.bias") == Role::Trained);
        CHECK(kept.at("seen") == Role::Moved);
        const auto all = roles_of("kept", "*");
        CHECK(all.at("steps") == Role::Counter);
        CHECK(all.at("scale") == Role::Constant);
        CHECK(all.at("seen") == Role::Moved);
        const auto tied = roles_of("tied", "b.weight");
        CHECK(tied.at("b.weight") == Role::Frozen);
        CHECK(tied.at("a.weight") == Role::Frozen);
    }

    TEST_CASE("WritesToTheInputAParameterOrAConstantAreRefused") {
        const Json twice{{"other", {{"as_float", 2.0}}}};
        check_refused("cnn", "", [&](ExportedFile& file) { file.insert(0, "mul_.Tensor", file.input(), twice, "made"); });
        check_refused("cnn", "writes to the parameter 'conv1.bias'",
                      [&](ExportedFile& file) { file.insert(0, "mul_.Tensor", "p_conv1_bias", twice, "made"); });
        check_refused("kept", "", [&](ExportedFile& file) { file.insert(0, "mul_.Tensor", "p_frozen", twice, "made"); });
        check_refused("kept", "", [&](ExportedFile& file) { file.insert(0, "mul_.Tensor", "b_scale", twice, "made"); });
        check_refused("cnn", "", [](ExportedFile& file) {
            file.model["graph_module"]["signature"]["output_specs"].push_back(
                {{"buffer_mutation", {{"arg", {{"name", "x"}}}, {"buffer_name", "y"}}}});
        });
    }

    TEST_CASE("FixedBatchEvaluationModeAndOtherSignaturesSayWhatToExport") {
        const auto input_of = [](ExportedFile& file) -> Json& {
            return file.model["graph_module"]["graph"]["tensor_values"][file.input()];
        };
        check_refused("cnn", "has a fixed batch", [&](ExportedFile& file) { input_of(file)["sizes"][0] = as_int(2); });
        check_refused("cnn", "has a dynamic dimension 2 of its",
                      [&](ExportedFile& file) { input_of(file)["sizes"][2] = input_of(file)["sizes"][0]; });
        check_refused("cnn", "takes F64; examples are F32, tokens I64; fix: x = x.float()",
                      [&](ExportedFile& file) { input_of(file)["dtype"] = 8; });
        check_refused("bag", "takes I32; examples are F32, tokens I64",
                      [&](ExportedFile& file) { input_of(file)["dtype"] = 4; });
        CHECK(read(ExportedFile("bag").bytes()).takes_tokens);
        CHECK_FALSE(read(ExportedFile("cnn").bytes()).takes_tokens);
        check_refused("cnn", "takes only batches of 8 or", [&](ExportedFile& file) {
            for (Json& range : file.model["range_constraints"]) range["min_val"] = 8;
        });
        ExportedFile most("cnn");
        for (Json& range : most.model["range_constraints"]) range["max_val"] = 64;
        const std::string bytes = most.archive();
        CHECK(read(bytes).most_batch == 64);
        check_refused("bn_cnn", "was exported in evaluation mode", [](ExportedFile& file) {
            for (Json& node : file.nodes())
                for (Json& input : node["inputs"])
                    if (input["name"] == "train" || input["name"] == "training") input["arg"] = {{"as_bool", false}};
        });
        check_refused("eval_norms", "", [](ExportedFile&) {});
        const auto with_frozen_norms = [](const std::string& name) {
            const std::string all = ExportedFile(name).bytes();
            return read_program(std::as_bytes(std::span(all)), true);
        };
        CHECK_FALSE(with_frozen_norms("eval_norms").has_moved());
        CHECK_THROWN_MESSAGE("models", "", ConfigError, with_frozen_norms("bn_cnn"));
        check_refused("cnn", "gives 2 tensors", [](ExportedFile& file) {
            Json& specs = file.model["graph_module"]["signature"]["output_specs"];
            specs.push_back(specs[0]);
        });
        const auto two_inputs = [](const std::string& line, const Json& second) {
            check_refused("cnn", line, [&](ExportedFile& file) {
                Json& module = file.model["graph_module"];
                Json& specs = module["signature"]["input_specs"];
                specs.push_back(specs.back());
                specs.back()["user_input"]["arg"]["as_tensor"]["name"] = "mask";
                module["graph"]["tensor_values"]["mask"] = module["graph"]["tensor_values"]["x"];
                for (std::size_t i = 0; i < second.size(); ++i)
                    module["graph"]["tensor_values"]["mask"]["sizes"][i + 1] = as_int(second[i]);
            });
        };
        two_inputs("def forward(self, x): x, mask = x.split([1, 3], 1)", {3});
        two_inputs("def forward(self, x): x, mask = x.flatten(1).split([144, 12], 1)", {1, 1});
        check_refused("cnn", "", [](ExportedFile& file) {
            file.model["graph_module"]["signature"]["input_specs"].push_back(
                {{"constant_input", {{"name", "k"}, {"value", as_int(4)}}}});
        });
        check_refused("cnn", "", [](ExportedFile& file) {
            for (Json& entry : file.weights["config"]) entry["tensor_meta"]["requires_grad"] = false;
        });
        check_refused("cnn", "", [](ExportedFile& file) {
            Json& inputs = file.model["graph_module"]["graph"]["inputs"];
            std::swap(inputs[0], inputs[1]);
        });
    }

    TEST_CASE("GraphsInGraphsAndUnknownArgumentsAreBounded") {
        Json deep = {{"inputs", Json::array()}, {"outputs", Json::array()}, {"nodes", Json::array()}};
        for (int i = 0; i < 12; ++i) {
            const Json inner = deep;
            deep["nodes"] = {
                {{"target", "torch.ops.higher_order.cond"},
                 {"inputs", {{{"name", ""}, {"arg", {{"as_graph", {{"name", "g"}, {"graph", inner}}}}}, {"kind", 1}}}},
                 {"outputs", Json::array()}}};
        }
        check_refused("cnn", "has nested graphs", [&](ExportedFile& file) { file.nodes().push_back(deep["nodes"][0]); });
        check_refused("cnn", "of the unknown kind 'as_custom_obj'", [](ExportedFile& file) {
            file.argument("relu.default", "self", {{"as_custom_obj", {{"name", "x"}}}});
        });
        check_refused("cnn", "", [](ExportedFile& file) {
            file.argument("relu.default", "self", {{"as_int", 1}, {"as_float", 1.0}});
        });
    }

    TEST_CASE("StridesOtherThanRowMajorAreReadInOrder") {
        ExportedFile file("cnn");
        file.meta("head.weight", "strides", {as_int(1), as_int(4)});  // as if transposed
        const std::string bytes = file.archive();
        const Program program = read(bytes);
        const auto weight = std::ranges::find(program.tensors, std::string("head.weight"), &StoredTensor::name);
        REQUIRE(weight != program.tensors.end());
        const std::string values = program.values_of(*weight), stored = program.archive->read(weight->member);
        for (std::size_t row : {0U, 3U})
            for (std::size_t column : {0U, 1U, 53U})
                CHECK(values.substr(4 * (54 * row + column), 4) == stored.substr(4 * (row + 4 * column), 4));
    }

    TEST_CASE("ListOfOperationsHasNoneThatWritesElsewhereThanItsNameSays") {
        for (const std::string_view name : aten_operations()) {
            CHECK_MESSAGE((!name.ends_with(".out") || name == "div.out"), name);
            CHECK_MESSAGE(is_allowed(std::string(kAten) + std::string(name)), name);
        }
        CHECK_FALSE(is_allowed("torch.ops.aten.relu"));
        CHECK_FALSE(is_allowed("relu.default"));
        CHECK(is_allowed("torch.ops.higher_order.cond"));
        CHECK(is_allowed("_operator.mul"));
    }
}
