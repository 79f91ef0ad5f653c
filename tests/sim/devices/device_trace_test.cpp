// CSV traces of devices: reading, and every message for a mistake.
#include "sim/devices/device_trace.h"

#include "aggregation/base/error.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

struct Row {
    std::string text;
    std::string place;
};

std::filesystem::path write(const testing::TemporaryFolder& folder, const std::string& text) {
    std::ofstream(folder.path() / "t.csv", std::ios::binary) << text;
    return folder.path() / "t.csv";
}

/// The ConfigError's text from the file's name on, or "" without one.
template <typename Read>
std::string error_of(const std::string& text, Read read) {
    const testing::TemporaryFolder folder;
    try {
        read(write(folder, text), 3);
    } catch (const ConfigError& error) {
        return std::string(error.what()).substr(folder.path().string().size() + 1);
    }
    return "";
}

template <typename Read>
void check(const std::vector<Row>& rows, const std::string& before, Read read) {
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const std::string error = error_of(before + row.text, read);
        CHECK_MESSAGE(testing::is_at(error, row.place), error);
        CHECK_MESSAGE_IS("devices", row.text.empty() ? "nothing" : row.text, error);
    }
}

const std::string kSpeeds = "client,seconds_per_example,upload,download\n";
const std::string kTimes = "client,start_s,end_s\n";

std::vector<DeviceSpeed> speeds_of(const std::string& text) {
    const testing::TemporaryFolder folder;
    return read_device_trace(write(folder, text), 3);
}

}  // namespace

TEST_SUITE_BEGIN("DeviceTrace");

TEST_CASE("RowsOfSpeedsInAnyOrderAreReadByClient") {
    const std::vector<DeviceSpeed> speeds = speeds_of(kSpeeds + "2,0.5,100,400\n0,1e-3,1e6,4e6\n1,1000000,1,1e12\n");
    REQUIRE(speeds.size() == 3);
    CHECK(speeds[0].seconds_per_example == 0.001);
    CHECK(speeds[0].upload == 1e6);
    CHECK(speeds[0].download == 4e6);
    CHECK(speeds[1].seconds_per_example == 1e6);
    CHECK(speeds[1].upload == 1.0);
    CHECK(speeds[1].download == 1e12);
    CHECK(speeds[2].seconds_per_example == 0.5);
    CHECK(speeds[2].upload == 100.0);
    CHECK(speeds[2].download == 400.0);
}

TEST_CASE("ByteOrderMarkCrlfAndNoNewlineAtTheEndAreBorne") {
    const std::string rows = "0,1,2,3\r\n1,1,2,3\r\n2,4,5,6";
    const std::vector<DeviceSpeed> speeds = speeds_of(
        "\xEF\xBB\xBF"
        "client,seconds_per_example,upload,download\r\n" +
        rows);
    REQUIRE(speeds.size() == 3);
    CHECK(speeds[2].download == 6.0);
    CHECK(speeds_of(kSpeeds + rows + "\r\n")[2].seconds_per_example == 4.0);
}

TEST_CASE("IntervalsMayTouchAndClientsMayAlternate") {
    const testing::TemporaryFolder folder;
    const auto intervals = read_availability_trace(write(folder, kTimes + "1,0,10\n0,5,7.5\n1,10,11\n2,3,1e9\n0,8,9\n"), 3);
    REQUIRE(intervals.size() == 3);
    REQUIRE(intervals[0].size() == 2);
    CHECK(intervals[0][0].start_s == 5.0);
    CHECK(intervals[0][0].end_s == 7.5);
    CHECK(intervals[0][1].start_s == 8.0);
    REQUIRE(intervals[1].size() == 2);
    CHECK(intervals[1][1].end_s == 11.0);
    REQUIRE(intervals[2].size() == 1);
    CHECK(intervals[2][0].end_s == 1e9);
}

