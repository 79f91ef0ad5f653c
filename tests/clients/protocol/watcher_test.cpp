#include "clients/protocol/watcher.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "clients/protocol/process.h"
#include "tests/support/shell.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <semaphore>
#include <sstream>
#include <thread>

using namespace fedhive;
using namespace fedhive::clients;
using namespace std::chrono_literals;
using fedhive::testing::shell;

namespace {

std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

}  // namespace

TEST_SUITE("Watcher") {
    TEST_CASE("DeadlineRingsOnce") {
        std::counting_semaphore<> rung{0};
        const Watcher watcher([&] { rung.release(); });
        const std::int64_t start = now_ns();
        watcher.arm(start + 50'000'000);
        REQUIRE(rung.try_acquire_for(60s));
        CHECK(now_ns() - start >= 50'000'000);
        CHECK_FALSE(rung.try_acquire_for(100ms));
    }

    TEST_CASE("DeathOfAWatchedProcessRings") {
        std::counting_semaphore<> rung{0};
        Watcher watcher([&] { rung.release(); });
        double least_s = 60.0;
        // The minimum counts: a busy machine may be slow once, while polling instead of waiting would be slow each time.
        for (std::size_t worker = 5; worker < 10 && least_s >= 0.1; ++worker) {
            ChildProcess child(shell("sleep 60"));
            watcher.watch(worker, child.pidfd());
            CHECK_FALSE(rung.try_acquire_for(50ms));
            CHECK_FALSE(watcher.dead(worker));
            const std::int64_t start = now_ns();
            child.kill();
            REQUIRE(rung.try_acquire_for(60s));
            least_s = std::min(least_s, seconds_between(start, now_ns()));
            CHECK(watcher.dead(worker));
            watcher.forget(worker);
            REQUIRE(child.wait_for(5.0));
            CHECK(child.end()->signalled);
            CHECK(child.end()->text == "killed by SIGKILL (Killed)");
        }
        CHECK(least_s < 0.1);
    }

    TEST_CASE("InterruptIsRememberedAndRings") {
        block_interrupts();
        std::counting_semaphore<> rung{0};
        const Watcher watcher([&] { rung.release(); });
        CHECK(watcher.interrupt() == 0);
        kill(getpid(), SIGTERM);
        REQUIRE(rung.try_acquire_for(60s));
        CHECK(watcher.interrupt() == SIGTERM);
        CHECK(watcher.must_leave(0.0));
        CHECK_FALSE(watcher.must_leave(60.0));
    }

    TEST_CASE("SecondInterruptLeavesNoGraceAndIsTheLastResortAfterAWhile") {
        block_interrupts();
        std::counting_semaphore<> rung{0};
        std::counting_semaphore<> last{0};
        const Watcher watcher([&] { rung.release(); }, [&] { last.release(); });
        kill(getpid(), SIGINT);
        REQUIRE(rung.try_acquire_for(60s));
        CHECK_FALSE(last.try_acquire_for(2500ms));  // a single one does not wake it
        const std::int64_t start = now_ns();
        kill(getpid(), SIGHUP);
        REQUIRE(rung.try_acquire_for(60s));
        CHECK(watcher.interrupts() == 2);
        CHECK(watcher.interrupt() == SIGINT);
        CHECK(watcher.must_leave(60.0));
        REQUIRE(last.try_acquire_for(60s));
        CHECK(seconds_between(start, now_ns()) >= Watcher::kPatience);
    }

    TEST_CASE("ForgottenProcessDoesNotCountAsDead") {
        std::counting_semaphore<> rung{0};
        Watcher watcher([&] { rung.release(); });
        ChildProcess child(shell("sleep 60"));
        watcher.watch(1, child.pidfd());
        watcher.forget(1);
        child.kill();
        CHECK_FALSE(rung.try_acquire_for(100ms));
        CHECK_FALSE(watcher.dead(1));
    }

    TEST_CASE("SuccessorWithTheDescriptorOfTheDeadIsNotTakenForIt") {
        std::counting_semaphore<> rung{0};
        std::counting_semaphore<> noticed{0};
        std::counting_semaphore<> go_on{0};
        Watcher watcher([&] { rung.release(); }, {},
                        [&] {
                            noticed.release();
                            go_on.acquire();
                        });
        auto first = std::make_unique<ChildProcess>(shell("sleep 60"));
        ChildProcess second(shell("sleep 60"));
        const int number = dup(first->pidfd());
        REQUIRE(number >= 0);
        watcher.watch(3, number);
        REQUIRE(noticed.try_acquire_for(60s));  // the list has changed
        go_on.release();
        first->kill();
        REQUIRE(noticed.try_acquire_for(60s));  // somebody has died; who is noted afterwards
        watcher.forget(3);
        REQUIRE(dup2(second.pidfd(), number) == number);
        watcher.watch(3, number);
        go_on.release();
        REQUIRE(noticed.try_acquire_for(60s));  // the list has changed again
        CHECK_FALSE(watcher.dead(3));
        go_on.release();
        second.kill();
        REQUIRE(noticed.try_acquire_for(60s));
        go_on.release(8);
        REQUIRE(rung.try_acquire_for(60s));
        CHECK(watcher.dead(3));
        watcher.forget(3);
        close(number);
    }

    TEST_CASE("TimeWhileThisProcessIsStoppedIsNotAwakeTime") {
        Watcher watcher([] {});
        const std::int64_t start = now_ns();
        ChildProcess child(shell("sleep 0.3; kill -STOP $PPID; sleep 2; kill -CONT $PPID"));
        REQUIRE(child.wait_for(10.0));
        const double elapsed = seconds_between(start, now_ns());
        const double awake = static_cast<double>(watcher.awake_ns_since(start)) * 1e-9;
        CHECK(elapsed >= 2.3);
        CHECK(awake <= elapsed - 1.9);
        CHECK(awake >= 0.2);
        const std::int64_t after = now_ns();
        std::this_thread::sleep_for(300ms);
        CHECK(watcher.awake_ns_since(after) >= 300'000'000);
    }
}

