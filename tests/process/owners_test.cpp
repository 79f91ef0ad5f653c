// Data that name their owners, in the real program: number of clients, names in the tables, and warnings about the data.
#include "sim/record/table_cells.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// 60 rows of three hospitals, with a label and two features near it.
class Hospitals {
public:
    explicit Hospitals(int first_label = 0, double scale = 1.0) {
        for (const char* part : {"train", "test"}) {
            std::string rows = "age,pressure,sick,hospital\n";
            const std::vector<std::string> owners{"north", "\"Köln, Dom\"", "\"the \"\"Charité\"\"\""};
            for (int row = 0; row < 60; ++row)
                rows += fmt::format("{},{},{},{}\n", scale * (row % 2), scale * (row % 5) / 5, first_label + row % 2,
                                    owners[static_cast<std::size_t>(row) % 3]);
            clients::write_content(file(part), rows);
        }
    }

    std::filesystem::path file(const std::string& part) const { return folder_.path() / (part + ".csv"); }
    std::string config(const std::string& partition, const std::string& more = "") const {
        return fmt::format(
            "rounds: 2\ndevice: cpu\nworkers: 2\nmodel: {{name: lr}}\n{}data: {{format: csv, train: {}, test: {}, target: "
            "sick, "
            "client: hospital, partition: {}}}\n",
            more, file("train").string(), file("test").string(), partition);
    }

private:
    TemporaryFolder folder_;
};

/// The last cell of each row, which belongs to `column`.
std::vector<std::string> last_cells(const std::filesystem::path& table, const std::string& column) {
    std::vector<std::string> cells;
    for (const std::string& line : read_lines(table)) cells.push_back(sim::cells_of(line).back());
    REQUIRE(!cells.empty());
    CHECK(cells.front() == column);
    return {cells.begin() + 1, cells.end()};
}

/// How `fedhive ARGUMENTS` ended, and its output.
std::pair<std::string, std::string> called(const std::vector<std::string>& arguments) {
    FedhiveRun process;
    process.start(arguments);
    const std::string end = process.end();
    return {end, process.output()};
}

constexpr const char* kDone = "exited with status 0";

}  // namespace

