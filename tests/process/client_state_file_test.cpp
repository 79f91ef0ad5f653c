// Client states in a file on the run's disk: the same bits as in memory, also after failures, and no file
// left when the run is over.
#include "aggregation/memory/unnamed_file.h"
#include "tests/process/finished_run.h"
#include "tests/process/remains.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kInFile{"client_state=file"};

bool no_disk() { return aggregation::lies_in_memory(std::filesystem::temp_directory_path()); }

/// Inodes of the unnamed files below a folder that a process has open.
std::set<std::string> unnamed_files_of(pid_t pid, const std::filesystem::path& folder) {
    std::set<std::string> inodes;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), none)) {
        const std::string name = std::filesystem::read_symlink(entry.path(), none).string();
        struct stat file {};
        if (name.starts_with(folder.string()) && name.ends_with(" (deleted)") && stat(entry.path().c_str(), &file) == 0)
            inodes.insert(std::to_string(file.st_ino));
    }
    return inodes;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

}  // namespace

TEST_SUITE("ClientStateFile") {
    TEST_CASE("BitsAreThoseOfMemoryForAnyNumberOfWorkersAndWhateverGoesWrong") {
        if (no_disk()) FEDHIVE_SKIP("temporary files lie in memory");
        const Options scaffold{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}", "training.cohort=5",
                               "rounds=5"};
        const Options feedback{"upload=[{name: error_feedback}, {name: top_k, kept: 0.05}]", "rounds=5"};
        for (const Options& keeping : {scaffold, feedback}) {
            CAPTURE(keeping[0]);
            const std::string in_memory = sha_with(keeping);
            for (const char* workers : {"workers=0", "workers=1", "workers=2", "workers=3"})
                CHECK_MESSAGE(sha_with(keeping + kInFile + Options{workers}) == in_memory, workers);
            CHECK(sha_with(keeping + kInFile +
                           Options{"faults=[{kind: kill, rate: 0.2}]", "failures={policy: retry, attempts: 9}"}) == in_memory);
            const Options dropping{"faults=[{kind: drop, rate: 0.2}, {kind: throw, round: 2, rate: 0.5}]",
                                   "failures={policy: drop}"};
            const std::string dropped = sha_with(keeping + dropping);
            CHECK(dropped != in_memory);
            CHECK(sha_with(keeping + dropping + kInFile) == dropped);
        }
    }

    TEST_CASE("RunIsTakenUpFromMemoryInAFileAndTheOtherWayRound") {
        if (no_disk()) FEDHIVE_SKIP("temporary files lie in memory");
        const Options scaffold{"strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}", "training.cohort=5"};
        const std::string whole = sha_with(scaffold + Options{"rounds=5"});
        for (const auto& [before, after] : {std::pair{"memory", "file"}, {"file", "memory"}, {"file", "file"}}) {
            Finished run(set(scaffold + Options{std::string("client_state=") + before}));
            CHECK(run.said(" in a file · ") == (std::string(before) == "file"));
            REQUIRE_MESSAGE(run.resume(set({"rounds=5", std::string("client_state=") + after})) == "exited with status 0",
                            run.output());
            CHECK(run.said(" in a file · ") == (std::string(after) == "file"));
            CHECK(run.manifest()["model_sha256"] == whole);
            const auto last = read_csv(run.out() / "clients.csv").back();
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "5", "--client", last.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            CHECK(names_in(run.folder()) == std::set<std::string>{"out", "output", "test.yaml"});
        }
    }

    TEST_CASE("NothingIsLeftOfItWhenTheCoordinatorIsKilled") {
        if (no_disk()) FEDHIVE_SKIP("temporary files lie in memory");
        FedhiveRun run(small_config(), set(kInFile + Options{"strategy={name: scaffold}", "rounds=100000",
                                                             "training.optimizer={name: sgd, lr: 0.05}"}));
        const AtWork before = at_work(run, 2);
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 3; }));
        const std::set<std::string> files = unnamed_files_of(run.pid(), run.folder());
        CHECK(files.size() == 1);
        for (const pid_t worker : before.workers) CHECK(unnamed_files_of(worker, run.folder()) == files);
        CHECK(names_in(run.folder()) == std::set<std::string>{"out", "output", "test.yaml"});
        kill(run.pid(), SIGKILL);
        check_nothing_left(before);
        CHECK(names_in(run.folder()) == std::set<std::string>{"out", "output", "test.yaml"});
        for (const std::string& name : names_in(run.out())) CHECK_MESSAGE(name.find("states") == std::string::npos, name);
    }

    TEST_CASE("FileThatCannotBeMadeIsToldBeforeRoundOne") {
        if (no_disk()) FEDHIVE_SKIP("temporary files lie in memory");
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        const std::string command = fmt::format(
            "trap '' XFSZ; ulimit -f 1000; exec {} run {} --out {} --set client_state=file --set 'strategy={{name: scaffold}}' "
            "--set 'training.optimizer={{name: sgd, lr: 0.05}}' --set data.num_train=2000 --set 'data.partition={{scheme: iid, "
            "clients: 400}}'",
            fedhive_program(), (run.folder() / "test.yaml").string(), run.out().string());
        run.start({"-c", command}, {}, "/bin/bash");
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("client_state: a file of ") != std::string::npos, run.output());
        CHECK_MESSAGE(run.output().find(" in " + run.folder().string() + " cannot be made, ") != std::string::npos,
                      run.output());
        CHECK_MESSAGE(run.output().find("put the run's folder elsewhere with --out") != std::string::npos, run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }
}
