// Every defect of a safetensors file, one row each.
#include "aggregation/base/error.h"
#include "sim/state/state_file.h"
#include "tests/sim/state/state_files.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// A header with a defect, and the number of bytes of data that follow it.
struct Wrong {
    std::string header;
    std::size_t data_bytes;
};

void check_refused(const std::vector<Wrong>& rows) {
    for (const Wrong& row : rows) {
        CAPTURE(row.header.substr(0, 200));
        const std::string message =
            testing::message_of<ConfigError>([&] { decode_state(file_of(row.header, row.data_bytes), "here"); });
        CHECK(message.starts_with("here: "));
        CHECK_MESSAGE_IS("state", fmt::format("{} and {} bytes", row.header.substr(0, 100), row.data_bytes), message);
    }
}

}  // namespace

TEST_SUITE("StateFileRefused") {
    TEST_CASE("HeaderThatLiesAboutItselfIsRefused") {
        const auto refused = [](const std::string& content) {
            CHECK_THROWN_MESSAGE("state", "here: ", ConfigError, decode_state(content, "here"));
        };
        const auto claiming = [](std::uint64_t length) {
            std::string content = file_of("{}", 0);
            std::memcpy(content.data(), &length, sizeof length);
            return content;
        };
        refused("");
        refused("1234567");
        refused(claiming(3));
        refused(claiming(100'000'000));
        refused(claiming(100'000'001));
        refused(claiming(UINT64_MAX));
        refused(claiming(UINT64_MAX - 7));
        refused(claiming(0));
        refused(claiming(1));
    }

    TEST_CASE("HeaderThatIsNoObjectOfTensorsIsRefused") {
        using namespace std::string_literals;
        check_refused({
            {"[1, 2]", 0},
            {" {}", 0},
            {"\xEF\xBB\xBF{}", 0},
            {"{}{}", 0},
            {"{}\0"s, 0},
            {"{}\0 anything"s, 0},
            {"{// a comment\n}", 0},
            {"{'a':{}}", 0},
            {"{\"a\":", 0},
            {"{\"a\":5}", 0},
            {"{\"a\":null}", 0},
            {"{\"a\":true}", 0},
            {"{\"a\":-1.5}", 0},
            {"{\"a\":[]}", 0},
            {R"({"a":"b"})", 0},
            {"{\"\xff\xfe\":{}}", 0},
            {R"({"\ud800":{}})", 0},
            {"{\"a\x01\":5}", 0},
            {R"({"\u001b[2J":5})", 0},
            {"{\"" + std::string(500, 'a') + "\":5}", 0},
        });
    }

    TEST_CASE("DeepNestingIsRefusedAtOnce") {
        constexpr std::size_t kDeep = 5'000'000;
        std::string objects;
        for (std::size_t i = 0; i < kDeep; ++i) objects += "{\"a\":";
        check_refused({
            {"{\"a\":" + std::string(kDeep, '['), 0},
            {objects, 0},
            {R"({"a":{"dtype":"U8","shape":)" + std::string(kDeep, '['), 0},
            {R"({"a":{"dtype":)" + objects, 0},
            {R"({"__metadata__":{"a":)" + objects, 0},
        });
    }

    TEST_CASE("MetadataThatAreNotTextAreRefused") {
        check_refused({
            {R"({"__metadata__":5})", 0},
            {R"({"__metadata__":null})", 0},
            {R"({"__metadata__":{"a":5}})", 0},
            {R"({"__metadata__":{"a":null}})", 0},
            {R"({"__metadata__":{"a":{}}})", 0},
            {R"({"__metadata__":{"a":["b"]}})", 0},
            {R"({"__metadata__":{"a":"b","a":"b"}})", 0},
            {R"({"__metadata__":{},"__metadata__":{}})", 0},
            {"{\"__metadata__\":{\"a\":\"\xc3\x28\"}}", 0},
        });
    }

    TEST_CASE("TensorThatIsNotDescribedIsRefused") {
        check_refused({
            {R"({"a":{}})", 0},
            {R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[]}})", 0},
            {R"({"a":{"dtype":8,"shape":[],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":["U8"],"shape":[],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":"[1]","data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":null,"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[1e3],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[1e999],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":1}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":"0,1"}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":{}}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1.0]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[-1,0]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,"1"]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,18446744073709551616]}})", 1},
            {R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"shape":[],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"data_offsets":[0,1]}})", 1},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"strides":[]}})", 1},
            {header_of({tensor_entry("a", "U8", "[]", "[0,1]"), tensor_entry("a", "U8", "[]", "[1,2]")}), 2},
        });
    }

    TEST_CASE("DataThatDoNotFitDtypeAndShapeAreRefused") {
        check_refused({
            {header_of({tensor_entry("a", "F32", "[2,3]", "[0,20]")}), 20},
            {header_of({tensor_entry("a", "F32", "[]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "F32", "[0]", "[0,4]")}), 4},
            {header_of({tensor_entry("a", "F4", "[1]", "[0,1]")}), 1},
            {header_of({tensor_entry("a", "U8", "[4294967296,4294967296]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "U8", "[4294967296,4294967296,0]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "F64", "[2305843009213693952]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "U8", "[2305843009213693952]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "U24", "[2]", "[0,0]")}), 0},
            {header_of({tensor_entry("a", "U24", "[3]", "[0,1]")}), 1},
            {header_of({tensor_entry("a", "U24", "[0]", "[0,1]")}), 1},
            {header_of({tensor_entry("a", "f32", "[3]", "[0,10]")}), 10},
        });
    }

    TEST_CASE("RangesThatAreNotTheWholeOfTheDataAreRefused") {
        const auto pair = [](const char* first, const char* second) {
            return header_of({tensor_entry("a", "U8", "[4]", first), tensor_entry("b", "U8", "[4]", second)});
        };
        check_refused({
            {pair("[0,4]", "[4,8]"), 7},
            {pair("[0,4]", "[4,8]"), 9},
            {pair("[0,4]", "[5,9]"), 9},
            {pair("[1,5]", "[5,9]"), 9},
            {pair("[0,4]", "[3,7]"), 7},
            {pair("[0,4]", "[0,4]"), 4},
            {pair("[0,4]", "[8,4]"), 8},
            {pair("[0,4]", "[18446744073709551612,0]"), 8},
            {pair("[0,4]", "[4,18446744073709551615]"), 8},
            {header_of({tensor_entry("a", "U8", "[0]", "[1,1]")}), 0},
            {header_of({tensor_entry("a", "U8", "[0]", "[1,1]")}), 1},
            {"{}", 1},
        });
    }

#ifndef FEDHIVE_SANITIZED  // its own memory would be counted
    TEST_CASE("HostileHeaderTakesASmallMultipleOfItsLength") {
        const auto peak_bytes = [] {
            rusage usage{};
            getrusage(RUSAGE_SELF, &usage);
            return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
        };
        std::string dimensions = "1", pairs;
        for (std::size_t i = 0; i < 2'000'000; ++i) dimensions += ",1";
        for (std::size_t i = 0; i < 400'000; ++i) pairs += fmt::format(R"({}"{:x}":"")", i == 0 ? "" : ",", i);
        for (const std::string& header :
             {R"({"a":{"dtype":"U8","shape":[)" + dimensions + "]}}", "{\"__metadata__\":{" + pairs + "}}"}) {
            std::string content = file_of(header, 1);
            const std::size_t before = peak_bytes();
            CHECK_THROWS_AS(decode_state(std::move(content), "here"), ConfigError);
            CHECK(peak_bytes() - before < 20 * header.size());
        }
    }
#endif
}
