#include "sim/round/server_state.h"

#include "aggregation/memory/host_arena.h"
#include "tests/aggregation/server_steps.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("ServerState") {
    TEST_CASE("StepWritesNoRegionThatIsRead") {
        const aggregation::HostArena arena({.num_floats = 4, .num_slots = 1, .num_globals = 4});
        ServerState server(arena);
        const auto sgd = aggregation::testing::plain_server(4);
        const std::vector<float> one(4, 1.0F);
        const auto step = [&] { server.server_step(*sgd, {one, 1.0, 1}); };
        ++server.readers[0];  // version 0
        step();
        ++server.readers[server.global_index];  // version 1
        const std::uint32_t first = server.global_index;
        for (int i = 0; i < 5; ++i) step();
        CHECK(arena.global(0).data[3] == 0.0F);
        CHECK(arena.global(first).data[3] == 1.0F);
        CHECK(server.model().data[3] == 6.0F);
        CHECK(server.version == 6);
        --server.readers[0];
        ++server.readers[server.global_index];
        step();
        CHECK(arena.global(first).data[3] == 1.0F);
        ++server.readers[server.global_index];
        step();
        ++server.readers[server.global_index];
        CHECK_THROWS_WITH_AS(step(), doctest::Contains("every global region of the arena is still being read"), Fault);
        CHECK(server.version == 8);
    }
}
