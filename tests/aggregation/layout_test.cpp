#include "aggregation/memory/layout.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>

using namespace fedhive::aggregation;
using fedhive::ShapeError;

namespace {

Layout small_layout() {
    Layout layout;
    layout.add("fc.weight", {3, 7});
    layout.add("fc.bias", {3});
    layout.add("scale", {});
    layout.add("bn.mean", {17}, TensorKind::Buffer);
    return layout;
}

}  // namespace

TEST_SUITE("Layout") {
    TEST_CASE("LayoutOffsetsAreMultiplesOf16") {
        const Layout layout = small_layout();
        REQUIRE(layout.entries().size() == 4);
        CHECK(layout.entries()[0].offset == 0);
        CHECK(layout.entries()[1].offset == 32);
        CHECK(layout.entries()[2].offset == 48);
        CHECK(layout.entries()[3].offset == 64);
        CHECK(layout.num_trainable() == 64);
        CHECK(layout.num_floats() == 96);
        CHECK(layout.num_values() == 21 + 3 + 1 + 17);
        CHECK(Layout().num_floats() == 0);
    }

    TEST_CASE("LayoutWrongTensorsAreRefused") {
        Layout layout = small_layout();
        CHECK_THROWS_AS(layout.add("late", {1}), ShapeError);
        CHECK_THROWS_AS(layout.add("bn.mean", {1}, TensorKind::Buffer), ShapeError);
        CHECK_THROWS_AS(layout.add("negative", {2, -1}, TensorKind::Buffer), ShapeError);
        CHECK_THROWS_AS(layout.add("huge", {std::int64_t{1} << 40, std::int64_t{1} << 40}, TensorKind::Buffer), ShapeError);
        CHECK(layout.entries().size() == 4);
    }

    TEST_CASE("PartOfAWholeHasItsValuesInItsOwnPlaces") {
        Layout whole, part;
        for (const char* name : {"a", "b", "c"}) whole.add(name, {3});
        for (const char* name : {"c", "a"}) part.add(name, {3});
        std::vector<float> values(whole.num_floats());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
        const std::vector<float> found = part_of(whole, values, part);
        REQUIRE(found.size() == 32);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(found[i] == 32.0F + static_cast<float>(i));
            CHECK(found[16 + i] == static_cast<float>(i));
            CHECK(found[3 + i] == 0.0F);
        }
        Layout other;
        other.add("d", {3});
        CHECK_THROWS_AS(part_of(whole, values, other), fedhive::Fault);
    }

    TEST_CASE("LayoutFingerprintSeesNamesShapesAndKinds") {
        const std::uint64_t base = small_layout().fingerprint();
        CHECK(small_layout().fingerprint() == base);
        const auto last_added = [](std::string name, std::vector<std::int64_t> shape, TensorKind kind) {
            Layout layout;
            layout.add("fc.weight", {3, 7});
            layout.add(std::move(name), std::move(shape), kind);
            return layout.fingerprint();
        };
        const std::uint64_t two = last_added("a", {4, 4}, TensorKind::Parameter);
        CHECK(two != base);
        CHECK(two != last_added("b", {4, 4}, TensorKind::Parameter));
        CHECK(two != last_added("a", {2, 8}, TensorKind::Parameter));
        CHECK(two != last_added("a", {16}, TensorKind::Parameter));
        CHECK(two != last_added("a", {4, 4}, TensorKind::Buffer));
    }
}
