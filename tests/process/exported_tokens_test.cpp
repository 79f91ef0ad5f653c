// model.file on tokens in the real program: text, LEAF's users and archives.
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"
#include "tests/support/exported_file.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

constexpr std::string_view kLetters = "abcdefghij ";  // one letter per token of the golden networks
constexpr std::size_t kLength = 6;

/// The same letters as text, in LEAF's form, and as an archive with four classes.
class Letters {
public:
    Letters() {
        std::string text;
        for (std::size_t i = 0; i < 4 * kBlock; ++i) text += kLetters[(i + i / 17) % kLetters.size()];
        clients::write_content(file("letters.txt"), text);
        for (const char* part : {"train", "test"}) {
            nlohmann::json users;
            std::vector<std::int32_t> tokens;
            std::vector<std::int64_t> classes;
            for (std::size_t i = 0; i < kExamples; ++i) {
                const std::string window = text.substr(3 * i, kLength);
                nlohmann::json& user = users[fmt::format("user {}", i % 4)];
                user["x"].push_back(window);
                user["y"].push_back(text.substr(3 * i + kLength, 1));
                for (const char c : window) tokens.push_back(static_cast<std::int32_t>(kLetters.find(c)));
                classes.push_back(static_cast<std::int64_t>(i % 4));
            }
            clients::write_content(file(fmt::format("{}.json", part)), nlohmann::json{{"user_data", users}}.dump());
            clients::write_npz(file(fmt::format("{}.npz", part)),
                               {{"x", clients::npy("<i4", fmt::format("({}, {})", kExamples, kLength), clients::raw(tokens))},
                                {"y", clients::npy("<i8", fmt::format("({},)", kExamples), clients::raw(classes))}});
        }
    }

    /// A config with a class at each position, for the network with a score for each.
    Options every() const {
        return config(fmt::format("format: text, train: {}, sequence: 6, step: 3, owners: blocks, block: 200, targets: every, "
                                  "partition: {{scheme: natural, clients: 4}}",
                                  file("letters.txt")),
                      "causal") +
               Options{"task=next_token"};
    }
    Options leaf() const {
        return config(fmt::format("format: leaf, train: {}, test: {}, partition: {{scheme: natural, clients: 4}}",
                                  file("train.json"), file("test.json")),
                      "token_tied");
    }
    Options archive(const std::string& name) const {
        return config(fmt::format("format: npz, values: tokens, train: {}, test: {}, partition: {{clients: 4}}",
                                  file("train.npz"), file("test.npz")),
                      name);
    }

private:
    static constexpr std::size_t kBlock = 200, kExamples = 120;

    static Options config(const std::string& data, const std::string& name) {
        return {fmt::format("data={{{}}}", data), fmt::format("model={{file: {}}}", golden_file(name + ".pt2").string()),
                "training={cohort: 4, batch_size: 16, optimizer: {name: sgd, lr: 0.3}}"};
    }
    std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

    TemporaryFolder folder_;
};

void check_refused(const Options& options, const std::string& text) {
    FedhiveRun run(small_config(), set(options));
    CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
    CHECK_MESSAGE(run.output().find(text) != std::string::npos, text << "\n" << run.output());
}

}  // namespace

TEST_SUITE("ExportedTokensRun") {
    TEST_CASE("TokensAreLearntWithTheSameBitsForAnyNumberOfWorkers") {
        const Letters letters;
        FedhiveRun run(small_config(), set(letters.every() + Options{"rounds=8"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto rounds = read_csv(run.out() / "rounds.csv");
        CHECK(std::stod(rounds.back().at("test_perplexity")) < 0.9 * std::stod(rounds.front().at("test_perplexity")));
        const std::string two = run.manifest()["model_sha256"];
        for (const char* workers : {"workers=0", "workers=3"})
            CHECK(sha_with(letters.every() + Options{"rounds=8", workers}) == two);
        for (const Options& config : {letters.leaf(), letters.archive("bag"), letters.archive("token_lstm"),
                                      letters.archive("token_vit") + Options{"training.engine=direct"}})
            CHECK(sha_with(config + Options{"workers=0"}) == sha_with(config + Options{"workers=3"}));
    }

    TEST_CASE("TokensAreTrainedByEveryKindOfStrategyAndInEveryModeThatDoesNotCutTheGraph") {
        const Letters letters;
        const Options config = letters.every() + Options{"data.partition={clients: 4}", "rounds=1", "workers=4"};
        for (const std::string mode : {"{name: semi_async, quorum: 2}", "{name: async}", "{name: gradient_averaging}",
                                       "{name: parameter_server}", "{name: hogwild}"})
            CHECK(sha_with(config + Options{"mode=" + mode}).size() == 64);
        for (const std::string strategy :
             {"{name: fedprox, proximal_mu: 0.1}", "{name: fedadam}", "{name: scaffold}", "{name: median}"})
            CHECK(sha_with(config + Options{"strategy=" + strategy}).size() == 64);
        check_refused(config + Options{"mode={name: split, cut: table}"}, "model.file is a graph");
    }

    TEST_CASE("KilledWorkerIsReplacedAndAResumedRunGoesOnWithTheSameBits") {
        const Letters letters;
        const std::string whole = sha_with(letters.archive("token_lstm"));
        CHECK(sha_with(letters.archive("token_lstm") +
                       Options{"failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 1}]"}) == whole);
        Finished run(set(letters.archive("token_lstm") + Options{"rounds=2"}));
        REQUIRE(run.resume(set({"rounds=3"})) == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_with(letters.archive("token_lstm") + Options{"rounds=3"}));
    }

    TEST_CASE("TokensAndNumbersAreNotTakenForEachOther") {
        const Letters letters;
        check_refused({"data={format: synthetic, num_features: 6, num_classes: 4, partition: {clients: 4}}",
                       "training.cohort=4", "model={file: " + golden_file("bag.pt2").string() + "}"},
                      "bag.pt2:");
        check_refused(letters.archive("cnn"), "cnn.pt2:");
        check_refused(letters.archive("bag") + Options{"data.vocabulary=12"}, "does not support the data's tokens, 0 to 11");
        check_refused(letters.archive("causal"), "gives [2, 6, 11] for 2 examples; expected: [2, 4]");
    }
}
