#include "sim/plan/run_warnings.h"

#include "clients/exported/shared_model_file.h"
#include "tests/support/exported_file.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

using fedhive::testing::ExportedFile;
using Json = ExportedFile::Json;

const std::vector<clients::DataWarning> kOfData{{"train", "a"}, {"normalize", "b"}};

/// Warnings for a graph with 4 classes.
std::vector<std::string> warnings_of(ExportedFile file, clients::TargetShape target = {}) {
    const fedhive::testing::TemporaryFolder folder;
    std::ofstream(folder.path() / "net.pt2", std::ios::binary) << file.archive();
    const clients::exported::SharedModelFile opened(folder.path() / "net.pt2");
    clients::ModelSpec spec;
    spec.name.set(clients::kExportedModel);
    spec.exported = opened.handle();
    spec.target = target;
    return all_warnings(kOfData, spec);
}

/// "residual", with that operation after its scores.
ExportedFile with_end(const std::string& operation) {
    ExportedFile file("residual");
    file.insert(file.nodes().size(), operation, "linear", Json{{"dim", Json{{"as_int", -1}}}}, "end");
    Json& graph = file.model["graph_module"]["graph"];
    graph["tensor_values"]["end"] = graph["tensor_values"]["linear"];
    graph["outputs"][0]["as_tensor"]["name"] = "end";
    file.model["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "end";
    return file;
}

/// "residual", with that operation before its first layer.
ExportedFile with_beginning(const std::string& operation) {
    ExportedFile file("residual");
    Json& values = file.model["graph_module"]["graph"]["tensor_values"];
    values["scaled"] = values[file.input()];
    file.insert(0, operation, file.input(), Json{{"other", Json{{"as_int", 255}}}}, "scaled");
    file.argument("conv2d", "input", Json{{"as_tensor", Json{{"name", "scaled"}}}});
    return file;
}

}  // namespace

TEST_SUITE("Warnings") {
    TEST_CASE("NetworkThatEndsInSoftmaxIsToldToGiveScores") {
        const std::vector<std::string> warnings = warnings_of(with_end("softmax.int"));
        REQUIRE(warnings.size() == 3);
        CHECK(warnings[0] == "data.train: a");
        CHECK(warnings[1] == "data.normalize: b");
        CHECK(warnings[2].starts_with("model.file: "));
        CHECK_MESSAGE_IS("plan", "", warnings[2]);
        CHECK(warnings_of(with_end("softmax.int"), {clients::TargetKind::Numbers, 4}).size() == 2);
        CHECK(warnings_of(with_end("log_softmax.int")).size() == 2);  // the loss applies it again, which changes nothing
        CHECK(warnings_of(ExportedFile("residual")).size() == 2);
    }

    TEST_CASE("NetworkThatScalesItsInputTakesLargeValues") {
        CHECK(warnings_of(with_beginning("div.Tensor")) == std::vector<std::string>{"data.train: a"});
    }
}
