// The papers' configs, shortened, on images of the papers' size.
#include "tests/clients/data/idx_fixture.h"
#include "tests/process/csv_rows.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// 28 x 28 images, enough for two shards for each of a hundred clients, with labels of ten classes.
class Digits {
public:
    Digits() {
        put("train", 300);
        put("t10k", 20);
    }
    std::string root() const { return folder_.path().string(); }

private:
    void put(const std::string& part, std::uint32_t count) const {
        clients::Bytes labels;
        for (std::uint32_t i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(i % 10));
        clients::write_bytes(folder_.path() / (part + "-images-idx3-ubyte"), clients::idx_images(count, 28, 28, 3));
        clients::write_bytes(folder_.path() / (part + "-labels-idx1-ubyte"), clients::idx_labels(labels));
    }
    TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("Papers") {
    TEST_CASE("TheCnnOfMcMahanEtAlTrainsOnBothOfItsSplits") {
        const Digits digits;
        for (const std::string partition :
             {"{scheme: iid, clients: 100}", "{scheme: shards, clients: 100, shards_per_client: 2}"}) {
            CAPTURE(partition);
            FedhiveRun run;
            run.start({"run", (source_folder() / "configs/papers/mcmahan_cnn.yaml").string(), "--out", run.out().string(),
                       "--set", "data.root=" + digits.root(), "--set", "rounds=1", "--set", "device=cpu", "--set", "workers=2",
                       "--set", "data.partition=" + partition});
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(run.manifest()["num_parameters"] == 1'663'370);
            const auto clients = read_csv(run.out() / "clients.csv");
            CHECK(clients.size() == 10);                                          // C = 0.1
            for (const auto& client : clients) CHECK(client.at("steps") == "5");  // E = 5 epochs of one batch
        }
    }
}
