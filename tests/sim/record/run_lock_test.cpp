#include "sim/record/run_lock.h"

#include "aggregation/base/error.h"
#include "sim/record/append_file.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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
        const std::string holder =
            "another run is using this folder; wait for its end (process " + std::to_string(getpid()) + ")";
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

    // The kernel releases a killed process's memory before its locks: users see it dead while the next run
    // cannot have the lock yet.
    TEST_CASE("OfAProcessThatIsStillDyingIsWaitedFor") {
        const testing::TemporaryFolder folder;
        std::array<int, 2> ready{};
        REQUIRE(pipe(ready.data()) == 0);
        const pid_t child = fork();
        if (child == 0) {
            const RunLock lock(folder.path());
            const std::vector<char> memory(std::size_t{512} << 20, 'x');
            [[maybe_unused]] const auto told = write(ready[1], memory.data(), 1);
            for (;;) pause();
        }
        char told = 0;
        CHECK(read(ready[0], &told, 1) == 1);
        kill(child, SIGKILL);
        { const RunLock lock(folder.path()); }
        waitpid(child, nullptr, 0);
        close(ready[0]);
        close(ready[1]);
    }

    TEST_CASE("FolderThatCannotBeWrittenIsNamed") {
        CHECK_THROWS_WITH_AS(RunLock("/nowhere/at/all"), doctest::Contains("/nowhere/at/all: cannot be written"), ConfigError);
    }

    TEST_CASE("FileOfSomebodyElseIsLeftAlone") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path other = folder.path() / "other";
        const std::filesystem::path run = folder.path() / "run";
        const std::filesystem::path lock = run / RunLock::kName;
        std::filesystem::create_directory(run);
        const auto refused = [&](const char* problem) {
            CHECK_THROWS_WITH_AS(RunLock{run}, doctest::Contains(problem), ConfigError);
            CHECK(std::filesystem::exists(std::filesystem::symlink_status(lock)));
            std::filesystem::remove(lock);
        };
        std::ofstream(other) << "12";
        std::filesystem::create_symlink(other, lock);
        refused("it is a symbolic link; remove it");
        std::filesystem::create_hard_link(other, lock);
        refused("was not made by fedhive");
        CHECK(read_text(other) == "12");
        std::ofstream(lock) << "held by another program";
        refused("was not made by fedhive");
        REQUIRE(mkfifo(lock.c_str(), 0600) == 0);
        refused("it is not a regular file");
        const RunLock ours(run);
    }

    // The lock file is removed at each release: a process that opened it before may lock a file that no other process can see.
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
                        continue;  // another process has it
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

    TEST_CASE("CutRemovedOrReplacedByOthersIsNoticed") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path path = folder.path() / "t.csv";
        AppendFile file(path);
        file.append("a,b\n1,2\n");
        CHECK_NOTHROW(file.sync());
        const auto noticed = [&](const char* how) {
            CHECK_THROWS_WITH_AS(file.expect_whole(), doctest::Contains((path.string() + ": was " + how).c_str()), Fault);
            CHECK_THROWS_AS(file.sync(), Fault);
        };
        std::filesystem::resize_file(path, 4);
        noticed("changed while the run wrote it: it has 4 bytes, but the run wrote 8");
        std::ofstream(path) << "a,b\n1,2\n3,4\n";
        noticed("changed while the run wrote it: it has 12 bytes, but the run wrote 8");
        std::filesystem::rename(path, folder.path() / "aside");
        noticed("removed while the run wrote it");
        std::ofstream(path) << "a,b\n1,2\n";
        noticed("replaced by another file");
    }

    TEST_CASE("SumIsThatOfTheBytes") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path path = folder.path() / "t.csv";
        {
            AppendFile file(path);
            CHECK(file.crc() == 0);
            file.append("1234");
            file.append("56789");
            CHECK(file.crc() == 0xCBF43926);  // the check value of CRC-32
            CHECK(crc_of(path, 9) == 0xCBF43926);
            CHECK(crc_of(path, 100) == 0xCBF43926);
            file.append("0");
        }
        AppendFile again(path);
        again.cut(4);
        CHECK(again.crc() == crc_of(path, 4));
        again.append("56789");
        CHECK(again.crc() == 0xCBF43926);
    }

    TEST_CASE("LinkIsNotFollowed") {
        const testing::TemporaryFolder folder;
        std::ofstream(folder.path() / "other") << "x";
        std::filesystem::create_symlink(folder.path() / "other", folder.path() / "t.csv");
        CHECK_THROWN_MESSAGE("record", "t.csv:", Fault, AppendFile(folder.path() / "t.csv"));
    }

    TEST_CASE("FailureNamesFileAndReasonAndLeavesWholeLines") {
        const testing::TemporaryFolder folder;
        CHECK_THROWS_WITH_AS(AppendFile(folder.path() / "no" / "t.csv"), doctest::Contains("No such file"), Fault);
        // A limit on file sizes makes the kernel write the part that fits, as on a full disk.
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
