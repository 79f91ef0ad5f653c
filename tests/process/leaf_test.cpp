// LEAF's files in the real program: users are clients, with the bits of the same data in archives.
#include "clients/data/formats/synthetic.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// The data of `format: synthetic`, a third per user: as archives, and in LEAF's form.
class UsersFiles {
public:
    UsersFiles() {
        const clients::Dataset drawn = clients::draw_synthetic({.num_train = 120, .num_test = 39, .num_features = 4}, 1);
        write("train", drawn.train);
        write("test", drawn.test);
    }

    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
    Options config(const std::string& format, const std::string& end) const {
        return {
            fmt::format("data={{format: {}, train: {}, test: {}, normalize: {{mean: [0], std: [255]}}, partition: {{scheme: "
                        "natural, clients: 3}}}}",
                        format, file("train" + end), file("test" + end)),
            "training.cohort=3", "rounds=3"};
    }

private:
    void write(const std::string& part, const clients::Examples& examples) const {
        constexpr std::size_t kFeatures = 4;
        std::vector<std::int64_t> owners;
        nlohmann::json users;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            const std::size_t owner = 3 * i / examples.size();
            const auto* values = &examples.values[i * kFeatures];
            nlohmann::json& user = users[fmt::format("writer {}", owner)];
            user["x"].push_back(std::vector<int>(values, values + kFeatures));
            user["y"].push_back(examples.labels[i]);
            owners.push_back(static_cast<std::int64_t>(owner));
        }
        clients::write_content(file(part + ".json"), nlohmann::json{{"user_data", users}}.dump());
        const std::string each = fmt::format("({},)", examples.size());
        const std::vector<float> floats(examples.values.begin(), examples.values.end());
        clients::write_npz(
            file(part + ".npz"),
            {{"x", clients::npy("<f4", fmt::format("({}, {})", examples.size(), kFeatures), clients::raw(floats))},
             {"y", clients::npy("<i4", each, clients::raw(examples.labels))},
             {"client", clients::npy("<i8", each, clients::raw(owners))}});
    }

    TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("LeafRun") {
    TEST_CASE("UsersAreClientsWithTheBitsOfAnArchiveForAnyNumberOfWorkers") {
        const UsersFiles files;
        FedhiveRun run(small_config(), set(files.config("leaf", ".json")));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK_MESSAGE(run.output().find("clients     3 by natural") != std::string::npos, run.output());
        const auto rows = read_csv(run.out() / "clients.csv");
        REQUIRE(rows.size() == 9);
        for (const auto& row : rows) CHECK(row.at("num_examples") == "40");
        const std::string two = run.manifest()["model_sha256"];
        CHECK(sha_with(files.config("npz", ".npz")) == two);
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(sha_with(files.config("leaf", ".json") + Options{workers}) == two);
    }

    TEST_CASE("FileThatIsCutOffEndsWithStatusTwoAndItsByte") {
        const UsersFiles files;
        std::filesystem::resize_file(files.file("test.json"), 500);
        FedhiveRun run(small_config(), set(files.config("leaf", ".json")));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("data.test: " + files.file("test.json") + ": byte 501 of 500: is not valid JSON: ") !=
                          std::string::npos,
                      run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
