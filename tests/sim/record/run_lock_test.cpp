#include "sim/record/run_lock.h"

#include "aggregation/base/error.h"
#include "sim/record/append_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::string read_text(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

}  // namespace

TEST_SUITE("RunLock") {
    TEST_CASE("SecondIsRefusedAndTheHolderNamed") {
        const testing::TemporaryFolder folder;
        const RunLock lock(folder.path());
        const std::string holder = "a run is going on in it; wait for its end (process " + std::to_string(getpid()) + ")";
        CHECK_THROWS_WITH_AS(RunLock(folder.path()), doctest::Contains(holder.c_str()), ConfigError);
        CHECK_THROWS_WITH_AS(RunLock(folder.path()), doctest::Contains(folder.path().c_str()), ConfigError);
    }

    TEST_CASE("EndRemovesTheFileAndFreesTheFolder") {
        const testing::TemporaryFolder folder;
        { const RunLock lock(folder.path()); }
        CHECK(std::filesystem::is_empty(folder.path()));
        RunLock first(folder.path());
        const RunLock moved(std::move(first));
        CHECK_THROWS_AS(RunLock(folder.path()), ConfigError);
    }

    TEST_CASE("FileOfAKilledProcessIsNoLock") {
        const testing::TemporaryFolder folder;
        const pid_t child = fork();
        if (child == 0) {
            const RunLock lock(folder.path());
            raise(SIGKILL);
        }
        waitpid(child, nullptr, 0);
        CHECK(read_text(folder.path() / RunLock::kName) == std::to_string(child) + "\n");
        const RunLock lock(folder.path());
        CHECK(read_text(folder.path() / RunLock::kName) == std::to_string(getpid()) + "\n");
    }

    TEST_CASE("FolderThatCannotBeWrittenIsNamed") {
        CHECK_THROWS_WITH_AS(RunLock("/nowhere/at/all"), doctest::Contains("/nowhere/at/all: cannot be written"), ConfigError);
    }

    // The file is removed at every end: whoever opened it before that may lock what nobody else will see.
    TEST_CASE("NeverTwoHoldersWhileManyComeAndGo") {
        const testing::TemporaryFolder folder;
        std::atomic<int> inside{0};
        std::atomic<int> most{0};
        std::atomic<int> times{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int k = 0; k < 2000; ++k) {
                    try {
                        const RunLock lock(folder.path());
                        const int now = ++inside;
                        if (now > most) most = now;
                        ++times;
                        std::this_thread::sleep_for(std::chrono::microseconds(50));
                        --inside;
                    } catch (const ConfigError&) {
                        continue;  // another has it
                    }
                }
            });
        for (std::thread& thread : threads) thread.join();
        CHECK(times > 0);
        CHECK(most == 1);
    }
}

TEST_SUITE("AppendFile") {
    TEST_CASE("GrowsIsCutAndGrowsAgain") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path path = folder.path() / "t.csv";
        {
            AppendFile file(path);
            file.append("a,b\n");
            file.append("1,2\n3,4\n");
            CHECK(file.size() == 12);
        }
        AppendFile file(path);
        CHECK(file.size() == 12);
        file.cut(8);
        file.append("5,6\n");
        file.sync();
        CHECK(file.size() == 12);
        CHECK(read_text(path) == "a,b\n1,2\n5,6\n");
    }

    TEST_CASE("FailureNamesFileAndReasonAndLeavesWholeLines") {
        const testing::TemporaryFolder folder;
        CHECK_THROWS_WITH_AS(AppendFile(folder.path() / "no" / "t.csv"), doctest::Contains("No such file"), Fault);
        // A limit on the size of files makes the kernel write the part that fits, as a full disk does.
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGXFSZ, SIG_IGN);
            AppendFile file(folder.path() / "t.csv");
            file.append("12345678\n");
            const rlimit limit{12, 12};
            setrlimit(RLIMIT_FSIZE, &limit);
            try {
                file.append("abcdefgh\n");
            } catch (const Fault& fault) {
                const bool named = std::string(fault.what()).find("t.csv: File too large") != std::string::npos;
                _exit(named && file.size() == 9 ? 0 : 2);
            }
            _exit(1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
        CHECK(read_text(folder.path() / "t.csv") == "12345678\n");
    }
}
