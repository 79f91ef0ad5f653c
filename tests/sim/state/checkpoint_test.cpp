#include "sim/state/checkpoint.h"

#include "sim/record/durable_file.h"
#include "tests/support/right_hash.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

aggregation::Layout small_layout() {
    aggregation::Layout layout;
    layout.add("fc.weight", {2, 3});
    layout.add("fc.bias", {2});
    layout.add("scale", {});
    return layout;
}

/// Distinct values, padding 0.
std::vector<float> numbers(const aggregation::Layout& layout, float first) {
    std::vector<float> values(layout.num_floats(), 0.0F);
    for (const auto& entry : layout.entries()) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(entry.offset);
        std::iota(begin, begin + static_cast<std::ptrdiff_t>(entry.size), first + static_cast<float>(entry.offset));
    }
    return values;
}

Checkpoint some_checkpoint() {
    Checkpoint checkpoint;
    checkpoint.round = 12;
    checkpoint.version = 11;
    checkpoint.config = "name: \"quoted\"\nsha256: \"sha256\":\"no\"\ndata: {root: /some/where}\n";
    checkpoint.environment = {"2.11.0", "AVX512", "cuda", "sm_90 under driver 13000", "libtorch", "AuthenticAMD", "layers"};
    checkpoint.data_fingerprint = 0xFEDCBA9876543210;
    checkpoint.layout_fingerprint = 7;
    checkpoint.tables = {{1234, 0xFEDCBA98}, {5678901234567}, {}, {77, 0x1234}};
    checkpoint.progress.wall_s = 0.1 + 0.2;
    checkpoint.progress.phase_seconds = {1.0 / 3.0, 2.0, 3.0, 4.0, 5.0, 6e-9};
    checkpoint.progress.test = Metrics{std::nextafter(0.7, 1.0), {{"mse", 0.25}, {"mae", std::nextafter(0.3, 1.0)}}};
    checkpoint.progress.test_round = 10;
    checkpoint.progress.last_step = 9;
    checkpoint.progress.failures = {9, 4, 3, 2, 1};
    checkpoint.now_s = 1.0 / 7.0;
    checkpoint.sampler = "17";
    checkpoint.in_flight = {{5, 17, 0.1 + 0.2, 11, 3, 10, 0, 2.0 / 3.0}, {6, 2, 4.0, 12, 0, 11, 0, 1e9}};
    return checkpoint;
}

struct Written {
    testing::TemporaryFolder folder;
    std::filesystem::path file = folder.path() / "c.safetensors";
    aggregation::Layout layout = small_layout();
    std::vector<float> model = numbers(layout, 1.5F);
    std::vector<float> velocity = numbers(layout, -8.0F);
    std::string content;

    explicit Written(const Checkpoint& checkpoint = some_checkpoint(), const aggregation::ClientStates& states = {}) {
        const std::vector<NamedVector> vectors{{"model", model}, {"server.velocity", velocity}};
        content = encode_checkpoint(checkpoint, layout, vectors, states).whole();
        write_file(file, content);
    }

    /// The error for a file whose content is replaced by `changed`; empty if it is read.
    std::string damage(const std::string& changed) const {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
        try {
            read_checkpoint(file);
        } catch (const DamagedCheckpoint& error) {
            return error.what();
        }
        return "";
    }
};

/// Clients 2 and 11 of twelve keep three floats each.
aggregation::ClientStates some_states() {
    auto states = aggregation::ClientStates::create(12, 3);
    states.set(2, std::vector<float>{1.0F, 2.0F, 3.0F});
    states.set(11, std::vector<float>{-4.0F, 5.0F, 0.5F});
    return states;
}

/// Replaces `from` by `to` (of equal length) in the header, and corrects the hash.
std::string with_hash_for(std::string content, const std::string& from, const std::string& to) {
    REQUIRE(from.size() == to.size());
    content.replace(content.find(from), from.size(), to);
    return testing::with_right_hash(std::move(content));
}

}  // namespace

