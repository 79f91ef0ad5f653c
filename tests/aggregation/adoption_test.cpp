#include "aggregation/math/adoption.h"

#include "aggregation/math/vector_ops.h"
#include "tests/conformance/server_optimizer_conformance.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::aggregation;
using testing::Floats;

namespace {

void adoption_conforms(MemorySpace space) {
    const Floats values = testing::random_floats(100, 1);
    const ParamBuffer global(100, space);
    const ParamBuffer next = testing::poisoned(100, space);
    const ParamBuffer model = testing::upload(values, space);
    const ParamBuffer velocity(100, space);
    const ParamBuffer arrived = testing::upload(testing::random_floats(100, 2), space);

    const auto adoption = make_adoption(velocity, arrived);
    CHECK(adoption->moments(100, space).at(0).values.data == velocity.span().data);
    adoption->step(next, global, {model});
    CHECK(testing::same_bits(testing::download(next), values));
    CHECK(testing::same_bits(testing::download(velocity), testing::random_floats(100, 2)));
    CHECK_THROWS_AS(adoption->step(global, global, {model}), ShapeError);

    const auto plain = make_adoption({}, {});
    CHECK(plain->moments(100, space).empty());
    plain->step(velocity, global, {model});
    CHECK(testing::same_bits(testing::download(velocity), values));
    conformance::server_optimizer_conforms([] { return make_adoption({}, {}); }, space);
    CHECK_THROWS_AS(make_adoption(velocity, testing::upload(Floats(16), space)), ShapeError);
}

}  // namespace

TEST_SUITE("Adoption") {
    TEST_CASE("ModelAndMomentumAreTakenAsTheyAre") { adoption_conforms(MemorySpace::Host); }

    TEST_CASE("Gpu: AdoptionConforms") {
        if (const std::string reason = testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        adoption_conforms(MemorySpace::Cuda);
    }
}
