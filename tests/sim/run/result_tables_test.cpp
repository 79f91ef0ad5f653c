// Result tables: header, rows, documentation and schema come from one list of columns, and a reader finds what was written.
#include "sim/run/result_tables.h"

#include "aggregation/memory/host_arena.h"
#include "sim/run/round_table.h"
#include "sim/screen/run_view.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::string text_of_page(const std::string& name) {
    std::ifstream stream(testing::source_folder() / name);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

struct Measured {
    std::string name;
    double seconds = 0.0;
    std::uint64_t bits = 0;
    std::optional<double> loss;
};

constexpr Column<Measured> kMeasured[]{
    {"name", "word", "of the run", [](const Measured& of) -> std::string_view { return of.name; }},
    {"seconds", "s", "in all", [](const Measured& of) { return Fixed<6>{of.seconds}; }},
    {"bits", "", "", [](const Measured& of) { return Hex{of.bits}; }},
    {"loss", "", "empty if there is none", [](const Measured& of) { return of.loss; }},
};

/// Two accepted clients, one that was dropped and one that was left behind, of a round on the wall clock.
struct RoundForATable {
    RoundForATable() {
        round.round = 3;
        round.origin_ns = round.start_ns - 2'000'000'000;
        round.lap_ns = round.start_ns + 1'500'000'000;
        round.seconds = {0.125, 0.5, 0.25, 0.0625, 0.03125, 0.53125};
        round.test = Metrics{.test_loss = 0.75, .of_task = {{"accuracy", 0.5}}};
        server.version = 9;
        for (std::uint32_t client = 0; client < 4; ++client)
            arrived.clients.push_back(
                {.client_id = 10 + client, .worker = 1, .slot = client, .num_examples = 6, .sent_round = 2});
        for (const std::uint32_t client : {0, 1}) {
            clients::ClientResult& result = arrived.clients[client].result;
            result.steps = 4;
            result.train_loss = 0.25;
            result.update_norm = 1.5;
            result.update_hash = 0xabcU;
            result.seconds = 0.75;
            result.start_ns = round.start_ns;
            result.gather_s = 1e-9;
        }
        arrived.clients[2].failure = clients::FailureKind::Hung;
        arrived.clients[3].failure = clients::FailureKind::LeftBehind;
        arrived.traffic = {.down = 400, .up = 300};
    }
    RoundRecord round;
    Arrivals arrived;
    aggregation::HostArena arena{{32, 1, 2}};
    ServerState server{arena};
};

}  // namespace

TEST_SUITE("ResultTables") {
    TEST_CASE("PagesAreUpToDate") {
        INFO("mend it with: tools/check --fix reference");
        CHECK((text_of_page("results/COLUMNS.md") == columns_markdown()));
        CHECK((text_of_page("scripts/lib/report/columns.json") == columns_json().dump(1) + "\n"));
    }

    TEST_CASE("EachColumnHasANameOfItsOwnAndThoseOfTextSaySo") {
        std::set<std::string> texts;
        for (const TableText& table : result_tables()) {
            std::set<std::string> names;
            for (const ColumnText& column : table.columns) {
                CHECK_MESSAGE(names.insert(column.name).second, column.name);
                if (column.is_text) texts.insert(column.name);
            }
            CHECK_FALSE(table.columns.front().meaning.empty());
        }
        CHECK(texts == std::set<std::string>{"failure", "model", "owner", "update_hash"});
    }

    TEST_CASE("CellsAreWrittenByTheTypeOfTheirValue") {
        Table<Measured> table;
        table.add(kMeasured);
        table.add("half", "", "of the seconds", [](const Measured& of) { return of.seconds / 2; });
        CHECK(table.header() == "name,seconds,bits,loss,half\n");
        RowText rows;
        table.append(rows, {"plain", 1.5, 0xbcd, 0.1});
        table.append(rows, {"a, \"b\"", 0.0, 0, std::nullopt});
        CHECK(text_of(rows) == "plain,1.500000,0000000000000bcd,0.1,0.75\n\"a, \"\"b\"\"\",0.000000,0000000000000000,,0\n");
    }

    TEST_CASE("ReadersFindWhatWasWritten") {
        const testing::TemporaryFolder folder;
        RoundForATable of;
        of.round.virtual_s = 12.5;
        const auto table = rounds_csv(clients::learning_task("classification"));
        RowText rows;
        table.append(rows, {of.round, of.arrived, of.server});
        std::ofstream(folder.path() / "rounds.csv") << table.header() << text_of(rows);
        RunView view(folder.path(), "started_s");
        view.refresh();
        CHECK(view.torn_lines() == 0);
        REQUIRE(view.rows().size() == 1);
        const RoundRow& row = view.rows().front();
        CHECK(row.round == 3);
        CHECK(row.version == 9);
        CHECK(row.cohort == 4);
        CHECK(row.accepted == of.arrived.accepted());
        CHECK(row.failed == 4 - row.accepted - 1);
        CHECK(row.train_loss == of.arrived.train_loss());
        CHECK(row.test_loss == 0.75);
        CHECK(row.quality == 0.5);
        CHECK(row.other == 2.0);
        CHECK(row.wall_s == 1.5);
        CHECK(row.virtual_s == 12.5);
        CHECK(row.bytes_down == 400);
        CHECK(row.bytes_up == 300);
    }

    TEST_CASE("MetricsHaveTheirPlaceByTheTask") {
        const std::string regression = rounds_csv(clients::learning_task("regression")).header();
        CHECK(regression.find(",test_loss,test_mse,test_mae,bytes_down,") != std::string::npos);
        CHECK(regression.ends_with(",virtual_s,started_s\n"));
        CHECK(rounds_csv(clients::learning_task("classification")).header().ends_with(",started_s,test_top5_accuracy\n"));
    }

    TEST_CASE("RowOfAClientThatWasNotAcceptedHasNoResult") {
        const RoundForATable of;
        const auto table = clients_csv(true);
        RowText rows;
        for (const std::uint32_t client : {0, 2, 3})
            table.append(rows, {of.round, of.arrived.clients[client], client == 2 ? "Köln, Dom" : ""});
        CHECK(text_of(rows) ==
              "3,10,1,0,6,4,0.25,1.5,0000000000000abc,0.750000,,3,0,2.000000,0.000000001,0.000000000,\n"
              "3,12,1,2,6,,,,,,hung,3,0,,,,\"Köln, Dom\"\n"
              "3,13,1,3,6,,,,,,left_behind,3,0,,,,\n");
    }

    TEST_CASE("ReportsAreTheLastColumnsOfClients") {
        RoundForATable of;
        of.arrived.clients[0].result.reports = {0.125, 0.5};
        const auto table = clients_csv(true, {{"sent_loss", "", "a"}, {"other", "", "b"}});
        CHECK(table.header().ends_with(",update_s,owner,sent_loss,other\n"));
        RowText rows;
        for (const std::uint32_t client : {0, 2}) table.append(rows, {of.round, of.arrived.clients[client], "me"});
        CHECK(text_of(rows) ==
              "3,10,1,0,6,4,0.25,1.5,0000000000000abc,0.750000,,3,0,2.000000,0.000000001,0.000000000,me,0.125,0.5\n"
              "3,12,1,2,6,,,,,,hung,3,0,,,,me,,\n");
    }
}
