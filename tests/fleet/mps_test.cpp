// Life cycle of an MPS daemon, with a stand-in for NVIDIA's control program: it requires its folders, starts
// once, and quits on command.
#include "sim/workers/mps.h"

#include "aggregation/memory/host_arena.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "sim/plan/experiment.h"
#include "tests/fleet/toy_trainer.h"
#include "tests/process/run_process.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

using namespace fedhive;
using namespace fedhive::sim;
using fedhive::testing::alive;
using fedhive::testing::children_of;
using fedhive::testing::eventually;
using fedhive::testing::read_lines;
using fedhive::testing::read_text;

namespace {

constexpr const char* kStandIn = R"sh(#!/bin/sh
pipe=$CUDA_MPS_PIPE_DIRECTORY
[ -d "$pipe" ] && [ -d "$CUDA_MPS_LOG_DIRECTORY" ] || { echo "has no folders"; exit 1; }
if [ "$1" = -d ]; then
    [ "$STAND_IN" = broken ] && { echo "an instance may not be started here"; exit 3; }
    [ -e "$pipe/pid" ] && { echo "is running already"; exit 1; }
    setsid sh -c 'while :; do sleep 0.05; done' > /dev/null 2>&1 < /dev/null &
    echo $! > "$pipe/pid"
    echo start >> "$STAND_IN_JOURNAL"
    exit 0
fi
[ $# = 0 ] && read -r command && [ "$command" = quit ] || { echo misuse >> "$STAND_IN_JOURNAL"; exit 1; }
kill -KILL "$(cat "$pipe/pid")" && rm "$pipe/pid" && echo quit >> "$STAND_IN_JOURNAL"
)sh";

/// Puts the stand-in first on PATH, and the daemons' folders into a temporary folder.
struct StandIn {
    explicit StandIn(const char* how = "") : path(std::getenv("PATH")) {
        const std::filesystem::path program = folder.path() / "nvidia-cuda-mps-control";
        std::ofstream(program) << kStandIn;
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
        setenv("TMPDIR", folder.path().c_str(), 1);
        setenv("STAND_IN", how, 1);
        setenv("STAND_IN_JOURNAL", (folder.path() / "journal").c_str(), 1);
    }
    ~StandIn() {
        setenv("PATH", path.c_str(), 1);
        unsetenv("TMPDIR");
    }

    std::vector<std::string> journal() const { return read_lines(folder.path() / "journal"); }
    std::size_t daemons() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path())) count += entry.is_directory() ? 1 : 0;
        return count;
    }

    testing::TemporaryFolder folder;
    std::string path;
};

pid_t pid_of(const std::filesystem::path& daemon) { return static_cast<pid_t>(std::stol(read_text(daemon / "pipe" / "pid"))); }

/// A process that owns a daemon, and may be killed by the test.
struct Owner {
    explicit Owner(const StandIn& stand_in) {
        const std::filesystem::path file = stand_in.folder.path() / "where";
        clients::SpawnOptions spawn;
        spawn.arguments = {"mps-owner", file.string()};
        process = std::make_unique<clients::ChildProcess>(spawn);
        REQUIRE(eventually(20.0, [&] { return std::filesystem::exists(file); }));
        daemon = read_text(file);
        pid = pid_of(daemon);
    }
    std::unique_ptr<clients::ChildProcess> process;
    std::filesystem::path daemon;
    pid_t pid = 0;
};

}  // namespace