TEST_SUITE("Checkpoint") {
    TEST_CASE("WrittenIsReadBackExactly") {
        const Written written;
        const CheckpointFile read = read_checkpoint(written.file);
        const Checkpoint wanted = some_checkpoint();
        CHECK(read.checkpoint.round == wanted.round);
        CHECK(read.checkpoint.version == wanted.version);
        CHECK(read.checkpoint.config == wanted.config);
        CHECK(read.checkpoint.sampler == wanted.sampler);
        CHECK(differences(read.checkpoint.environment, wanted.environment).empty());
        CHECK(read.checkpoint.environment.cpu_vendor == wanted.environment.cpu_vendor);
        CHECK(read.checkpoint.environment.model_form == wanted.environment.model_form);
        CHECK(read.checkpoint.data_fingerprint == wanted.data_fingerprint);
        CHECK(read.checkpoint.layout_fingerprint == wanted.layout_fingerprint);
        CHECK(read.checkpoint.tables.rounds.bytes == 1234);
        CHECK(read.checkpoint.tables.rounds.crc == 0xFEDCBA98);
        CHECK(read.checkpoint.tables.clients.bytes == 5678901234567);
        CHECK_FALSE(read.checkpoint.tables.clients.crc);
        CHECK(read.checkpoint.tables.fairness.bytes == 77);
        CHECK(read.checkpoint.tables.fairness.crc == 0x1234);
        CHECK(read.checkpoint.now_s == wanted.now_s);
        REQUIRE(read.checkpoint.in_flight.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            const InFlight& client = read.checkpoint.in_flight[i];
            CHECK(client.slot == wanted.in_flight[i].slot);
            CHECK(client.client_id == wanted.in_flight[i].client_id);
            CHECK(client.weight == wanted.in_flight[i].weight);
            CHECK(client.sent_round == wanted.in_flight[i].sent_round);
            CHECK(client.repeat == wanted.in_flight[i].repeat);
            CHECK(client.version == wanted.in_flight[i].version);
            CHECK(client.arrives_s == wanted.in_flight[i].arrives_s);
        }
        const Progress& progress = read.checkpoint.progress;
        CHECK(progress.wall_s == wanted.progress.wall_s);
        CHECK(progress.last_step == wanted.progress.last_step);
        CHECK(progress.phase_seconds == wanted.progress.phase_seconds);
        REQUIRE(progress.test);
        CHECK(progress.test->test_loss == wanted.progress.test->test_loss);
        CHECK(progress.test->of_task == wanted.progress.test->of_task);
        CHECK(progress.test_round == 10);
        CHECK(progress.failures.failures == 9);
        CHECK(progress.failures.retried == 4);
        CHECK(progress.failures.dropped == 3);
        CHECK(progress.failures.workers_replaced == 2);
        CHECK(progress.failures.deaths_in_a_row == 1);
        CHECK(read_vector(read, "model", written.layout) == written.model);
        CHECK(read_vector(read, "server.velocity", written.layout) == written.velocity);
    }

    TEST_CASE("RunThatWasNotEvaluatedYetAndLossesThatAreNoNumbersAreReadBack") {
        Checkpoint checkpoint = some_checkpoint();
        checkpoint.progress.test.reset();
        CHECK_FALSE(read_checkpoint(Written(checkpoint).file).checkpoint.progress.test);
        checkpoint.progress.test = Metrics{std::numeric_limits<double>::quiet_NaN(), {{"accuracy", 0.1}}};
        CHECK(std::isnan(read_checkpoint(Written(checkpoint).file).checkpoint.progress.test->test_loss));
        checkpoint.progress.test = Metrics{std::numeric_limits<double>::infinity(), {{"accuracy", 0.1}}};
        CHECK(std::isinf(read_checkpoint(Written(checkpoint).file).checkpoint.progress.test->test_loss));
    }

    TEST_CASE("EveryChangedByteIsFound") {
        const Written written;
        REQUIRE(written.content.size() < 4000);
        for (std::size_t i = 0; i < written.content.size(); ++i) {
            std::string changed = written.content;
            changed[i] = static_cast<char>(changed[i] ^ 4);
            CHECK_MESSAGE(!written.damage(changed).empty(), "byte " << i);
        }
    }

    TEST_CASE("EveryTornFileIsFound") {
        const Written written;
        for (std::size_t size = 0; size < written.content.size(); ++size)
            CHECK_MESSAGE(!written.damage(written.content.substr(0, size)).empty(), "of " << size << " bytes");
        CHECK(!written.damage(written.content + '\0').empty());
        CHECK(!written.damage(std::string(written.content.size(), '\0')).empty());
        CHECK(written.damage(written.content).empty());
    }

    TEST_CASE("DamageNamesTheFileAndWhatIsWrong") {
        const Written written;
        std::string changed = written.content;
        changed.back() = static_cast<char>(changed.back() ^ 1);
        CHECK(written.damage(changed) == written.file.string() + ": its bytes do not match its sha256");
        std::filesystem::remove(written.file);
        CHECK_THROWS_WITH_AS(read_checkpoint(written.file), doctest::Contains("no such file"), DamagedCheckpoint);
        std::filesystem::create_directory(written.file);
        CHECK_THROWS_WITH_AS(read_checkpoint(written.file), doctest::Contains("is a folder"), DamagedCheckpoint);
    }

    TEST_CASE("WholeFileThatIsNoCheckpointIsDamaged") {
        const Written written;
        CHECK(written.damage(encode_state({}, {})).find("is not a checkpoint: its metadata have no 'sha256'") !=
              std::string::npos);
        for (const auto& [from, to, problem] :
             {std::tuple{"\"round\":\"12\"", "\"round\":\"1x\"", "round '1x' is not a number"},
              {"\"version\":\"11\"", "\"versiom\":\"11\"", "its metadata have no 'version'"},
              {"\\\"retried\\\":4", "\\\"retrieD\\\":4", "failures has no number 'retried'"},
              {"\\\"barrier\\\":3.0", "\\\"barrier\\\":nil", "wall_s has no number"}})
            CHECK_MESSAGE(written.damage(with_hash_for(written.content, from, to)).find(problem) != std::string::npos, problem);
    }

    TEST_CASE("OneFromBeforeThereWasATableOfFairnessHasNone") {
        const Written written;
        std::string older = with_hash_for(written.content, "fairness_csv_bytes", "something_unknown_");
        older = with_hash_for(older, "fairness_csv_crc32", "something_ignored_");
        std::ofstream(written.file, std::ios::binary | std::ios::trunc) << older;
        const TablePositions tables = read_checkpoint(written.file).checkpoint.tables;
        CHECK(tables.fairness.bytes == 0);
        CHECK_FALSE(tables.fairness.crc);
        CHECK(tables.rounds.bytes == 1234);
    }

    TEST_CASE("OtherFormatNamesBothVersionsAndIsNotTakenForDamage") {
        const Written written;
        std::ofstream(written.file, std::ios::binary) << with_hash_for(written.content, "\"format\":\"4\"", "\"format\":\"5\"");
        std::string message;
        try {
            read_checkpoint(written.file);
        } catch (const DamagedCheckpoint&) {
            FAIL("taken for damage");
        } catch (const ConfigError& error) {
            message = error.what();
        }
        CHECK(message.find("has checkpoint format 5, but this fedhive supports 4") != std::string::npos);
    }

    TEST_CASE("VectorThatIsNotThereOrOfAnotherShapeIsNamed") {
        const Written written;
        const CheckpointFile read = read_checkpoint(written.file);
        CHECK_THROWS_WITH_AS(read_vector(read, "server.first_moment", written.layout),
                             doctest::Contains("has no tensor 'server.first_moment.fc.weight' of type F32 and shape [2,3]"),
                             ConfigError);
        aggregation::Layout other;
        other.add("fc.weight", {3, 2});
        CHECK_THROWS_WITH_AS(read_vector(read, "model", other),
                             doctest::Contains("'model.fc.weight' of type F32 and shape [3,2]"), ConfigError);
    }

    TEST_CASE("WhatClientsKeepIsReadBack") {
        const aggregation::ClientStates states = some_states();
        const CheckpointFile read = read_checkpoint(Written(some_checkpoint(), states).file);
        auto again = aggregation::ClientStates::create(12, 3);
        read_client_states(read, again);
        CHECK(again.keepers() == std::vector<std::uint64_t>{2, 11});
        for (const std::uint64_t client : again.keepers())
            CHECK(std::ranges::equal(again.of(client).host(), states.of(client).host()));
    }

    TEST_CASE("WhatClientsOfAnotherModelOrOfMoreClientsKeepIsNamed") {
        const Written written(some_checkpoint(), some_states());
        const CheckpointFile read = read_checkpoint(written.file);
        const auto refused = [](const CheckpointFile& file, std::uint64_t clients, std::uint64_t floats,
                                const std::string& text) {
            auto states = aggregation::ClientStates::create(clients, floats);
            CHECK_THROWS_WITH_AS(read_client_states(file, states), (file.path.string() + ": " + text).c_str(), ConfigError);
        };
        refused(read, 12, 4,
                "'client.2' of type F32 and shape [3] does not fit a run with 12 clients that store 4 floats each");
        refused(read, 11, 3,
                "'client.11' of type F32 and shape [3] does not fit a run with 11 clients that store 3 floats each");
        for (const auto& [from, to, text] :
             {std::tuple{"client.11", "client.1x", "'client.1x' of type F32 and shape [3]"},
              {R"("client.2":{"dtype":"F32")", R"("client.2":{"dtype":"I32")", "'client.2' of type I32 and shape [3]"}}) {
            std::ofstream(written.file, std::ios::binary | std::ios::trunc) << with_hash_for(written.content, from, to);
            refused(read_checkpoint(written.file), 12, 3,
                    std::string(text) + " does not fit a run with 12 clients that store 3 floats each");
        }
    }

    TEST_CASE("LostClientIsNotOneThatHasKeptNothing") {
        const Written written(some_checkpoint(), some_states());
        CHECK(written.damage(with_hash_for(written.content, "client.11", "cliemt.11")) ==
              written.file.string() +
                  ": has the state of 1 clients, but says 2; tensors 'client.<id>' are missing or too many");
        CHECK(written.damage(with_hash_for(written.content, R"("keepers":"2")", R"("keepers":"1")"))
                  .ends_with(": has the state of 2 clients, but says 1; tensors 'client.<id>' are missing or too many"));
        // A file without the number of keepers is older than that number.
        CHECK(written.damage(with_hash_for(written.content, R"("keepers":)", R"("kepeers":)")).empty());
        CHECK(!written.damage(with_hash_for(written.content, R"("keepers":"2")", R"("keepers":"x")")).empty());
    }

    TEST_CASE("DifferencesNameWhatWasAndWhatIs") {
        const BitsEnvironment then{"2.10.0", "AVX2", "cpu", ""};
        CHECK(differences(then, then).empty());
        const auto found = differences(then, {"2.11.0", "AVX512", "cuda", "sm_90 under driver 13000", "direct"});
        REQUIRE(found.size() == 5);
        CHECK(found[0] == "LibTorch 2.10.0 then, 2.11.0 now");
        CHECK(found[1] == "CPU capability AVX2 then, AVX512 now");
        CHECK(found[2] == "device cpu then, cuda now");
        CHECK(found[3] == "GPU none then, sm_90 under driver 13000 now");
        CHECK(found[4] == "engine libtorch then, direct now");
        // LibTorch matters where it trained, or would.
        CHECK(differences({"none", "AVX2", "cpu", "", "direct"}, {"2.11.0", "AVX2", "cpu", "", "direct"}).empty());
        CHECK(differences(then, {"2.11.0", "AVX2", "cpu", ""}) == std::vector<std::string>{"LibTorch 2.10.0 then, 2.11.0 now"});
        // The vendor is compared only if both give one.
        const auto made_by = [&](const char* vendor) {
            BitsEnvironment of = then;
            of.cpu_vendor = vendor;
            return of;
        };
        CHECK(differences(made_by("GenuineIntel"), made_by("AuthenticAMD")) ==
              std::vector<std::string>{"processor's maker GenuineIntel then, AuthenticAMD now"});
        CHECK(differences(made_by(""), made_by("AuthenticAMD")).empty());
        CHECK(differences(made_by("AuthenticAMD"), made_by("AuthenticAMD")).empty());
        // Files without a model form are older: their graphs ran as graphs.
        const auto as = [&](const char* form) {
            BitsEnvironment of = then;
            of.model_form = form;
            return of;
        };
        for (const char* before : {"", "graph"})
            CHECK(differences(as(before), as("layers")) == std::vector<std::string>{"model.file as graph then, layers now"});
        CHECK(differences(as(""), as("graph")).empty());
        CHECK(differences(as("layers"), as("layers")).empty());
    }
}