TEST_SUITE("Owners") {
    TEST_CASE("TheDataSayHowManyClientsThereAreAndWhoTheyAre") {
        const Hospitals data;
        const std::string config = data.config("{scheme: natural, holdout: 0.2}", "evaluation: {clients: {every: 1}}\n");
        FedhiveRun run(config);
        REQUIRE_MESSAGE(run.end() == kDone, run.output());
        const std::vector<std::string> names{"Köln, Dom", "north", "the \"Charité\""};
        CHECK(last_cells(run.out() / "partition.csv", "owner") == names);
        CHECK(last_cells(run.out() / "clients.csv", "owner") ==
              std::vector<std::string>{names[0], names[1], names[2], names[0], names[1], names[2]});
        CHECK(last_cells(run.out() / "client_accuracy.csv", "owner") == names);
        CHECK_MESSAGE(run.output().find("| 16 · north\n") != std::string::npos, run.output());
        CHECK(read_text(run.out() / "config.yaml").find("partition: {scheme: natural, clients: 3, ") != std::string::npos);
        CHECK(run.manifest()["num_clients"] == 3);
        CHECK(run.manifest()["warnings"].empty());
        const auto [partition, table] = called({"partition", (run.folder() / "test.yaml").string()});
        CHECK_MESSAGE(table.find(" the \"Charité\"\n") != std::string::npos, table);

        // Resumes without and with the original config; the clients are read with their names.
        const std::string out = run.out().string();
        CHECK(called({"run", "--resume", out, "--set", "rounds=3"}).first == kDone);
        const auto [end, said] = called({"run", (run.folder() / "test.yaml").string(), "--resume", out, "--set", "rounds=4"});
        CHECK_MESSAGE(end == kDone, said);
        CHECK(last_cells(run.out() / "clients.csv", "owner").size() == 12);
        CHECK(called({"replay", out, "--round", "4", "--client", "2"}).first == kDone);
        FedhiveRun given(data.config("{scheme: natural, clients: 3, holdout: 0.2}"), {"--set", "rounds=4"});
        REQUIRE(given.end() == kDone);
        CHECK(given.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
    }

    TEST_CASE("TablesWithoutNamesHaveTheColumnsTheyHad") {
        const Hospitals data;
        FedhiveRun run(data.config("{scheme: iid, clients: 3}"));
        REQUIRE_MESSAGE(run.end() == kDone, run.output());
        last_cells(run.out() / "partition.csv", "held_out");
        last_cells(run.out() / "clients.csv", "update_s");
    }

    TEST_CASE("WhatDoesNotGoWithTheNumberOfClientsIsRefusedOnceItIsKnown") {
        const Hospitals data;
        const auto refused = [&](const std::string& partition, const std::string& more, const std::string& message) {
            const FedhiveRun folder;
            std::ofstream(folder.folder() / "c.yaml") << data.config(partition, more);
            const auto [end, said] = called({"validate", (folder.folder() / "c.yaml").string()});
            CHECK(end == "exited with status 2");
            CHECK_MESSAGE(said.find(message) != std::string::npos, said);
        };
        refused("{scheme: natural}", "training: {cohort: 4}\n",
                "c.yaml:5: training.cohort: 4 is more than data.partition.clients; allowed: 1 to 3");
        refused("{scheme: natural}", "faults: [{kind: drop, client: 3}]\n",
                "faults: item 0: client 3 does not exist; allowed: 0 to 2");
        refused("{scheme: natural, clients: 4}", "", "clients is 4, but the data have 3 owners; write clients: 3");
    }

    TEST_CASE("ClientsOfAPartitionFileAreCounted") {
        const Hospitals data;
        const FedhiveRun folder;
        std::ofstream(folder.folder() / "p.csv") << "client,example\n0,5\n1,7\n3,1\n2,0\n";
        std::ofstream(folder.folder() / "c.yaml")
            << data.config(fmt::format("{{scheme: from_file, file: {}}}", (folder.folder() / "p.csv").string()));
        const auto [end, said] = called({"validate", (folder.folder() / "c.yaml").string()});
        CHECK_MESSAGE(said.find("c.yaml: valid; 6 parameters, 4 clients, 60 training examples\n") != std::string::npos, said);
    }

    TEST_CASE("WhatLooksLikeAMistakeIsToldBeforeRoundOne") {
        const Hospitals data(1, 200.0);
        const std::string config = data.config("{scheme: natural}");
        FedhiveRun run(config, {"--set", "rounds=1"});
        REQUIRE_MESSAGE(run.end() == kDone, run.output());
        const std::string labels = "data.train: no training example has label 0 of 3; ";
        const std::string values = "data.normalize: values of x have a standard deviation of 100 in feature 0 of 2";
        for (const std::string& warning : {labels, values})
            CHECK_MESSAGE(run.output().find("\nwarning     " + warning) != std::string::npos, run.output());
        REQUIRE(run.manifest()["warnings"].size() == 2);
        CHECK(run.manifest()["warnings"][0].get<std::string>().starts_with(labels));
        const std::string file = (run.folder() / "test.yaml").string();
        const std::string text = called({"validate", file}).second;
        CHECK_MESSAGE(text.find("\nwarning: " + labels) != std::string::npos, text);
        const auto json = nlohmann::json::parse(called({"validate", file, "--json"}).second);
        CHECK(json["warnings"] == run.manifest()["warnings"]);
        // Each way to confirm or fix the warnings: the number of classes, normalisation numbers, a norm as the first layer.
        const auto warnings = [&](const std::vector<std::string>& more) {
            std::vector<std::string> arguments{"validate", file, "--json", "--set", "data.classes=3"};
            for (const std::string& one : more) arguments.insert(arguments.end(), {"--set", one});
            return nlohmann::json::parse(called(arguments).second)["warnings"].size();
        };
        CHECK(warnings({}) == 1);
        CHECK(warnings({"data.normalize={mean: [100, 80], std: [100, 57]}"}) == 0);
        CHECK(warnings({"model={layers: [flatten, layer_norm, {linear: {out: 3}}]}"}) == 0);
    }
}