TEST_CASE("FilesThatAreNone") {
    const testing::TemporaryFolder folder;
    CHECK_THROWN_MESSAGE("devices", "/no.csv:", ConfigError, read_device_trace(folder.path() / "no.csv", 3));
    CHECK_THROWS_WITH_AS(read_availability_trace(folder.path(), 3), doctest::Contains(": is a folder"), ConfigError);
    CHECK_THROWN_MESSAGE("devices", ":", ConfigError, read_availability_trace("/dev/zero", 3));
    REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK_THROWN_MESSAGE("devices", ":", ConfigError, read_device_trace(folder.path() / "pipe", 3));
    // A single line of zeros without end.
    std::ofstream(folder.path() / "holes");
    std::filesystem::resize_file(folder.path() / "holes", std::uintmax_t{1} << 40);
    CHECK_THROWN_MESSAGE("devices", "", ConfigError, read_device_trace(folder.path() / "holes", 3));
}

TEST_CASE("WrongHeaders") {
    check({{"", "t.csv:1"},
           {"\n", "t.csv:1"},
           {"client,seconds_per_example,upload\n", "t.csv:1"},
           {"client,seconds_per_example,download,upload\n", "t.csv:1"},
           {"Client,seconds_per_example,upload,download\n", "t.csv:1"},
           {"client;a\tb\n", "t.csv:1"},
           {"0,1,2,3\n", "t.csv:1"}},
          "", read_device_trace);
    check({{kSpeeds, "t.csv:1"}}, "", read_availability_trace);
}

TEST_CASE("WrongNumbersOfCells") {
    check({{"0,1,2\n", "t.csv:2"},
           {"0,1,2,3\n1,1,2,3,4\n", "t.csv:3"},
           {"0,1,2,3,\n", "t.csv:2"},
           {"0;1;2;3\n", "t.csv:2"},
           {"0,1,2,3\n\n1,1,2,3\n", "t.csv:3"},
           {"0,1,2,3\n1,1,2,3\n2,1,2,3\n\r\n", "t.csv:5"}},
          kSpeeds, read_device_trace);
    check({{"0,1\n", "t.csv:2"}}, kTimes, read_availability_trace);
}

TEST_CASE("WrongClients") {
    check({{"3,1,2,3\n", "t.csv:2: client"},
           {"99999999999999999999,1,2,3\n", "t.csv:2: client"},
           {"-1,1,2,3\n", "t.csv:2: client"},
           {"a,1,2,3\n", "t.csv:2: client"},
           {"1.0,1,2,3\n", "t.csv:2: client"},
           {"\"1\",1,2,3\n", "t.csv:2: client"},
           {",1,2,3\n", "t.csv:2: client"},
           {"2,1,2,3\n0,1,2,3\n2,1,2,3\n", "t.csv:4: client"},
           {"2,1,2,3\n0,1,2,3\n", "t.csv:3: client"},
           {"", "t.csv:1: client"}},
          kSpeeds, read_device_trace);
    check({{"3,1,2\n", "t.csv:2: client"}, {"0,1,2\n2,1,2\n", "t.csv:3: client"}}, kTimes, read_availability_trace);
}

TEST_CASE("WrongSpeeds") {
    check({{"0,0,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,-1,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,1e7,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,1e-999,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,fast,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,1s,2,3\n", "t.csv:2: seconds_per_example"},
           {"0, 1,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,nan,2,3\n", "t.csv:2: seconds_per_example"},
           {"0,1,2,3\n1,1,inf,3\n", "t.csv:3: upload"},
           {"0,1,-inf,3\n", "t.csv:2: upload"},
           {"0,1,0,3\n", "t.csv:2: upload"},
           {"0,1,0.5,3\n", "t.csv:2: upload"},
           {"0,1,2,-3\n", "t.csv:2: download"},
           {"0,1,2,1e13\n", "t.csv:2: download"},
           {"0,1,2,1e999\n", "t.csv:2: download"},
           {"0,1,2,\n", "t.csv:2: download"}},
          kSpeeds, read_device_trace);
}

TEST_CASE("WrongTimes") {
    check({{"0,-1,2\n", "t.csv:2: start_s"},
           {"0,1,inf\n", "t.csv:2: end_s"},
           {"0,x,2\n", "t.csv:2: start_s"},
           {"0,1,\n", "t.csv:2: end_s"},
           {"0,2,2\n", "t.csv:2: end_s"},
           {"0,2,1\n", "t.csv:2: end_s"},
           {"0,0,10\n1,0,5\n0,9,20\n", "t.csv:4: start_s"},
           {"0,5,10\n0,1,2\n", "t.csv:3: start_s"}},
          kTimes, read_availability_trace);
}

TEST_SUITE_END();
