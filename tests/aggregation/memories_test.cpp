#include "aggregation/memory/memories.h"

#include "aggregation/memory/param_span.h"

#include <doctest/doctest.h>

#include <numeric>
#include <type_traits>
#include <vector>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

constexpr Dimensions kSizes{.trainable = 16, .parameters = 13, .named = 5, .classes = 3, .features = 7};

constexpr MemorySpec kBothWays{
    .name = "both ways", .owner = MemoryOwner::Client, .down = true, .up = true, .change = MemoryChange::Add};
constexpr MemorySpec kOfAVisit{.name = "of a visit"};

/// Of a model of 16 floats: one that goes both ways, one that only goes down, one that stays, one that only comes up.
Memories four() {
    Memories memories;
    memories.add(kBothWays, kSizes);
    memories.add({.name = "mask", .owner = MemoryOwner::Server, .down = true}, kSizes);
    memories.add(kOfAVisit, kSizes);
    memories.add({.name = "curvature", .up = true}, kSizes);
    return memories;
}

std::vector<float> counted(std::size_t size) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 0.0F);
    return values;
}

std::pair<float, std::size_t> begin_of(ConstParamSpan part) { return {part.data[0], part.size}; }

}  // namespace

TEST_SUITE("Memories") {
    TEST_CASE("TheyLieBehindTheModelInTheListsOrderAndWhatStaysByItself") {
        static_assert(std::is_trivially_copyable_v<Memories>);
        const Memories memories = four();
        CHECK(memories.floats_behind() == 32);
        CHECK(memories.floats_beside() == 16);
        const std::vector<float> region = counted(48), beside = counted(16);
        CHECK(begin_of(memories.of(ConstParamSpan(region), kModel)) == std::pair(0.0F, std::size_t{16}));
        CHECK(begin_of(memories.of(ConstParamSpan(region), "both ways")) == std::pair(16.0F, std::size_t{16}));
        CHECK(begin_of(memories.of(ConstParamSpan(region), "mask")) == std::pair(32.0F, std::size_t{16}));
        CHECK(begin_of(memories.of(ConstParamSpan(region), "curvature")) == std::pair(32.0F, std::size_t{16}));  // mask's
        CHECK(begin_of(memories.of(ConstParamSpan(beside), "of a visit")) == std::pair(0.0F, std::size_t{16}));
        CHECK(memories.find("curvature")->travels());
        CHECK_FALSE(memories.find("of a visit")->travels());
        CHECK(memories.record_floats() == 16);
    }

    TEST_CASE("AMemoryThatGoesDownAndOneOfItsShapeThatComesUpShareAnOffset") {
        using enum MemoryShape;
        Memories memories;
        const auto offset_of_next = [&](const char* name, MemoryShape shape, bool down, bool up) {
            const MemoryOwner owner = down ? MemoryOwner::Server : MemoryOwner::Visit;
            memories.add({.name = name, .owner = owner, .shape = shape, .down = down, .up = up}, kSizes);
            return memories.find(name)->offset;
        };
        CHECK(offset_of_next("up", Trainable, false, true) == 0);
        CHECK(offset_of_next("beside", Trainable, false, false) == 0);
        CHECK(offset_of_next("both", Trainable, true, true) == 16);
        CHECK(offset_of_next("table", ClassesByFeatures, true, false) == 32);  // another shape
        CHECK(offset_of_next("down", Trainable, true, false) == 0);
        CHECK(offset_of_next("second down", Trainable, true, false) == 64);  // the first has the pair's offset
        CHECK(offset_of_next("second up", Trainable, false, true) == 64);
        CHECK(offset_of_next("third up", Trainable, false, true) == 80);
        CHECK(memories.floats_behind() == 96);
    }

    TEST_CASE("EveryShapeHasItsSizeAndBeginsOnAMultipleOf16Floats") {
        Memories memories;
        memories.add({.name = "table", .shape = MemoryShape::ClassesByFeatures, .up = true}, kSizes);
        memories.add({.name = "counts", .shape = MemoryShape::Classes, .up = true}, kSizes);
        memories.add({.name = "number", .shape = MemoryShape::Scalar, .up = true}, kSizes);
        memories.add({.name = "vector", .up = true}, kSizes);
        const auto where = [&](std::string_view name) {
            const Memory& memory = *memories.find(name);
            return std::vector<std::uint64_t>{memory.offset, memory.floats, memory.values, memory.rows};
        };
        CHECK(where("table") == std::vector<std::uint64_t>{0, 21, 21, 3});
        CHECK(where("counts") == std::vector<std::uint64_t>{32, 3, 3, 1});
        CHECK(where("number") == std::vector<std::uint64_t>{48, 1, 1, 1});
        CHECK(where("vector") == std::vector<std::uint64_t>{64, 16, 13, 1});  // without padding 13 values travel
        CHECK(memories.floats_behind() == 80);
    }

    TEST_CASE("ARecordHoldsAClientsMemoriesEndToEnd") {
        Memories memories = four();
        memories.add({.name = "own part",
                      .owner = MemoryOwner::Client,
                      .shape = MemoryShape::Named,
                      .first = FirstValue::SentModel,
                      .change = MemoryChange::Set},
                     kSizes);
        memories.add(
            {.name = "temperature", .owner = MemoryOwner::Client, .shape = MemoryShape::Scalar, .change = MemoryChange::Set},
            kSizes);
        CHECK(memories.record_floats() == 16 + 16 + 1);
        CHECK(memories.floats_beside() == 16 + 16 + 1);
        std::vector<float> slot(48), beside = counted(33);
        const std::vector<float> region = counted(48), record = counted(33);
        VisitMemories visit{.all = &memories, .region = region, .record = record, .slot = slot, .beside = beside};
        CHECK(begin_of(visit.own("both ways")) == std::pair(0.0F, std::size_t{16}));
        CHECK(begin_of(visit.own("own part")) == std::pair(16.0F, std::size_t{5}));
        CHECK(begin_of(visit.own("temperature")) == std::pair(32.0F, std::size_t{1}));
        CHECK(begin_of(visit.down("both ways")) == std::pair(16.0F, std::size_t{16}));
        CHECK(visit.down("own part").size == 0);
        CHECK(visit.written("both ways").data == slot.data() + 16);
        CHECK(begin_of(visit.written("own part")) == std::pair(16.0F, std::size_t{5}));
        visit.record = {};  // before the first accepted update
        CHECK(visit.own("own part").size == 0);
        visit.slot = {};  // of whom nothing is wanted
        CHECK(visit.written("own part").size == 0);
        CHECK(VisitMemories{}.own("own part").size == 0);
    }

    TEST_CASE("AMemoryThatGrowsByTheUpdateTakesNoSpaceBesideIt") {
        Memories memories = four();
        const std::uint64_t behind = memories.floats_behind(), beside = memories.floats_beside();
        memories.add({.name = kHistory, .owner = MemoryOwner::Client, .change = MemoryChange::AddUpdate}, kSizes);
        memories.add(
            {.name = "temperature", .owner = MemoryOwner::Client, .shape = MemoryShape::Scalar, .change = MemoryChange::Set},
            kSizes);
        CHECK(memories.floats_behind() == behind);
        CHECK(memories.floats_beside() == beside + 1);
        CHECK(memories.record_floats() == 16 + 16 + 1);
        std::vector<float> slot(behind + 32);  // an update of 16 parameters and 16 buffers
        const VisitMemories visit{.all = &memories, .region = {}, .record = {}, .slot = slot, .beside = {}};
        CHECK(visit.written(kHistory).data == slot.data());
        CHECK(visit.written(kHistory).size == 16);
        Memories sent;
        CHECK_THROWS_WITH_AS(
            sent.add({.name = kHistory, .owner = MemoryOwner::Client, .up = true, .change = MemoryChange::AddUpdate}, kSizes),
            doctest::Contains("it cannot be sent"), Fault);
    }

    TEST_CASE("EmptyListIsTheModelAlone") {
        const Memories none;
        const std::vector<float> region = counted(16);
        CHECK(none.of(ConstParamSpan(region), kModel).size == 16);
        CHECK(none.floats_behind() == 0);
        CHECK(none.floats_beside() == 0);
        CHECK(none.record_floats() == 0);
        CHECK(none.find("mask") == nullptr);
        CHECK_THROWS_WITH_AS(none.of(ConstParamSpan(region), "mask"), doctest::Contains("no memory 'mask'"), Fault);
    }

    TEST_CASE("SixteenAreTheMost") {
        Memories memories;
        for (int i = 0; i < 16; ++i) memories.add({.name = std::string("memory ") + std::to_string(i)}, kSizes);
        CHECK(memories.floats_beside() == 16 * 16);
        CHECK_THROWS_WITH_AS(memories.add({.name = "one more"}, kSizes),
                             doctest::Contains("'one more' after 16 others; allowed: 16 in all"), Fault);
    }

    TEST_CASE("WhatDoesNotFitIsAFault") {
        const Memories memories = four();
        const std::vector<float> region = counted(31), beside = counted(15);
        CHECK_THROWS_WITH_AS(memories.of(ConstParamSpan(region), kModel),
                             doctest::Contains("memories of 32 floats in a region of 31"), Fault);
        CHECK_THROWS_WITH_AS(memories.of(ConstParamSpan(beside), "of a visit"),
                             doctest::Contains("of 16 floats from 0 on, of 15"), Fault);
        Memories one;
        one.add({.name = "sixteen letters!", .up = true}, kSizes);
        CHECK(one.find("sixteen letters!") != nullptr);
        const auto refused = [&](const MemorySpec& spec, const char* problem, const Dimensions& sizes = kSizes) {
            CHECK_THROWS_WITH_AS(one.add(spec, sizes), doctest::Contains(problem), Fault);
        };
        refused({.name = "seventeen letters"}, "the name 'seventeen letters' of a memory");
        refused({.name = ""}, "the name '' of a memory");
        refused({.name = kModel}, "two memories have the name 'model'");
        refused({.name = "sixteen letters!"}, "two memories have the name");
        refused({.name = "table", .shape = MemoryShape::ClassesByFeatures}, "'table' has no values in this model",
                {.classes = 3});
        refused({.name = "kept", .owner = MemoryOwner::Client}, "'kept': a client's memory must have a change");
        refused({.name = "kept", .change = MemoryChange::Set}, "and no other may");
        refused({.name = "of the server", .owner = MemoryOwner::Server}, "of the server must go down");
        refused({.name = "of a visit", .down = true}, "of a visit cannot go down");
        refused({.name = "kept", .owner = MemoryOwner::Client, .first = FirstValue::SentModel, .change = MemoryChange::Add},
                "so its change must be Set or Mixed");
    }
}
