#include "tests/conformance/arena_conformance.h"

#include "aggregation/memory/host_arena.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace fedhive;
using namespace fedhive::aggregation;

TEST_SUITE("Arena") {
    TEST_CASE("HostArenaConforms") {
        for (const std::uint64_t num_floats : {16U, 63U, 64U, 1000U}) {
            const HostArena owner({num_floats, 3});
            const HostArenaView view(owner.descriptor(), owner.geometry());
            conformance::arena_conforms(owner, view);
        }
        for (const std::uint64_t num_aggregates : {0U, 1U}) {
            const HostArena owner({100, 3, 5, 70, num_aggregates, 0, 33});
            const HostArenaView view(owner.descriptor(), owner.geometry());
            conformance::arena_conforms(owner, view);
        }
    }

    TEST_CASE("ArenaStridesAreMultiplesOf256Bytes") {
        CHECK(ArenaGeometry{63, 1}.stride_bytes() == 256);
        CHECK(ArenaGeometry{64, 1}.stride_bytes() == 256);
        CHECK(ArenaGeometry{65, 1}.stride_bytes() == 512);
        CHECK(ArenaGeometry{65, 3}.total_bytes() == 5 * 512);
        CHECK(ArenaGeometry{65, 3, 4, 65}.total_bytes() == (4 + 3 + 3) * 512);
        CHECK(ArenaGeometry{65, 3, 4, 65, 1}.total_bytes() == (4 + 3 + 3 + 1) * 512);
        CHECK(ArenaGeometry{65, 3, 4, 65, 1, 0, 65}.total_bytes() == (4 + 3 + 3 + 3 + 1) * 512);
    }

    TEST_CASE("HostArenaAnotherProcessWritesItsSlot") {
        const HostArena owner({100, 2});
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            const HostArenaView view(owner.descriptor(), owner.geometry());
            for (float& value : view.slot(1).host()) value = 2.5F;
            _exit(0);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
        CHECK(testing::download(owner.slot(1)) == testing::Floats(100, 2.5F));
        CHECK(testing::download(owner.slot(0)) == testing::Floats(100, 0.0F));
    }

    TEST_CASE("FrozenPartBeginsOnAPageAndNoWorkerCanWriteIt") {
        const ArenaGeometry geometry{.num_floats = 100, .num_slots = 2, .num_aggregates = 1, .frozen_floats = 2000};
        CHECK(geometry.frozen_offset() == 65536);
        CHECK(geometry.total_bytes() == 65536 + 8192);
        const HostArena owner(geometry);
        const testing::Floats values(2000, 0.25F);
        copy(owner.frozen(), ConstParamSpan(values));
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            const HostArenaView view(owner.descriptor(), geometry);
            for (const std::size_t region : {0U, 1U}) view.slot(region).data[0] = 1.0F;
            view.aggregate().data[99] = 1.0F;
            if (view.frozen().size != 2000 || view.frozen().data[1999] != 0.25F) _exit(1);
            std::signal(SIGSEGV, [](int) { _exit(77); });
            *const_cast<volatile float*>(view.frozen().data) = 1.0F;
            _exit(2);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WEXITSTATUS(status) == 77);
        CHECK(testing::download(owner.frozen()) == values);
        CHECK(HostArena({100, 2}).frozen().size == 0);
    }

    TEST_CASE("HostArenaViewOfALargerGeometryIsRefused") {
        const HostArena owner({100, 2});
        CHECK_THROWS_AS(HostArenaView(owner.descriptor(), {100, 3}), Fault);
    }
}
