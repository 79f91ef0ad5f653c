#include "sim/sweep/process_memory.h"

#include "tests/support/eventually.h"
#include "tests/support/shell.h"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace fedhive;
using namespace fedhive::sim;
using testing::eventually;
using testing::shell;

TEST_SUITE("ProcessMemory") {
    TEST_CASE("TreeHoldsChildrenAndTheirs") {
        const clients::ChildProcess child(shell("(sleep 60; true) & sleep 60; true"));
        CHECK(eventually(60.0, [&] { return process_tree(child.pid()).size() == 4; }));  // two shells, two sleeps
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
        // Each shell holds a text of 8 MB; the inner one has its own copy.
        const std::string grow = "x=0; i=0; while [ $i -lt 23 ]; do x=$x$x; i=$((i+1)); done; ";
        const clients::ChildProcess alone(shell(grow + "sleep 60; true"));
        const clients::ChildProcess both(shell(grow + "(" + grow + "sleep 60; true) & sleep 60; true"));
        CHECK(eventually(60.0, [&] { return tree_memory(alone.pid()) > 8'000'000; }));
        CHECK(eventually(60.0, [&] { return process_tree(both.pid()).size() == 4 && tree_memory(both.pid()) > 16'000'000; }));
    }

    TEST_CASE("EndedProcessTakesNothing") {
        clients::ChildProcess child(shell("exit 0"));
        REQUIRE(child.wait_for(5.0));
        CHECK(process_tree(child.pid()).empty());
        CHECK(tree_memory(child.pid()) == 0);
    }
}
