#include "sim/record/durable_file.h"

#include "aggregation/base/error.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_SUITE("DurableFile") {
    TEST_CASE("NewContentTakesThePlaceOfTheOld") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "f";
        for (const std::string& content : {std::string("first"), std::string(3 << 20, 'x'), std::string()}) {
            write_file(file, content);
            CHECK(content_of(file) == content);
            CHECK_FALSE(std::filesystem::exists(folder.path() / "f.part"));
        }
    }

    TEST_CASE("NameWithoutFolderIsWrittenHere") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path before = std::filesystem::current_path();
        std::filesystem::current_path(folder.path());
        write_file("f", "x");
        std::filesystem::current_path(before);
        CHECK(content_of(folder.path() / "f") == "x");
    }

    TEST_CASE("FailedWriteLeavesTheOldFileAndNothingBeside") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path file = folder.path() / "f";
        write_file(file, "old");
        rlimit before{};
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
        rlimit small = before;
        small.rlim_cur = 4096;
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
        std::string said;
        try {
            write_file(file, std::string(10'000, 'x'));
        } catch (const Fault& fault) {
            said = fault.what();
        }
        setrlimit(RLIMIT_FSIZE, &before);
        std::signal(SIGXFSZ, handler);
        CHECK(said == "writing " + file.string() + ".part: File too large");
        CHECK(content_of(file) == "old");
        CHECK_FALSE(std::filesystem::exists(folder.path() / "f.part"));
    }

    TEST_CASE("NameThatIsTakenByAFolderIsAFaultAndLeavesNothingBeside") {
        const testing::TemporaryFolder folder;
        std::filesystem::create_directories(folder.path() / "f" / "inside");
        CHECK_THROWS_WITH_AS(write_file(folder.path() / "f", "x"), doctest::Contains("cannot write"), Fault);
        CHECK_FALSE(std::filesystem::exists(folder.path() / "f.part"));
    }

    TEST_CASE("LinkUnderTheTemporaryNameIsNotFollowed") {
        const testing::TemporaryFolder folder;
        const std::filesystem::path other = folder.path() / "other";
        for (const bool hard : {false, true}) {
            std::ofstream(other) << "somebody's";
            if (hard)
                std::filesystem::create_hard_link(other, folder.path() / "f.part");
            else
                std::filesystem::create_symlink(other, folder.path() / "f.part");
            write_file(folder.path() / "f", "mine");
            CHECK(content_of(folder.path() / "f") == "mine");
            CHECK(content_of(other) == "somebody's");
        }
        CHECK_FALSE(std::filesystem::is_symlink(folder.path() / "f"));
    }

    TEST_CASE("ContentMayComeInParts") {
        const testing::TemporaryFolder folder;
        write_file(folder.path() / "f", [](const WritePart& write) {
            write("a");
            write("");
            write("bc");
        });
        CHECK(content_of(folder.path() / "f") == "abc");
        CHECK_THROWS_AS(write_file(folder.path() / "f", [](const WritePart&) { throw Fault("no more"); }), Fault);
        CHECK(content_of(folder.path() / "f") == "abc");
        CHECK_FALSE(std::filesystem::exists(folder.path() / "f.part"));
    }

    TEST_CASE("FolderThatIsMissingIsAFaultWithThePath") {
        CHECK_THROWS_WITH_AS(write_file("/nowhere/file", "x"), doctest::Contains("/nowhere/file"), Fault);
    }
}