TEST_SUITE("Mps") {
    TEST_CASE("WithoutAGpuOrAControlProgramThereIsNone") {
        CHECK_MESSAGE_IS("machine", "cpu", why_no_mps(false));
        const StandIn stand_in;
        CHECK(why_no_mps(true).empty());
        setenv("PATH", "/nowhere:", 1);
        CHECK_MESSAGE_IS("machine", "no control program", why_no_mps(true));
    }

    TEST_CASE("DaemonLivesAsLongAsItsOwnerInAFolderOfItsOwn") {
        const StandIn stand_in;
        pid_t pid = 0;
        {
            const MpsDaemon daemon;
            pid = pid_of(daemon.folder());
            CHECK(alive(pid));
            struct stat status {};
            REQUIRE(stat(daemon.folder().c_str(), &status) == 0);
            CHECK((status.st_mode & 07777) == 0700);
            CHECK(daemon.environment()[0] ==
                  std::pair<std::string, std::string>("CUDA_MPS_PIPE_DIRECTORY", (daemon.folder() / "pipe").string()));
            CHECK(daemon.environment()[1].first == "CUDA_MPS_LOG_DIRECTORY");
        }
        CHECK(eventually(60.0, [&] { return !alive(pid); }));  // it was told to quit, and does so with some delay
        CHECK(stand_in.daemons() == 0);
        CHECK(stand_in.journal() == std::vector<std::string>{"start", "quit"});
    }

    TEST_CASE("DaemonThatCannotStartIsToldInItsOwnWords") {
        const StandIn stand_in("broken");
        CHECK_THROWS_WITH_AS(MpsDaemon(), doctest::Contains("an instance may not be started here"), MpsFault);
        CHECK(eventually(60.0, [&] { return stand_in.daemons() == 0; }));
        CHECK(stand_in.journal().empty());
    }

    TEST_CASE("OwnerThatIsKilledTakesItsDaemonAlong") {
        const StandIn stand_in;
        const Owner owner(stand_in);
        CHECK(alive(owner.pid));
        owner.process->kill();
        CHECK(eventually(20.0, [&] { return !alive(owner.pid) && stand_in.daemons() == 0; }));
        CHECK(stand_in.journal() == std::vector<std::string>{"start", "quit"});
    }

    TEST_CASE("NextDaemonEndsWhatAKilledKeeperLeftAndNobodyElses") {
        const StandIn stand_in;
        const MpsDaemon living;
        const Owner owner(stand_in);
        const std::vector<pid_t> keepers = children_of(owner.process->pid());
        REQUIRE(keepers.size() == 1);
        ::kill(keepers[0], SIGKILL);
        REQUIRE(eventually(20.0, [&] { return !alive(keepers[0]); }));
        owner.process->kill();
        REQUIRE(owner.process->wait_for(10.0));
        CHECK(alive(owner.pid));
        CHECK(stand_in.daemons() == 2);
        {
            const MpsDaemon next;
            CHECK(eventually(20.0, [&] { return !alive(owner.pid); }));  // until it is reaped
            CHECK_FALSE(std::filesystem::exists(owner.daemon));
            CHECK(alive(pid_of(living.folder())));
        }
        CHECK(alive(pid_of(living.folder())));
    }

    TEST_CASE("WorkersAreItsClientsAndTheCoordinatorIsNot") {
        const StandIn stand_in;
        const MpsDaemon daemon;
        unsetenv("TOY_FAULT");
        const auto dataset = clients::SharedDataset::create(clients::draw_synthetic({20, 10, 2, 4, 1.0}, 1),
                                                            clients::partition_contiguous(20, 2));
        const aggregation::HostArena arena({64, 2});
        FleetOptions options;
        options.workers = 2;
        options.worker_environment = daemon.environment();
        clients::WorkerPlan plan;
        plan.arena = arena.geometry();
        plan.arena_descriptor = arena.descriptor();
        plan.data_descriptor = dataset.descriptor();
        plan.data = dataset.map();
        const std::vector<pid_t> before = children_of(getpid());
        Fleet fleet(options, plan, arena, dataset, testing::make_toy_trainer);
        fleet.empty_round(1);
        std::size_t clients = 0;
        for (const pid_t child : children_of(getpid())) {
            if (std::find(before.begin(), before.end(), child) != before.end()) continue;
            const std::string variables = read_text(fmt::format("/proc/{}/environ", child));
            if (variables.find("CUDA_MPS_PIPE_DIRECTORY=" + daemon.environment()[0].second) != std::string::npos) ++clients;
            CHECK(variables.find("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == std::string::npos);
        }
        CHECK(clients == 2);
        CHECK(std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr);
    }
}
