// model.file and model.file_sha256: reading, writing back, and changes by a resume.
#include "tests/sim/config/config_files.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

std::string with_model(const std::string& model) { return "data: {format: glyphs}\nmodel: {" + model + "}\n"; }

}  // namespace

TEST_SUITE("ModelFileConfig") {
    TEST_CASE("PathIsResolvedAgainstTheConfigsFolderAndWrittenBack") {
        const TemporaryFolder folder;
        const RunConfig run = load_config(folder.write("c.yaml", with_model("file: nets/a.pt2"))).run;
        CHECK(run.model.file == folder.path() / "nets/a.pt2");
        CHECK(run.model.name.empty());
        CHECK(run.model.file_sha256.empty());
        RunConfig known = run;
        known.model.file_sha256 = std::string(64, '7');
        const RunConfig again = from_yaml(to_yaml(known), "c.yaml");
        CHECK(again.model.file == run.model.file);
        CHECK(again.model.file_sha256 == std::string(64, '7'));
        CHECK(to_yaml(run).find("sha256") == std::string::npos);
    }

    TEST_CASE("FileStandsInPlaceOfANameOrOfLayers") {
        CHECK_ERROR_AT(error_of(with_model("name: lr, file: a.pt2")), "c.yaml:2: model.file");
        check_message("config", "layers and a file", error_of(with_model("layers: [flatten, linear], file: a.pt2")),
                      "c.yaml:2: model.file");
        CHECK_ERROR_AT(error_of(with_model("file: 3.5, hidden: 3")), "c.yaml:2: model.hidden");
    }

    TEST_CASE("GraphBelongsToAFileAndIsPartOfTheExperiment") {
        RunConfig run = from_yaml(with_model("file: /a.pt2"), "c.yaml"),
                  kept = from_yaml(with_model("file: /a.pt2, graph: keep"), "c.yaml");
        CHECK(run.model.graph == GraphUse::Auto);
        CHECK(from_yaml(to_yaml(kept), "c.yaml").model.graph == GraphUse::Keep);
        REQUIRE(changes(run, kept).size() == 1);
        CHECK_FALSE(changes(run, kept)[0].allowed);
        CHECK_MESSAGE_IS("config", "", error_of(with_model("name: lr, graph: keep")));
    }

    TEST_CASE("LocalIsAListOfPatternsAndPartOfTheExperiment") {
        const std::string judged = "evaluation: {clients: {every: 1}}\ndata: {format: glyphs, partition: {holdout: 0.2}}\n";
        RunConfig run = from_yaml(judged + "model: {name: mnist_cnn, local: [\"conv*\", fc1.weight]}\n", "c.yaml");
        CHECK(run.model.local == std::vector<std::string>{"conv*", "fc1.weight"});
        CHECK(from_yaml(to_yaml(run), "c.yaml").model.local == run.model.local);
        RunConfig other = run;
        other.model.local.pop_back();
        REQUIRE(changes(run, other).size() == 1);
        CHECK_FALSE(changes(run, other)[0].allowed);
    }

    TEST_CASE("FrozenIsAListOfPatternsAndPartOfTheExperiment") {
        RunConfig run = from_yaml(with_model("name: mnist_cnn, frozen: [\"conv*\", fc1.weight, \"[ab] c\"]"), "c.yaml");
        CHECK(run.model.frozen == std::vector<std::string>{"conv*", "fc1.weight", "[ab] c"});
        CHECK(from_yaml(to_yaml(run), "c.yaml").model.frozen == run.model.frozen);
        CHECK(to_yaml(run).find("frozen: [\"conv*\", fc1.weight, \"[ab] c\"]") != std::string::npos);
        RunConfig other = run;
        other.model.frozen.pop_back();
        REQUIRE(changes(run, other).size() == 1);
        CHECK_FALSE(changes(run, other)[0].allowed);
        CHECK_ERROR_AT(error_of(with_model("name: lr, frozen: fc.weight")), "c.yaml:2: model.frozen");
        CHECK_ERROR_AT(error_of(with_model("name: lr, frozen: [[a]]")), "c.yaml:2: model.frozen[0]");
    }

    TEST_CASE("ResumedRunMayFindTheFileElsewhereButNotAnotherOne") {
        RunConfig before = from_yaml(with_model("file: /a.pt2"), "c.yaml"), after = before;
        before.model.file_sha256 = after.model.file_sha256 = "1";
        after.model.file = "/b.pt2";
        REQUIRE(changes(before, after).size() == 1);
        CHECK(changes(before, after)[0].key == "model.file");
        CHECK(changes(before, after)[0].allowed);
        after.model.file_sha256 = "2";
        REQUIRE(changes(before, after).size() == 2);
        CHECK_FALSE(changes(before, after)[1].allowed);
    }
}
