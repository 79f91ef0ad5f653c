#include "aggregation/math/server_copy.h"

#include "aggregation/math/vector_ops.h"
#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

void server_copy_conforms(MemorySpace space) {
    const Floats values = testing::random_floats(100, 1);
    const ParamBuffer global(100, space);
    const ParamBuffer next = testing::poisoned(100, space);
    const ParamBuffer model = testing::upload(values, space);
    const ParamBuffer velocity(100, space);
    const ParamBuffer arrived = testing::upload(testing::random_floats(100, 2), space);

    const auto copy_of_replicas = make_server_copy(velocity, arrived);
    CHECK(copy_of_replicas->moments(100, space).at(0).values.data == velocity.span().data);
    copy_of_replicas->step(next, global, {model});
    CHECK(testing::same_bits(testing::download(next), values));
    CHECK(testing::same_bits(testing::download(velocity), testing::random_floats(100, 2)));
    CHECK_THROWS_AS(copy_of_replicas->step(global, global, {model}), ShapeError);

    const auto plain = make_server_copy({}, {});
    CHECK(plain->moments(100, space).empty());
    plain->step(velocity, global, {model});
    CHECK(testing::same_bits(testing::download(velocity), values));
    conformance::server_optimizer_conforms([](std::size_t) { return make_server_copy({}, {}); }, space);
    CHECK_THROWS_AS(make_server_copy(velocity, testing::upload(Floats(16), space)), ShapeError);
}

}  // namespace

TEST_SUITE("ServerCopy") {
    TEST_CASE("ModelAndMomentumAreTakenAsTheyAre") { server_copy_conforms(MemorySpace::Host); }

    TEST_CASE("Gpu: ServerCopyConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        server_copy_conforms(MemorySpace::Cuda);
    }
}
