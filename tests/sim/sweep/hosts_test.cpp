#include "sim/sweep/hosts.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "clients/protocol/watcher.h"
#include "sim/sweep/sweep_record.h"
#include "tests/support/eventually.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <stop_token>
#include <thread>

using namespace fedhive;
using namespace fedhive::testing;
namespace fs = std::filesystem;

namespace {

/// The folder of a sweep whose runs execute a script, which logs its arguments.
class ScriptedRuns {
public:
    explicit ScriptedRuns(const std::string& script) {
        for (const char* name : {"configs", "runs", "logs"}) fs::create_directories(folder() / name);
        std::ofstream(folder() / sim::kSweepFile) << "{}";
        std::ofstream(program()) << "#!/bin/sh\n" << script << "\n";
        fs::permissions(program(), fs::perms::owner_all);
    }
    fs::path folder() const { return folder_.path(); }
    fs::path program() const { return folder() / "program"; }
    sim::Host host() const {
        return sim::Host({program(), [] { return std::optional<std::uint64_t>(77); }});
    }
    sim::RunOrder order(const std::string& id) const { return {folder(), id, "hash", 2, {}}; }
    std::string log(const std::string& id) const { return read_file_or_nothing(sim::log_path(folder(), id)); }

private:
    TemporaryFolder folder_;
};

/// How each of `num_runs` runs ended, by run; waits until all have.
std::map<std::size_t, sim::RunEnd> ends_of(sim::Hosts& hosts, std::size_t num_runs) {
    std::map<std::size_t, sim::RunEnd> ends;
    CHECK(eventually(20.0, [&] {
        hosts.wait();
        hosts.look();
        for (const sim::HostNews& host : hosts.news())
            for (const sim::RunNews& run : host.runs)
                if (run.end) ends[run.run] = *run.end;
        return ends.size() == num_runs;
    }));
    return ends;
}

/// Runs `schedule` at rank 0 and its orders at the others; returns each rank's result or error message.
std::vector<std::string> in_hosts(std::uint32_t num_ranks, const ScriptedRuns& runs,
                                  const std::function<int(sim::Hosts& hosts)>& schedule) {
    std::vector<std::string> ended(num_ranks);
    in_ranks(num_ranks, [&](sim::Ranks& ranks) {
        try {
            sim::Host own = runs.host();
            int code = 0;
            if (ranks.writes()) {
                sim::Hosts hosts(ranks, own);
                code = schedule(hosts);
                hosts.leave(code);
            } else {
                code = sim::serve_sweep(ranks, own);
            }
            ended[ranks.rank()] = std::to_string(code);
        } catch (const std::exception& error) {
            ranks.announce();
            ended[ranks.rank()] = error.what();
        }
    });
    return ended;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_SUITE("Hosts") {
    TEST_CASE("RunsStartWhereTheyAreOrdered") {
        clients::block_interrupts();
        const ScriptedRuns runs("echo $OMPI_COMM_WORLD_SIZE $@; test $3 = --out; exit 3");
        setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
        const Texts ended = in_hosts(3, runs, [&](sim::Hosts& hosts) {
            REQUIRE(hosts.size() == 3);
            CHECK(hosts.cores() == 3 * hosts.news()[0].cores);
            CHECK(hosts.news()[2].device_bytes == 77);
            CHECK(hosts.name(1).find("rank 1 (host ") == 0);
            hosts.check_folder(runs.folder());
            for (std::size_t host = 0; host < 3; ++host) hosts.start(host, 10 + host, runs.order(fmt::format("run-{}", host)));
            for (const auto& [run, end] : ends_of(hosts, 3)) {
                CHECK_FALSE(end.signalled);
                CHECK(end.exit_status == 3);
                CHECK_FALSE(end.remains.begun);
                const std::string id = fmt::format("run-{}", run - 10);
                // The run is not a rank itself, although a rank started it.
                CHECK(end.reason == fmt::format("run {} --out {} --quiet --set workers=2",
                                                sim::config_path(runs.folder(), id).string(),
                                                sim::run_path(runs.folder(), id).string())
                                        .substr(0, 200));
                CHECK(runs.log(id).find(end.reason) == 0);
            }
            return 7;
        });
        unsetenv("OMPI_COMM_WORLD_SIZE");
        for (const std::string& one : ended) CHECK(one == "7");
    }

    TEST_CASE("HasteReachesAllRuns") {
        clients::block_interrupts();
        const ScriptedRuns runs("trap 'echo told; exit 130' INT; echo here; while :; do sleep 0.01; done");
        const Texts ended = in_hosts(2, runs, [&](sim::Hosts& hosts) {
            const auto both_say = [&](const char* word) {
                return eventually(20.0, [&] {
                    hosts.look();
                    return runs.log("a").find(word) != std::string::npos && runs.log("b").find(word) != std::string::npos;
                });
            };
            hosts.start(0, 0, runs.order("a"));
            hosts.start(1, 1, runs.order("b"));
            CHECK(both_say("here"));
            hosts.end_runs(sim::Haste::Interrupt);
            for (const auto& [run, end] : ends_of(hosts, 2)) {
                CHECK(end.exit_status == 130);
                CHECK(end.reason == "told");
            }
            return 130;
        });
        for (const std::string& one : ended) CHECK(one == "130");
    }

    TEST_CASE("KillWaitsForNothing") {
        clients::block_interrupts();
        const ScriptedRuns runs("trap '' INT; while :; do sleep 0.01; done");
        in_hosts(2, runs, [&](sim::Hosts& hosts) {
            hosts.start(1, 1, runs.order("b"));
            hosts.look();
            hosts.end_runs(sim::Haste::Kill);
            const sim::RunEnd end = ends_of(hosts, 1)[1];
            CHECK(end.signalled);
            CHECK(end.reason == "killed by SIGKILL");
            return 0;
        });
    }

    TEST_CASE("FolderThatIsNotSeenIsRefusedEverywhere") {
        clients::block_interrupts();
        const ScriptedRuns runs("exit 0");
        const Texts ended = in_hosts(2, runs, [&](sim::Hosts& hosts) {
            // Rank 0 reads other contents than rank 1, as if each host had its own folder of that name.
            std::jthread changes([&](const std::stop_token& over) {
                for (int i = 0; !over.stop_requested(); ++i) {
                    std::ofstream(runs.folder() / "other") << i;
                    fs::rename(runs.folder() / "other", runs.folder() / sim::kSweepFile);
                }
            });
            for (int i = 0; i < 1000; ++i) hosts.check_folder(runs.folder());
            return 0;
        });
        for (const std::string& message : ended) {
            CHECK_MESSAGE(message.find("not visible on rank 1 (host ") != std::string::npos, message);
            CHECK_MESSAGE_IS("sweep", "", message);
        }
    }

    TEST_CASE("RankThatCannotStartARunEndsAll") {
        clients::block_interrupts();
        const ScriptedRuns runs("exit 0");
        const Texts ended = in_hosts(2, runs, [&](sim::Hosts& hosts) {
            fs::remove(runs.program());
            hosts.start(1, 0, runs.order("a"));
            for (int i = 0; i < 5; ++i) hosts.look();
            return 0;
        });
        CHECK_MESSAGE(ended[0].find("rank 1 (host ") == 0, ended[0]);
        CHECK(ended[0].find("cannot start ") != std::string::npos);
        CHECK(ended[1].find("cannot start ") == 0);
    }
}
