#include "aggregation/base/error.h"
#include "clients/models/layer_list.h"
#include "clients/models/layer_table.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

struct Numbered {
    LayerKind kind = LayerKind::Linear;
    int number = 0;
};

}  // namespace

TEST_SUITE("LayerKind") {
    TEST_CASE("EachKindStandsInTheCatalogUnderItsOwnName") {
        REQUIRE(layer_catalog().size() == kNumLayerKinds);
        std::set<std::string> names;
        for (std::size_t i = 0; i < kNumLayerKinds; ++i) {
            const LayerSpec& spec = layer_spec(static_cast<LayerKind>(i));
            CHECK(static_cast<std::size_t>(spec.kind) == i);
            CHECK(spec.name == kLayerNames[i]);
            CHECK(names.insert(spec.name).second);
        }
    }

    TEST_CASE("AListHasTheSameEntryByKindAndByName") {
        CHECK(LayerList().add(LayerKind::Conv2d, {8, 3}) == LayerList().add("conv2d", {8, 3}));
        CHECK(LayerList().add(LayerKind::LastPosition) == LayerList().add("last_position"));
        CHECK_FALSE(LayerList().add(LayerKind::Relu) == LayerList().add("tanh"));
        CHECK_THROWS_WITH_AS(LayerList().add("conv"), doctest::Contains("there is no layer 'conv'"), Fault);
    }

    TEST_CASE("ATableFindsWhatItHasAndNamesWhatItLacks") {
        const LayerTable<Numbered> table{{LayerKind::Tanh, 7}, {LayerKind::Linear, 3}};
        REQUIRE(table.find(LayerKind::Tanh) != nullptr);
        CHECK(table.find(LayerKind::Tanh)->number == 7);
        CHECK(table.at(LayerKind::Linear).number == 3);
        CHECK(table.find(LayerKind::Relu) == nullptr);
        CHECK_THROWS_WITH_AS(table.at(LayerKind::Relu), doctest::Contains("nobody computes layer 'relu'"), Fault);
    }

    TEST_CASE("ATableTakesAKindOnce") {
        CHECK_THROWS_WITH_AS((LayerTable<Numbered>{{LayerKind::Tanh, 7}, {LayerKind::Tanh, 8}}),
                             doctest::Contains("two entries for tanh"), Fault);
    }
}
