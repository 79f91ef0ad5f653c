// Every defect of a safetensors file, one row each.
#include "aggregation/base/error.h"
#include "sim/state/state_file.h"
#include "tests/sim/state/state_files.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// A defect and a part of its message.
struct Wrong {
    std::string header;
    std::size_t data_bytes;
    const char* reason;
};

void check_refused(const std::vector<Wrong>& rows) {
    for (const Wrong& row : rows) {
        CAPTURE(row.header.substr(0, 200));
        CHECK_THROWS_WITH_AS(decode_state(file_of(row.header, row.data_bytes), "here"), doctest::Contains(row.reason),
                             ConfigError);
        CHECK_THROWS_WITH_AS(decode_state(file_of(row.header, row.data_bytes), "here"), doctest::Contains("here: not a safe"),
                             ConfigError);
    }
}

}  // namespace

TEST_SUITE("StateFileRefused") {
    TEST_CASE("HeaderThatLiesAboutItselfIsRefused") {
        const auto refused = [](const std::string& content, const char* reason) {
            CHECK_THROWS_WITH_AS(decode_state(content, "here"), doctest::Contains(reason), ConfigError);
        };
        const auto claiming = [](std::uint64_t length) {
            std::string content = file_of("{}", 0);
            std::memcpy(content.data(), &length, sizeof length);
            return content;
        };
        refused("", "here: not a safetensors file: shorter than 8 bytes");
        refused("1234567", "shorter than 8 bytes");
        refused(claiming(3), "its header claims 3 bytes, the file has 10");
        refused(claiming(100'000'000), "its header claims 100000000 bytes, the file has 10");
        refused(claiming(100'000'001), "its header claims 100000001 bytes, 100000000 at most are allowed");
        refused(claiming(UINT64_MAX), "at most are allowed");
        refused(claiming(UINT64_MAX - 7), "at most are allowed");
        refused(claiming(0), "not a JSON object");
        refused(claiming(1), "not valid JSON");
    }

    TEST_CASE("HeaderThatIsNoObjectOfTensorsIsRefused") {
        using namespace std::string_literals;
        check_refused({
            {"[1, 2]", 0, "its header is not a JSON object"},
            {" {}", 0, "its header is not a JSON object"},
            {"\xEF\xBB\xBF{}", 0, "its header is not a JSON object"},
            {"{}{}", 0, "not valid JSON at byte 3"},
            {"{}\0"s, 0, "it has a zero byte"},
            {"{}\0 anything"s, 0, "it has a zero byte"},
            {"{// a comment\n}", 0, "not valid JSON"},
            {"{'a':{}}", 0, "not valid JSON"},
            {"{\"a\":", 0, "not valid JSON"},
            {"{\"a\":5}", 0, "the entry 'a' of its header is not an object"},
            {"{\"a\":null}", 0, "the entry 'a' of its header is not an object"},
            {"{\"a\":true}", 0, "the entry 'a' of its header is not an object"},
            {"{\"a\":-1.5}", 0, "the entry 'a' of its header is not an object"},
            {"{\"a\":[]}", 0, "the entry 'a' of its header is not an object"},
            {R"({"a":"b"})", 0, "the entry 'a' of its header is not an object"},
            {"{\"\xff\xfe\":{}}", 0, "not valid JSON"},
            {R"({"\ud800":{}})", 0, "not valid JSON"},
            {"{\"a\x01\":5}", 0, "not valid JSON"},
            {R"({"\u001b[2J":5})", 0, "the entry '?[2J' of its header"},
            {"{\"" + std::string(500, 'a') + "\":5}", 0, "aaa...' of its header"},
        });
    }

    TEST_CASE("DeepNestingIsRefusedAtOnce") {
        constexpr std::size_t kDeep = 5'000'000;
        std::string objects;
        for (std::size_t i = 0; i < kDeep; ++i) objects += "{\"a\":";
        check_refused({
            {"{\"a\":" + std::string(kDeep, '['), 0, "the entry 'a' of its header is not an object"},
            {objects, 0, "tensor 'a' has 'a'"},
            {R"({"a":{"dtype":"U8","shape":)" + std::string(kDeep, '['), 0, "its shape is not a list of whole numbers"},
            {R"({"a":{"dtype":)" + objects, 0, "its dtype is not a string"},
            {R"({"__metadata__":{"a":)" + objects, 0, "its metadata 'a' is not a string"},
        });
    }

    TEST_CASE("MetadataThatAreNotTextAreRefused") {
        check_refused({
            {R"({"__metadata__":5})", 0, "the entry '__metadata__' of its header is not an object"},
            {R"({"__metadata__":null})", 0, "the entry '__metadata__' of its header is not an object"},
            {R"({"__metadata__":{"a":5}})", 0, "its metadata 'a' is not a string"},
            {R"({"__metadata__":{"a":null}})", 0, "its metadata 'a' is not a string"},
            {R"({"__metadata__":{"a":{}}})", 0, "its metadata 'a' is not a string"},
            {R"({"__metadata__":{"a":["b"]}})", 0, "its metadata 'a' is not a string"},
            {R"({"__metadata__":{"a":"b","a":"b"}})", 0, "its metadata have 'a' twice"},
            {R"({"__metadata__":{},"__metadata__":{}})", 0, "has __metadata__ twice"},
            {"{\"__metadata__\":{\"a\":\"\xc3\x28\"}}", 0, "not valid JSON"},
        });
    }

    TEST_CASE("TensorThatIsNotDescribedIsRefused") {
        check_refused({
            {R"({"a":{}})", 0, "tensor 'a' lacks dtype, shape or data_offsets"},
            {R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1, "lacks"},
            {R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "lacks"},
            {R"({"a":{"dtype":"U8","shape":[]}})", 0, "lacks"},
            {R"({"a":{"dtype":8,"shape":[],"data_offsets":[0,1]}})", 1, "its dtype is not a string"},
            {R"({"a":{"dtype":["U8"],"shape":[],"data_offsets":[0,1]}})", 1, "its dtype is not a string"},
            {R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})", 1, "its shape is not a list of whole numbers"},
            {R"({"a":{"dtype":"U8","shape":"[1]","data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":null,"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[1e3],"data_offsets":[0,1]}})", 1, "its shape is not a list"},
            {R"({"a":{"dtype":"U8","shape":[1e999],"data_offsets":[0,1]}})", 1, "not valid JSON"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":1}})", 1, "its data_offsets are not two whole numbers"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":"0,1"}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":{}}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1,1]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1.0]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[-1,0]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,"1"]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,18446744073709551616]}})", 1, "its data_offsets are not two"},
            {R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1, "has its dtype twice"},
            {R"({"a":{"dtype":"U8","shape":[],"shape":[],"data_offsets":[0,1]}})", 1, "has its shape twice"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"data_offsets":[0,1]}})", 1, "has its data_offsets twice"},
            {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"strides":[]}})", 1, "tensor 'a' has 'strides'"},
            {header_of({tensor_entry("a", "U8", "[]", "[0,1]"), tensor_entry("a", "U8", "[]", "[1,2]")}), 2,
             "two tensors have the name 'a'"},
        });
    }

    TEST_CASE("DataThatDoNotFitDtypeAndShapeAreRefused") {
        check_refused({
            {header_of({tensor_entry("a", "F32", "[2,3]", "[0,20]")}), 20,
             "tensor 'a' is F32 [2,3], which does not take the 20 bytes that it has"},
            {header_of({tensor_entry("a", "F32", "[]", "[0,0]")}), 0, "tensor 'a' is F32 [], which does not take the 0 bytes"},
            {header_of({tensor_entry("a", "F32", "[0]", "[0,4]")}), 4, "does not take the 4 bytes"},
            {header_of({tensor_entry("a", "F4", "[1]", "[0,1]")}), 1, "does not take the 1 bytes"},
            {header_of({tensor_entry("a", "U8", "[4294967296,4294967296]", "[0,0]")}), 0, "more elements than can be counted"},
            {header_of({tensor_entry("a", "U8", "[4294967296,4294967296,0]", "[0,0]")}), 0,
             "more elements than can be counted"},
            {header_of({tensor_entry("a", "F64", "[2305843009213693952]", "[0,0]")}), 0, "does not take the 0 bytes"},
            {header_of({tensor_entry("a", "U8", "[2305843009213693952]", "[0,0]")}), 0, "does not take the 0 bytes"},
            {header_of({tensor_entry("a", "U24", "[2]", "[0,0]")}), 0, "does not take the 0 bytes"},
            {header_of({tensor_entry("a", "U24", "[3]", "[0,1]")}), 1, "does not take the 1 bytes"},
            {header_of({tensor_entry("a", "U24", "[0]", "[0,1]")}), 1, "does not take the 1 bytes"},
            {header_of({tensor_entry("a", "f32", "[3]", "[0,10]")}), 10, "is f32 [3], which does not take the 10 bytes"},
        });
    }

    TEST_CASE("RangesThatAreNotTheWholeOfTheDataAreRefused") {
        const auto pair = [](const char* first, const char* second) {
            return header_of({tensor_entry("a", "U8", "[4]", first), tensor_entry("b", "U8", "[4]", second)});
        };
        check_refused({
            {pair("[0,4]", "[4,8]"), 7, "tensor 'b': its data_offsets 4,8 do not lie in the file, which has 7 bytes of data"},
            {pair("[0,4]", "[4,8]"), 9, "1 bytes follow its last tensor"},
            {pair("[0,4]", "[5,9]"), 9, "tensor 'b': its data_offsets 5,9 leave a hole after byte 4"},
            {pair("[1,5]", "[5,9]"), 9, "tensor 'a': its data_offsets 1,5 leave a hole after byte 0"},
            {pair("[0,4]", "[3,7]"), 7, "tensor 'b': its data_offsets 3,7 overlap another tensor's"},
            {pair("[0,4]", "[0,4]"), 4, "overlap another tensor's"},
            {pair("[0,4]", "[8,4]"), 8, "tensor 'b': its data_offsets 8,4 run backwards"},
            {pair("[0,4]", "[18446744073709551612,0]"), 8, "run backwards"},
            {pair("[0,4]", "[4,18446744073709551615]"), 8, "do not lie in the file"},
            {header_of({tensor_entry("a", "U8", "[0]", "[1,1]")}), 0, "do not lie in the file"},
            {header_of({tensor_entry("a", "U8", "[0]", "[1,1]")}), 1, "leave a hole after byte 0"},
            {"{}", 1, "1 bytes follow its last tensor"},
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
