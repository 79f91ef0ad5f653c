#include "sim/run/run_files.h"
#include "sim/config/load_config.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/host_arena.h"
#include "sim/record/durable_file.h"
#include "sim/record/run_record.h"
#include "sim/record/table_cells.h"
#include "sim/run/partition_table.h"
#include "sim/run/resume.h"
#include "sim/run/run_folder.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

namespace fs = std::filesystem;

struct Folder : testing::TemporaryFolder {
    fs::path run = path() / "run";

    Folder() { fs::create_directory(run); }

    void put(const fs::path& name, const std::string& text = "x") const {
        fs::create_directories((run / name).parent_path());
        std::ofstream(run / name, std::ios::binary) << text;
    }
    std::string text(const fs::path& name) const {
        std::ifstream stream(run / name, std::ios::binary);
        std::ostringstream content;
        content << stream.rdbuf();
        return content.str();
    }
    std::size_t count() const {
        std::size_t files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(run)) files += entry.is_regular_file() ? 1 : 0;
        return files;
    }
};

RunConfig some_config() {
    RunConfig run = from_yaml("data: {format: glyphs}\nmodel: {name: lr}\nname: some\n", "some");
    run.device = Device::Cpu;
    return run;
}

const std::string kManifest = R"({"schema": 1, "model_sha256": null})";

}  // namespace

