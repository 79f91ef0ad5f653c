// User data as NumPy archives or tables, and data with owners, in the real program.
#include "clients/data/formats/synthetic.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// The data of `format: synthetic` for small_config() with these keys, as archives of bytes and of floats from 0 to 255.
class SyntheticArchives {
public:
    SyntheticArchives() {
        const clients::Dataset drawn = clients::draw_synthetic({.num_train = 120, .num_test = 40, .num_features = 6}, 1);
        for (const auto& [part, examples] : {std::pair("train", &drawn.train), std::pair("test", &drawn.test)}) {
            const auto& bytes = examples->values;
            const std::string shape = fmt::format("({}, 6)", examples->size());
            const std::string each = fmt::format("({},)", examples->size());
            const std::string y = clients::npy("<i4", each, clients::raw(examples->labels));
            std::vector<std::int64_t> owners(examples->size());
            for (std::size_t i = 0; i < owners.size(); ++i) owners[i] = 1000 - static_cast<std::int64_t>(i % 3);
            const std::string client = clients::npy("<i8", each, clients::raw(owners));
            const std::vector<float> floats(bytes.begin(), bytes.end());
            clients::write_npz(file(part, "bytes"),
                               {{"x", clients::npy("|u1", shape, clients::raw(bytes))}, {"y", y}, {"client", client}});
            clients::write_npz(file(part, "floats"), {{"x", clients::npy("<f4", shape, clients::raw(floats))}, {"y", y}}, true);
        }
    }

    std::filesystem::path file(const std::string& part, const std::string& type) const {
        return folder_.path() / (part + "_" + type + ".npz");
    }
    std::string data(const std::string& type, const std::string& more) const {
        return fmt::format("data={{format: npz, train: {}, test: {}, {}}}", file("train", type).string(),
                           file("test", type).string(), more);
    }

private:
    TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("NpzRun") {
    TEST_CASE("BytesAndFloatsOfTheSameNumbersGiveTheBitsOfTheirSource") {
        const SyntheticArchives archives;
        const std::string dealt = "partition: {clients: 4}";
        const auto sha = [](const std::string& data, const Options& more = {}) {
            return sha_of(set(Options{"training.cohort=4", data} + more));
        };
        const std::string drawn =
            sha("data={format: synthetic, num_train: 120, num_test: 40, num_features: 6, partition: {clients: 4}}");
        CHECK(sha(archives.data("bytes", dealt)) == drawn);
        const std::string floats = archives.data("floats", "normalize: {mean: [0], std: [255]}, " + dealt);
        CHECK(sha(floats) == drawn);
        CHECK(sha(floats, {"workers=0"}) == drawn);
        const std::string at_once = sha(floats, {"training.clients_at_once=4"});
        CHECK(sha(archives.data("bytes", dealt), {"training.clients_at_once=4"}) == at_once);
    }

    TEST_CASE("TableOfTheSameNumbersGivesTheSameBits") {
        const SyntheticArchives archives;
        const clients::Dataset drawn = clients::draw_synthetic({.num_train = 120, .num_test = 40, .num_features = 6}, 1);
        const TemporaryFolder folder;
        for (const auto& [part, examples] : {std::pair("train", &drawn.train), std::pair("test", &drawn.test)}) {
            std::string table = "a,b,c,label,d,e,f,who\n";
            for (std::size_t i = 0; i < examples->size(); ++i) {
                const auto x = std::span(examples->values).subspan(6 * i, 6);
                table +=
                    fmt::format("{},{},{},{},{},{}.0,{},{}\n", x[0], x[1], x[2], examples->labels[i], x[3], x[4], x[5], i % 3);
            }
            clients::write_content(folder.path() / (std::string(part) + ".csv"), table);
        }
        const auto sha = [](const std::string& data) { return sha_of(set({"training.cohort=3", data})); };
        const std::string of_table =
            sha(fmt::format("data={{format: csv, train: {0}/train.csv, test: {0}/test.csv, target: label, client: who, "
                            "normalize: {{mean: [0], std: "
                            "[255]}}, partition: {{scheme: natural, clients: 3}}}}",
                            folder.path().string()));
        // There the owners have descending numbers.
        CHECK(of_table != sha(archives.data("bytes", "partition: {scheme: natural, clients: 3}")));
        const std::string of_archive =
            sha(archives.data("floats", "normalize: {mean: [0], std: [255]}, partition: {clients: 3}"));
        CHECK(sha(fmt::format(
                  "data={{format: csv, train: {0}/train.csv, test: {0}/test.csv, target: label, client: who, normalize: "
                  "{{mean: [0], std: [255]}}, partition: {{clients: 3}}}}",
                  folder.path().string())) == of_archive);
    }

    TEST_CASE("DevicesWithModelsOfTheirOwnAreTheClients") {
        const auto devices = [](const char* more) {
            return sha_of(
                set({"training.cohort=5", "model={name: lr}", "rounds=2",
                     "data={format: synthetic_devices, devices: 5, partition: {scheme: natural, clients: 5}}", more}));
        };
        const std::string two = devices("workers=2");
        CHECK(devices("workers=0") == two);
        CHECK(devices("data.place_spread=0") != two);
    }

    TEST_CASE("OwnersInTheDataAreTheClients") {
        const SyntheticArchives archives;
        FedhiveRun run(small_config(),
                       set({"training.cohort=3", archives.data("bytes", "partition: {scheme: natural, clients: 3}")}));
        CAPTURE(run.output());
        REQUIRE(run.end() == "exited with status 0");
        const std::vector<std::string> rows = read_lines(run.out() / "partition.csv");
        REQUIRE(rows.size() == 4);
        for (std::size_t client = 0; client < 3; ++client) CHECK(rows[client + 1].starts_with(fmt::format("{},40,", client)));
    }

    TEST_CASE("OwnersThatAreNotTheClientsOrNotThereNameTheLine") {
        const SyntheticArchives archives;
        const auto said = [&](const char* type, const char* clients) {
            FedhiveRun run(small_config(),
                           set({"training.cohort=2",
                                archives.data(type, fmt::format("partition: {{scheme: natural, clients: {}}}", clients))}));
            CHECK(run.end() == "exited with status 2");
            return run.output();
        };
        CHECK(said("bytes", "2").find("data.partition: clients is 2, but the data have 3 owners") != std::string::npos);
        CHECK(said("floats", "3").find("data.partition: scheme natural: ") != std::string::npos);
    }

    TEST_CASE("DamagedArrayNamesLineFileArrayAndWhatMendsIt") {
        const SyntheticArchives archives;
        const std::filesystem::path train = archives.file("train", "floats");
        clients::write_npz(train, {{"x", clients::npy("<f4", "(1, 2)", std::string(8, '\0'), "True")}});
        FedhiveRun run(fmt::format("data:\n    format: npz\n    train: {}\n    test: {}\nmodel: {{name: lr}}\n", train.string(),
                                   archives.file("test", "floats").string()));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("test.yaml:3: data.train: " + train.string() + ": x: ") != std::string::npos,
                      run.output());
        CHECK_MESSAGE(run.output().find("; fix: x = numpy.ascontiguousarray(x)") != std::string::npos, run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
