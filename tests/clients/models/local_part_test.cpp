// The local part of a model: its location and the operations on it.
#include "clients/models/local_part.h"

#include "clients/models/model_plan.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace fedhive;
using namespace fedhive::clients;

namespace {

/// 3 inputs, 2 classes: fc.weight [2, 3], fc.bias [2], each padded to 16 floats.
ModelSpec small_model(const std::vector<std::string>& local) {
    ModelSpec spec = named_model("lr", {1, 1, 3}, 2);
    if (!local.empty()) spec.local = NamePatterns::of(local);
    return spec;
}

std::vector<float> counted(std::size_t size, float first) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), first);
    return values;
}

aggregation::Memories memories_of(const LocalPart& part) {
    aggregation::Memories memories;
    memories.add(LocalPart::memory(), {.named = part.num_floats()});
    return memories;
}

}  // namespace

TEST_SUITE("LocalPart") {
    TEST_CASE("IsMadeOfTheTensorsWithSuchNamesWithoutWhatLiesBetweenThem") {
        CHECK(LocalPart(small_model({})).empty());
        const aggregation::Layout layout = model_layout(small_model({}));
        REQUIRE(layout.entries().size() == 2);
        REQUIRE(layout.num_floats() == 32);
        const LocalPart bias(small_model({"*.bias"})), both(small_model({"*"}));
        CHECK(bias.num_floats() == 2);
        CHECK(bias.num_parameters() == 2);
        CHECK(both.names() == std::vector<std::string>{layout.entries()[0].name, layout.entries()[1].name});
        CHECK(both.num_floats() == 8);
        std::vector<float> kept(8, 0.0F), slot(32);
        const aggregation::Memories memories = memories_of(both);
        CHECK(both.take({.all = &memories, .region = {}, .record = {}, .slot = slot, .beside = kept}, counted(32, 0.0F)).data ==
              kept.data());
        CHECK(kept == std::vector<float>{0, 1, 2, 3, 4, 5, 16, 17});
    }

    TEST_CASE("ClientBeginsWithItsOwnAmongTheServers") {
        const LocalPart bias(small_model({"*.bias"}));
        const std::vector<float> global = counted(32, 100.0F);
        aggregation::ParamBuffer room;
        CHECK(bias.start(global, {}, room).data == global.data());  // before it has anything
        const aggregation::Memories memories = memories_of(bias);
        const std::vector<float> record{7.0F, 8.0F};
        aggregation::VisitMemories visit{.all = &memories, .region = {}, .record = record, .slot = {}, .beside = {}};
        const aggregation::ConstParamSpan start = bias.start(global, visit, room);
        std::vector<float> expected = global;
        expected[16] = 7.0F;
        expected[17] = 8.0F;
        CHECK(std::vector<float>(start.data, start.data + start.size) == expected);
    }

    TEST_CASE("NothingOfItIsInTheUpdate") {
        const LocalPart bias(small_model({"*.bias"}));
        std::vector<float> local = counted(32, 1.0F);
        const std::vector<float> global = counted(32, 100.0F);
        bias.hide(local, global);
        std::vector<float> expected = counted(32, 1.0F);
        expected[16] = global[16];
        expected[17] = global[17];
        CHECK(local == expected);
    }

    TEST_CASE("NothingOfItIsInAGradientThatIsCleared") {
        std::vector<float> gradient = counted(32, 1.0F), expected = gradient;
        expected[16] = expected[17] = 0.0F;
        LocalPart(small_model({"*.bias"})).clear(gradient);
        CHECK(gradient == expected);
    }
}
