#include "clients/data/data_format.h"

#include "tests/clients/data/idx_fixture.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

namespace fedhive::clients {

namespace {

/// The format's shape() must match the data that read() returns.
void check_shape(const char* name, const Values& given, TargetKind wanted = TargetKind::Class) {
    CAPTURE(name);
    const DataFormat& format = data_format(name);
    const Values values = completed(given, format.keys);
    const DataShape said = format.shape(values, wanted);
    const Dataset read = format.read(values, 1, wanted);
    CHECK(said.example == read.train.shape);
    CHECK(said.num_classes == read.num_classes);
    CHECK(said.target == read.train.target);
}

}  // namespace

TEST_SUITE("DataFormat") {
    TEST_CASE("ShapeIsThatOfWhatIsReadOrDrawn") {
        check_shape("glyphs", {{"num_train", 20}, {"num_test", 3}});
        check_shape("synthetic", {{"num_train", 20}, {"num_test", 3}, {"num_classes", 4}, {"num_features", 7}});
        check_shape("synthetic", {{"num_train", 20}, {"num_test", 3}, {"shape", std::vector<double>{2, 3, 5}}});
        const IdxFixture fixture(true);
        check_shape("idx", {{"root", fixture.root()}});
        check_shape("idx", {{"root", fixture.root()}, {"classes", 17}});
        const NpzFixture archives(true);
        check_shape("npz", {{"train", archives.file("train")}, {"test", archives.file("test")}});
        check_shape("npz", {{"train", archives.file("train")}, {"test", archives.file("test")}, {"classes", 17}});
        const std::filesystem::path table = archives.file("table");
        write_content(table, "a,b,y\n1,2,0\n3,4,3\n");
        check_shape("csv", {{"train", table}, {"test", table}, {"target", "y"}});
        check_shape("synthetic_devices", {{"devices", std::int64_t{2}}});
        const std::filesystem::path play = archives.file("play");
        write_content(play, "A:\nabca\nabca\n");
        check_shape("text", {{"train", play}, {"sequence", 2}, {"test_share", 0.5}});
        check_shape("text", {{"train", play}, {"sequence", 2}, {"test_share", 0.5}, {"unseen", "class"}});
        check_shape("text", {{"train", play}, {"sequence", 2}, {"test_share", 0.5}, {"targets", "every"}},
                    TargetKind::ClassEach);
        check_shape("csv", {{"train", table}, {"test", table}, {"target", "y, a"}}, TargetKind::Numbers);
        check_shape("synthetic_linear", {{"num_train", 20}, {"num_test", 3}, {"num_targets", 4}}, TargetKind::Numbers);
        const std::filesystem::path users = archives.file("users");
        write_content(users, R"({"user_data": {"ann": {"x": [[1, 2, 3, 4]], "y": [4]}}})");
        check_shape("leaf", {{"train", users}, {"test", users}, {"shape", std::vector<double>{1, 2, 2}}});
        check_shape("leaf", {{"train", users}, {"test", users}, {"classes", 17}});
        write_content(users, R"({"user_data": {"ann": {"x": ["abc"], "y": ["a"]}}})");
        check_shape("leaf", {{"train", users}, {"test", users}});
        check_shape("leaf", {{"train", users}, {"test", users}, {"unseen", "class"}});
        const std::filesystem::path pictures = archives.file("pictures");
        std::filesystem::create_directories(pictures / "all");
        std::filesystem::copy(testing::source_folder() / "tests/clients/data/pictures/colour.png", pictures / "all/1.png");
        check_shape("images", {{"train", pictures}, {"test", pictures}});
        check_shape("images", {{"train", pictures}, {"test", pictures}, {"channels", "1"}});
    }

    TEST_CASE("SyntheticExamplesHaveTheShapeThatIsWritten") {
        const DataFormat& format = data_format("synthetic");
        const auto shape = [&](const Values& given) {
            return format.shape(completed(given, format.keys), TargetKind::Class).example;
        };
        CHECK(shape({{"shape", std::vector<double>{2, 3, 5}}}) == ExampleShape{2, 3, 5});
        CHECK(shape({{"num_features", 7}}) == ExampleShape{7, 1, 1});
    }

    TEST_CASE("EveryFormatSaysItsShape") {
        for (const DataFormat& format : data_catalog()) CHECK_MESSAGE((format.shape != nullptr), format.name);
    }
}

}  // namespace fedhive::clients