TEST_SUITE("ChildProcess") {
    TEST_CASE("ExitStatusIsTold") {
        ChildProcess child(shell("exit 3"));
        REQUIRE(child.wait_for(5.0));
        CHECK_FALSE(child.end()->signalled);
        CHECK(child.end()->text == "exited with status 3");
    }

    TEST_CASE("EndTellsStatusAndCpuTime") {
        ChildProcess child(shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"));
        REQUIRE(child.wait_for(30.0));
        CHECK(child.end()->exit_status == 3);
        CHECK_FALSE(child.end()->signalled);
        CHECK(child.end()->cpu_s > 0.01);
        CHECK(child.end()->cpu_s < 30.0);
    }

    TEST_CASE("OwnGroupIsTheChildsOwn") {
        SpawnOptions options = shell("sleep 60");
        CHECK(getpgid(ChildProcess(options).pid()) == getpgid(0));
        options.own_group = true;
        const ChildProcess child(options);
        CHECK(getpgid(child.pid()) == child.pid());
    }

    TEST_CASE("EnvironmentIsChangedAndOutputGoesToTheLog") {
        const fedhive::testing::TemporaryFolder folder;
        setenv("FEDHIVE_TEST_KEPT", "kept", 1);
        setenv("FEDHIVE_TEST_CHANGED", "before", 1);
        SpawnOptions options = shell("echo $FEDHIVE_TEST_KEPT $FEDHIVE_TEST_CHANGED; echo error >&2");
        options.environment = {{"FEDHIVE_TEST_CHANGED", "after"}};
        options.log = folder.path() / "log";
        ChildProcess child(options);
        REQUIRE(child.wait_for(5.0));
        CHECK(content(options.log) == "kept after\nerror\n");
    }

    TEST_CASE("OnlyNamedDescriptorsAreInherited") {
        std::array<int, 2> given{};
        std::array<int, 2> kept{};
        REQUIRE(pipe2(given.data(), O_CLOEXEC) == 0);
        REQUIRE(pipe2(kept.data(), O_CLOEXEC) == 0);
        SpawnOptions options = shell(fmt::format("test -e /proc/self/fd/{} && test ! -e /proc/self/fd/{}", given[0], kept[0]));
        options.inherited = {given[0]};
        ChildProcess child(options);
        REQUIRE(child.wait_for(5.0));
        CHECK(child.end()->text == "exited with status 0");
        for (const int descriptor : {given[0], given[1], kept[0], kept[1]}) close(descriptor);
    }

    TEST_CASE("DestroyingARunningChildKillsAndReapsIt") {
        pid_t pid = 0;
        {
            const ChildProcess child(shell("sleep 60"));
            pid = child.pid();
            CHECK(kill(pid, 0) == 0);
        }
        CHECK(kill(pid, 0) == -1);
        CHECK(errno == ESRCH);
    }

    TEST_CASE("MissingExecutableIsAFaultThatNamesIt") {
        SpawnOptions options;
        options.executable = "/nowhere/fedhive";
        CHECK_THROWS_WITH_AS(ChildProcess{options}, doctest::Contains("/nowhere/fedhive"), Fault);
    }

    TEST_CASE("ChildStoppedAtItsBirthDoesNotHoldItsParent") {
        // Either may be first: the child is stopped before exec, or after it.
        const pid_t self = getpid();
        std::atomic<bool> over{false};
        std::thread stopper([&] {
            const std::string list = fmt::format("/proc/{}/task/{}/children", self, self);
            while (!over) {
                std::istringstream children(content(list));
                for (pid_t pid = 0; children >> pid;) kill(pid, SIGSTOP);
            }
        });
        const std::int64_t start = now_ns();
        for (int i = 0; i < 3; ++i) {
            const ChildProcess child(shell("sleep 60"));
            CHECK(kill(child.pid(), 0) == 0);
        }
        over = true;
        stopper.join();
        CHECK(seconds_between(start, now_ns()) < 60.0);
    }

    TEST_CASE("WorkerOfAnotherParentRefusesToStart") {
        CHECK_THROWS_WITH_AS(follow_parent(getppid() + 1), doctest::Contains("the coordinator has ended"), Fault);
    }
}
