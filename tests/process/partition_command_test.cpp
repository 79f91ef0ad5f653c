// fedhive partition: its output and file agree with a run's partition.
#include "tests/process/run_process.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kDealt =
    "data={format: synthetic, num_train: 30, num_test: 5, num_classes: 3, num_features: 2, partition: {scheme: "
    "shards, shards_per_client: 1, clients: 3}}";

/// Output of `fedhive partition` on small_config() with these arguments.
std::string printed(FedhiveRun& run, std::vector<std::string> more, const std::string& end = "exited with status 0") {
    std::ofstream(run.folder() / "test.yaml") << small_config();
    std::filesystem::remove(run.folder() / "output");
    std::vector<std::string> arguments{"partition", (run.folder() / "test.yaml").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run.start(std::move(arguments));
    CHECK(run.end() == end);
    return run.output();
}

}  // namespace

TEST_SUITE("PartitionCommand") {
    TEST_CASE("TableAndFingerprintAreThoseOfTheRun") {
        FedhiveRun run(small_config(), {"--set", "rounds=1"});
        REQUIRE(run.end() == "exited with status 0");
        const std::filesystem::path table = run.folder() / "table.csv";
        const std::string said = printed(run, {"--csv", table.string()});
        CHECK(read_text(table) == read_text(run.out() / "partition.csv"));
        for (const char* key : {"partition_fingerprint", "data_fingerprint"})
            CHECK_MESSAGE(said.find(std::string(run.manifest()[key])) != std::string::npos, said);
        const std::string other = printed(run, {"--set", "seeds.partition=2"});
        CHECK(other.find(std::string(run.manifest()["partition_fingerprint"])) == std::string::npos);
        CHECK(other.find(std::string(run.manifest()["data_fingerprint"])) != std::string::npos);
    }

    TEST_CASE("OneLabelAClientIsFarFromAllLabels") {
        FedhiveRun run;
        const std::string said = printed(run, {"--set", "training.cohort=3", "--set", kDealt});
        CHECK_MESSAGE(said.find("small: 30 of 30 training examples to 3 clients by shards, seed 1\n"
                                "  client  examples  labels label_0 label_1 label_2\n") == 0,
                      said);
        CHECK_MESSAGE(said.find("     all        30       3      10      10      10\n"
                                "examples of a client: 10; labels of a client: 1 of 3\n"
                                "label skew 0.667: ") != std::string::npos,
                      said);
        const std::string alike =
            printed(run, {"--set", "training.cohort=1", "--set", kDealt, "--set", "data.partition={clients: 1}"});
        CHECK_MESSAGE(alike.find("label skew 0.000: ") != std::string::npos, alike);
    }

    TEST_CASE("ManyClientsAndLabelsAreSummarised") {
        FedhiveRun run;
        const std::string said =
            printed(run, {"--set", "training.cohort=1", "--set",
                          "data={format: synthetic, num_train: 400, num_test: 5, num_classes: 20, num_features: "
                          "2, partition: {clients: 200}}"});
        CHECK_MESSAGE(said.find("       … and 190 more\n") != std::string::npos, said);
        CHECK_MESSAGE(said.find("most frequent label\n") != std::string::npos, said);
        CHECK_MESSAGE(said.find("examples of a client: 2; labels of a client: 1 to 2, median 2 of 20") != std::string::npos,
                      said);
    }

    TEST_CASE("HeldOutExamplesHaveAColumnAndAreNotCountedAsTrainedOn") {
        FedhiveRun run;
        const std::filesystem::path table = run.folder() / "table.csv";
        const std::string said = printed(run, {"--set", "training.cohort=3", "--set", kDealt, "--set",
                                               "data.partition.holdout=0.2", "--csv", table.string()});
        CHECK_MESSAGE(said.find("small: 24 of 30 training examples to 3 clients by shards; the clients hold out 6 more, seed "
                                "1\n  client  examples  held out  labels label_0 label_1 label_2\n") == 0,
                      said);
        CHECK_MESSAGE(said.find("     all        24         6       3       8       8       8\n") != std::string::npos, said);
        const std::vector<std::string> rows = read_lines(table);
        REQUIRE(rows.size() == 4);
        CHECK(rows[0] == "client_id,num_examples,label_0,label_1,label_2,held_out");
        for (std::size_t client = 0; client < 3; ++client) {
            CHECK(rows[client + 1].starts_with(fmt::format("{},8,", client)));
            CHECK(rows[client + 1].ends_with(",2"));
        }
    }

    TEST_CASE("FileThatCannotBeWrittenOrDrawnIsRefused") {
        FedhiveRun run;
        CHECK(printed(run, {"--csv", (run.folder() / "nowhere/a.csv").string()}, "exited with status 2")
                  .find("name a file in a writable folder") != std::string::npos);
        CHECK(
            printed(run, {"--plot", "a.gif"}, "exited with status 2").find("allowed: a name that ends in .svg, .png or .pdf") !=
            std::string::npos);
    }
}
