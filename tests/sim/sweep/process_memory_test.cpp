#include "sim/sweep/process_memory.h"

#include "clients/protocol/process.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <chrono>
#include <thread>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

const std::string kFakeNvml = testing::beside_tests("libfake_nvml.so").string();

clients::SpawnOptions shell(const std::string& command) {
    clients::SpawnOptions options;
    options.executable = "/bin/sh";
    options.arguments = {"-c", command};
    return options;
}

bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
}

}  // namespace

TEST_SUITE("ProcessMemory") {
    TEST_CASE("TreeHoldsChildrenAndTheirs") {
        const clients::ChildProcess child(shell("(sleep 60; true) & sleep 60; true"));
        CHECK(eventually([&] { return process_tree(child.pid()).size() == 4; }));  // two shells, two sleeps
        CHECK(process_tree(child.pid())[0] == child.pid());
    }

    TEST_CASE("MemoryGrowsWithWhatAProcessTouches") {
        const std::uint64_t before = tree_memory(getpid());
        CHECK(before > 100'000);
        constexpr std::size_t kBytes = 64U << 20U;
        const std::vector<char> touched(kBytes, 1);
        const std::uint64_t after = tree_memory(getpid());
        CHECK(after > before + kBytes / 2);
        CHECK(after < before + 2 * kBytes);
        CHECK(touched[kBytes / 2] == 1);
    }

    TEST_CASE("MemoryOfDescendantsCounts") {
        // Each shell holds a text of 8 MB, the inner one a copy of its own.
        const std::string grow = "x=0; i=0; while [ $i -lt 23 ]; do x=$x$x; i=$((i+1)); done; ";
        const clients::ChildProcess alone(shell(grow + "sleep 60; true"));
        const clients::ChildProcess both(shell(grow + "(" + grow + "sleep 60; true) & sleep 60; true"));
        CHECK(eventually([&] { return tree_memory(alone.pid()) > 8'000'000; }));
        CHECK(eventually([&] { return process_tree(both.pid()).size() == 4 && tree_memory(both.pid()) > 16'000'000; }));
    }

    TEST_CASE("EndedProcessTakesNothing") {
        clients::ChildProcess child(shell("exit 0"));
        REQUIRE(child.wait_for(5.0));
        CHECK(process_tree(child.pid()).empty());
        CHECK(tree_memory(child.pid()) == 0);
    }

    TEST_CASE("MissingNvmlKnowsNothing") {
        CHECK_FALSE(nvml_free_memory("libnvidia-ml-of-another-world.so.1")());
        CHECK_FALSE(nvml_free_memory("libm.so.6")());  // a library, but not that one
    }

    TEST_CASE("FreeMemoryIsOfTheDeviceThatCudaCallsTheFirst") {
        const auto free_of = [](const std::string& uuid) { return nvml_free_memory(kFakeNvml, [=] { return uuid; })(); };
        unsetenv("CUDA_VISIBLE_DEVICES");
        CHECK(free_of("fake") == 177);  // by its name, whatever its place is
        CHECK_FALSE(free_of("other"));
        CHECK_FALSE(free_of(""));  // no device
        setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
        CHECK(free_of("fake") == 177);
        unsetenv("CUDA_VISIBLE_DEVICES");
    }

    TEST_CASE("FreeMemoryOfAMigInstanceIsNotThatOfItsCard") {
        const auto free_of = [](const std::string& uuid) { return nvml_free_memory(kFakeNvml, [=] { return uuid; })(); };
        unsetenv("CUDA_VISIBLE_DEVICES");
        CHECK(free_of("part") == 33);
        CHECK_FALSE(free_of("cut"));  // CUDA has named the card: which instance is used is not known
        setenv("CUDA_VISIBLE_DEVICES", "MIG-part", 1);
        CHECK(free_of("cut") == 33);
        setenv("CUDA_VISIBLE_DEVICES", "MIG-other", 1);
        CHECK_FALSE(free_of("cut"));
        unsetenv("CUDA_VISIBLE_DEVICES");
    }

    TEST_CASE("WhoHoldsDeviceMemoryIsNamed") {
        const auto described = [] { return describe_holders(nvml_holders(kFakeNvml, [] { return "fake"; })); };
        unsetenv("FAKE_NVML_PID");
        CHECK(described().empty());
        const clients::ChildProcess other(shell("exec sleep 60"));
        setenv("FAKE_NVML_PID", std::to_string(other.pid()).c_str(), 1);
        const std::string expected = "; held by process " + std::to_string(other.pid()) + " (sleep): 3.0 GiB, process 4194305";
        CHECK(eventually([&] { return described() == expected; }));  // it has another name before it is exec'd
        setenv("FAKE_NVML_PID", std::to_string(getpid()).c_str(), 1);
        CHECK(described() == "; held by process 4194305");
        unsetenv("FAKE_NVML_PID");
    }
}
