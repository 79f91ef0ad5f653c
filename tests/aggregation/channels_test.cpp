#include "aggregation/memory/channels.h"

#include "aggregation/memory/param_span.h"

#include <doctest/doctest.h>

#include <numeric>
#include <type_traits>
#include <vector>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

/// Channels of a model of 6 floats: two of 4 floats that travel both ways, one that is only sent, one
/// that stays with the client.
Channels four() {
    Channels channels;
    channels.add({.name = kControl, .down = true, .up = true, .commit = Commit::Add}, 4);
    channels.add({.name = "mask", .down = true}, 4);
    channels.add({.name = kResidual}, 4);
    channels.add({.name = "curvature", .up = true}, 4);
    return channels;
}

std::vector<float> counted(std::size_t size) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

}  // namespace

TEST_SUITE("Channels") {
    TEST_CASE("TheyLieBehindTheModelInTheListsOrderAndWhatIsKeptByItself") {
        static_assert(std::is_trivially_copyable_v<Channels>);
        const Channels channels = four();
        CHECK(channels.floats_behind() == 12);
        CHECK(channels.kept_floats() == 4);
        CHECK(channels.num_down() == 2);
        CHECK(channels.num_up() == 2);
        Channels one_way;
        one_way.add({.name = "mask", .down = true}, 4);
        CHECK(one_way.num_down() == 1);
        CHECK(one_way.num_up() == 0);
        std::vector<float> region = counted(18), kept = counted(4);
        const auto begin = [&](std::vector<float>& values, std::string_view name) {
            const ParamSpan part = channels.of(ParamSpan(values), name);
            return std::pair(part.data[0], part.size);
        };
        CHECK(begin(region, kModel) == std::pair(0.0F, std::size_t{6}));
        CHECK(begin(region, kControl) == std::pair(6.0F, std::size_t{4}));
        CHECK(begin(region, "mask") == std::pair(10.0F, std::size_t{4}));
        CHECK(begin(region, "curvature") == std::pair(14.0F, std::size_t{4}));
        CHECK(begin(kept, kResidual) == std::pair(0.0F, std::size_t{4}));
        CHECK(channels.come_down(ParamSpan(region), "mask").data == region.data() + 10);
        CHECK(channels.come_down(ParamSpan(region), "curvature").size == 0);
        CHECK(channels.come_down(ParamSpan(region), kResidual).size == 0);
        REQUIRE(channels.committed() != nullptr);
        CHECK(channels.committed()->name() == kControl);
        CHECK(channels.find("curvature")->travels());
        CHECK_FALSE(channels.find(kResidual)->travels());
    }

    TEST_CASE("EmptyListIsTheModelAlone") {
        const Channels none;
        std::vector<float> region = counted(6);
        CHECK(none.of(ParamSpan(region), kModel).size == 6);
        CHECK(none.floats_behind() == 0);
        CHECK(none.kept_floats() == 0);
        CHECK(none.committed() == nullptr);
        CHECK(none.find(kControl) == nullptr);
        CHECK_THROWS_WITH_AS(none.of(ParamSpan(region), kControl), doctest::Contains("no channel 'control'"), Fault);
    }

    TEST_CASE("WhatDoesNotFitIsAFault") {
        Channels channels = four();
        std::vector<float> region = counted(11), kept = counted(3);
        CHECK_THROWS_WITH_AS(channels.of(ParamSpan(region), kModel),
                             doctest::Contains("channels of 12 floats in a region of 11"), Fault);
        CHECK_THROWS_WITH_AS(channels.of(ParamSpan(kept), kResidual), doctest::Contains("of 4 floats from 0 on, of 3"), Fault);
        CHECK_THROWS_WITH_AS(channels.add({.name = "fifth"}, 4), doctest::Contains("a channel 'fifth' beside 4, 4 at most"),
                             Fault);
        Channels one;
        one.add({.name = "sixteen letters!", .up = true, .commit = Commit::Set}, 4);
        CHECK(one.find("sixteen letters!") != nullptr);
        CHECK_THROWS_WITH_AS(one.add({.name = "seventeen letters"}, 4), doctest::Contains("a channel's name"), Fault);
        CHECK_THROWS_WITH_AS(one.add({.name = ""}, 4), doctest::Contains("a channel's name"), Fault);
        CHECK_THROWS_WITH_AS(one.add({.name = kModel}, 4), doctest::Contains("two channels 'model'"), Fault);
        CHECK_THROWS_WITH_AS(one.add({.name = "sixteen letters!"}, 4), doctest::Contains("two channels"), Fault);
        CHECK_THROWS_WITH_AS(one.add({.name = kResidual, .commit = Commit::Set}, 4), doctest::Contains("a second one"), Fault);
    }
}