TEST_SUITE("RunFiles") {
    TEST_CASE("PartitionTableIsNeverHuge") {
        CHECK(num_partitioned(13, 5) == 13);
        CHECK(num_partitioned(1'000'000, 10) == 10'000);
        CHECK(num_partitioned(10'000, 62'000) == 161);  // ten million is the limit
        CHECK(num_partitioned(5, 20'000'000) == 1);
    }

    TEST_CASE("WhatAKilledProcessLeftBeforeItsConfigCountsAsEmpty") {
        const Folder folder;
        folder.put(".lock", "123\n");
        folder.put("config.yaml.part", to_yaml(some_config()).substr(0, 40));
        folder.put("checkpoints/round-00000000.safetensors");
        folder.put("checkpoints/round-00000000.safetensors.part");
        fs::create_directory(folder.run / "logs");
        {
            const RunLock lock = claim_new_folder(folder.run, false);
            CHECK(folder.count() == 1);  // only the lock
        }
        CHECK(folder.count() == 0);
    }

    TEST_CASE("AnythingElseIsNotEmpty") {
        for (const char* name : {"config.yaml", "config.yaml.part", "notes.part", "logs/worker-0.log",
                                 "checkpoints/round-00000001.safetensors", "checkpoints/mine"}) {
            const Folder folder;
            folder.put(name);
            CHECK_THROWN_MESSAGE("run", "--out " + folder.run.string(), ConfigError, claim_new_folder(folder.run, false));
            CHECK_THROWN_MESSAGE("run", "--out " + folder.run.string(), ConfigError, claim_new_folder(folder.run, true));
            CHECK(folder.count() == 1);
        }
    }

    TEST_CASE("RunIsToldByItsManifestOrByAConfigAsOnlyARunWritesIt") {
        for (const auto& [name, content, is_run] :
             {std::tuple<std::string, std::string, bool>{"manifest.json", kManifest, true},
              {"manifest.json", "{\"schema\": 1}", false},
              {"config.yaml", to_yaml(some_config()), true},
              {"config.yaml", "# mine\n" + to_yaml(some_config()), false},
              {"config.yaml", "nonsense", false}}) {
            const Folder folder;
            folder.put("config.yaml", to_yaml(some_config()) + "# edited\n");
            folder.put(name, content);
            CAPTURE(content);
            if (is_run)
                CHECK_NOTHROW(check_is_run(folder.run));
            else
                CHECK_THROWN_MESSAGE("run", folder.run.string() + ": ", ConfigError, check_is_run(folder.run));
        }
    }

    TEST_CASE("OverwritingRemovesTheRunsFilesAndNothingElse") {
        const Folder folder;
        for (const char* name :
             {"config.yaml", "rounds.csv", "clients.csv", "events.jsonl", "model.safetensors", "model.safetensors.part",
              "logs/worker-0.log", "checkpoints/round-00000001.safetensors", "checkpoints/round-00000002.safetensors.part"})
            folder.put(name);
        folder.put("manifest.json", kManifest);
        for (const char* name : {"notes.txt", "logs/mine.txt", "checkpoints/best.safetensors"}) folder.put(name);
        const RunLock lock = claim_new_folder(folder.run, true);
        CHECK(folder.count() == 3 + 1);
        CHECK(fs::exists(folder.run / "checkpoints" / "best.safetensors"));
    }

    TEST_CASE("CheckpointsAreFoundByTheirNames") {
        const Folder folder;
        for (const char* name : {"round-00000012.safetensors", "round-00000003.safetensors", "round-123456789.safetensors"})
            folder.put(fs::path("checkpoints") / name);
        for (const char* name :
             {"round-4.safetensors", "round-0000000x.safetensors", "round-00000005.safetensors.part", "best.safetensors"})
            folder.put(fs::path("checkpoints") / name);
        CHECK(checkpoint_rounds(folder.run) == std::vector<std::int64_t>{3, 12, 123456789});
        CHECK(checkpoint_path(folder.run, 12) == folder.run / "checkpoints" / "round-00000012.safetensors");
    }

    TEST_CASE("NewestWholeCheckpointIsFoundAndOthersAreNamed") {
        const Folder folder;
        const aggregation::Layout layout;
        for (const std::int64_t round : {2, 4, 6, 8}) {
            Checkpoint checkpoint;
            checkpoint.round = round;
            folder.put(fs::relative(checkpoint_path(folder.run, round), folder.run),
                       encode_checkpoint(checkpoint, layout, {}).whole());
        }
        std::vector<std::string> damaged;
        CHECK(newest_checkpoint(folder.run, 100, damaged)->checkpoint.round == 8);
        CHECK(newest_checkpoint(folder.run, 7, damaged)->checkpoint.round == 6);
        CHECK(damaged.empty());
        folder.put("checkpoints/round-00000008.safetensors", "");
        folder.put("checkpoints/round-00000006.safetensors", std::string(100, 'x'));
        CHECK(newest_checkpoint(folder.run, 100, damaged)->checkpoint.round == 4);
        REQUIRE(damaged.size() == 2);
        CHECK(damaged[0].find("round-00000008.safetensors: ") != std::string::npos);
        CHECK(damaged[1].find("round-00000006.safetensors: ") != std::string::npos);
        damaged.clear();
        CHECK_FALSE(newest_checkpoint(folder.run, 1, damaged));
        CHECK(damaged.empty());
    }
}

TEST_SUITE("RunFolder") {
    TEST_CASE("GoingBackCutsTablesAndTornEvents") {
        const Folder folder;
        TablePositions at;
        {
            RunFolder run(RunLock(folder.run), some_config(), "");
            run.add_event("started", {{"rounds", 1}});
            at = run.sync_tables();
            CHECK(at.rounds.bytes == folder.text("rounds.csv").size());
        }
        const std::string rounds = folder.text("rounds.csv");
        const std::string events = folder.text("events.jsonl");
        for (const std::string& torn :
             std::vector<std::string>{"", "{\"time\":", "{\"time\":\n", "\n", "{\"a\":1}}\n{\"b", {'\0', '\0', '\n'}}) {
            folder.put("rounds.csv", rounds + "1,1,3");
            folder.put("events.jsonl", events + torn);
            folder.put("model.safetensors");
            folder.put("manifest.json.part");
            folder.put("checkpoints/round-00000009.safetensors.part");
            RunFolder run(RunLock(folder.run), some_config());
            run.go_back_to(at, 1);
            CHECK(folder.text("rounds.csv") == rounds);
            CHECK(folder.text("events.jsonl") == events);
            CHECK_FALSE(fs::exists(folder.run / "model.safetensors"));
            CHECK_FALSE(fs::exists(folder.run / "manifest.json.part"));
            CHECK(fs::is_empty(folder.run / "checkpoints"));
            CHECK(fs::exists(folder.run / "config.yaml"));
        }
        // From the beginning: only the columns' names remain.
        folder.put("rounds.csv", "rou");
        RunFolder run(RunLock(folder.run), some_config());
        run.go_back_to({}, 0);
        CHECK(folder.text("rounds.csv") == rounds);
    }

    TEST_CASE("TableThatBeganWithoutNamesGoesOnWithoutThem") {
        const std::vector<std::string> owners{"north", "Köln, Dom"};
        Arrivals arrived;
        arrived.clients.resize(1);
        arrived.clients[0].client_id = 1;
        arrived.clients[0].failure = clients::FailureKind::Dropped;
        RoundRecord round;
        round.round = 1;
        const aggregation::HostArena arena({16, 1});
        for (const bool named : {false, true}) {
            const Folder folder;
            const TablePositions at =
                RunFolder(RunLock(folder.run), some_config(), "", named ? owners : std::vector<std::string>{}).sync_tables();
            CHECK(folder.text("clients.csv").ends_with(named ? ",update_s,owner\n" : ",update_s\n"));
            RunFolder run(RunLock(folder.run), some_config(), owners);
            run.go_back_to(at, 0);
            run.add_round(round, arrived, ServerState(arena));
            const std::string rows = folder.text("clients.csv");
            CHECK_MESSAGE(rows.ends_with(named ? ",,,\"Köln, Dom\"\n" : ",,,\n"), rows);
            check_tables(folder.run, run.sync_tables(), 1, some_config());
            run.go_back_to({}, 0);
            CHECK(folder.text("clients.csv").ends_with(",update_s,owner\n"));
        }
    }

    TEST_CASE("GoingBackCutsTheTableOfFairnessAndKeepsClientsOfTheRoundsBefore") {
        const Folder folder;
        RunConfig config = some_config();
        config.evaluation.clients.every = 2;
        const aggregation::HostArena arena({16, 1});
        RoundRecord round;
        TablePositions at;
        std::string first;
        {
            RunFolder run(RunLock(folder.run), config, "");
            round.round = 2;
            round.on_clients = ClientsTest{{{3, 4, 0.5, 0.75}}, {}};
            run.add_round(round, {}, ServerState(arena));
            at = run.sync_tables();
            first = folder.text("fairness.csv");
            CHECK(at.fairness.bytes == first.size());
            CHECK(first.find("\n2,global,1,4,0.75,") != std::string::npos);
            round.round = 4;
            run.add_round(round, {}, ServerState(arena));
            CHECK(folder.text("client_accuracy.csv").find("4,global,3,4,0.5,0.75\n") != std::string::npos);
        }
        RunFolder run(RunLock(folder.run), config);
        run.go_back_to(at, 4);
        CHECK(folder.text("fairness.csv") == first);
        CHECK(fs::exists(folder.run / "client_accuracy.csv"));
        run.go_back_to(at, 3);
        CHECK_FALSE(fs::exists(folder.run / "client_accuracy.csv"));
        run.go_back_to({}, 0);
        CHECK(folder.text("fairness.csv") == first.substr(0, first.find('\n') + 1));
    }

    TEST_CASE("EventsTakeAnyText") {
        const Folder folder;
        RunFolder run(RunLock(folder.run), some_config(), "");
        run.add_event("failure", {{"message", "a broken \xff byte, a \"quote\"\nand a line"}});
        const auto line = nlohmann::json::parse(folder.text("events.jsonl"));
        CHECK(line["event"] == "failure");
        CHECK(line["message"].get<std::string>().find("a \"quote\"\nand a line") != std::string::npos);
    }
}

TEST_SUITE("RunRecord") {
    TEST_CASE("RoundsAndClientsAreRead") {
        const Folder folder;
        folder.put("rounds.csv", "round,version\n1,1\n2,1\n3,");
        folder.put("clients.csv",
                   "round,client_id,update_hash,failure,sent_round\n1,0,00000000000000ff,,1\n1,2,,hung,1\n2,1,ffffffffffffffff,"
                   ",1\n3,1,1,,3\n3,2,");
        const auto record = read_record(folder.run);
        REQUIRE(record.size() == 2);
        CHECK(record[1].version == 1);
        REQUIRE(record[0].clients.size() == 2);
        CHECK(record[0].clients[0].update_hash == 255);
        CHECK(record[0].clients[1].client_id == 2);
        CHECK(record[0].clients[1].failure == "hung");
        CHECK(record[1].clients[0].update_hash == ~0ULL);
        CHECK(record[1].clients[0].sent_round == 1);
    }

    TEST_CASE("NamesWithCommasAndQuotesAreCells") {
        const Folder folder;
        folder.put("rounds.csv", "round,version\n1,1\n");
        folder.put(
            "clients.csv",
            "round,client_id,update_hash,failure,sent_round,owner\n1,0,ff,,1,\"Köln, Dom\"\n1,2,,hung,1,\"\"\"a\"\"\"\n");
        REQUIRE(read_record(folder.run)[0].clients.size() == 2);
        CHECK(read_record(folder.run)[0].clients[1].failure == "hung");
        for (const std::string name : {"north", "Köln, Dom", "the \"Charité\"", "\"", "", "a,\"b\",c"}) {
            const std::vector<std::string> cells = cells_of("1," + cell_of(name) + ",2");
            CHECK(cells == std::vector<std::string>{"1", name, "2"});
        }
    }

    TEST_CASE("RowsOfAClientThatWasSentTwiceInARoundAreCounted") {
        const Folder folder;
        folder.put("rounds.csv", "round,version\n1,1\n2,2\n3,3\n");
        folder.put(
            "clients.csv",
            "round,client_id,update_hash,failure,sent_round\n1,4,1,,1\n1,4,,hung,1\n1,5,1,,1\n2,4,1,,1\n2,4,1,,2\n3,4,1,,2\n");
        const auto record = read_record(folder.run);
        CHECK(record[0].clients[0].repeat == 0);
        CHECK(record[0].clients[1].repeat == 1);
        CHECK(record[0].clients[2].repeat == 0);
        CHECK(record[1].clients[0].repeat == 2);
        CHECK(record[1].clients[1].repeat == 0);
        CHECK(record[2].clients[0].repeat == 1);
    }

    TEST_CASE("TablesThatAreNotARunsAreRefusedWithFileAndLine") {
        const auto refused = [](const std::string& rounds, const std::string& clients, const char* place) {
            const Folder folder;
            folder.put("rounds.csv", rounds);
            folder.put("clients.csv", clients);
            CHECK_THROWN_MESSAGE("run", place, ConfigError, read_record(folder.run));
        };
        refused("round,version\n2,1\n", "", "rounds.csv:2: ");
        refused("round\n1\n", "", "rounds.csv:2: ");
        refused("round,version\n1\n", "", "rounds.csv:2: ");
        refused("round,version\n1,one\n", "", "rounds.csv:2: version ");
        const char* columns = "round,client_id,update_hash,failure,sent_round\n";
        refused("round,version\n1,1\n", std::string(columns) + "0,0,0,,1\n", "clients.csv:2: ");
        refused("round,version\n1,1\n", std::string(columns) + "1,0,xyz,,1\n", "clients.csv:2: update_hash ");
        for (const char* sent : {"0", "2"})
            refused("round,version\n1,1\n", std::string(columns) + "1,0,1,," + sent + "\n", "clients.csv:2: sent_round ");
        const Folder folder;
        CHECK_THROWN_MESSAGE("run", "rounds.csv: ", ConfigError, read_record(folder.run));
    }
}
