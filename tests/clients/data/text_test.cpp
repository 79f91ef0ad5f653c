#include "clients/data/formats/text.h"

#include "aggregation/base/error.h"
#include "tests/clients/data/npz_fixture.h"
#include "tests/conformance/dataset_conformance.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

namespace fedhive::clients {

namespace {

/// Speeches: A "abcab\ncab\n", 10 characters; B "cc\n"; C nothing.
const std::string kPlay = "A:\nabcab\n\nB:\ncc\n\nC:\n\nA:\ncab\n";

struct TextFixture {
    testing::TemporaryFolder folder;
    TextFile text{.file = folder.path() / "play.txt", .sequence = 2, .test_share = 0.4};

    explicit TextFixture(const std::string& content = kPlay) { write_content(text.file, content); }
    Dataset read() const { return read_text(text); }
    /// The windows of a part as texts, each with its label.
    std::vector<std::string> windows(const Examples& part, const std::string& vocabulary) const {
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < part.size(); ++i) {
            std::string window;
            for (std::size_t at = 0; at < text.sequence; ++at) window += vocabulary.at(part.values[i * text.sequence + at]);
            texts.push_back(window + ">" + vocabulary.at(static_cast<std::size_t>(part.labels[i])));
        }
        return texts;
    }
};

/// Expects that reading throws that message after the file's name.
void expect_text_refused(const TextFixture& fixture, const std::string& place) {
    CHECK_THROWN_MESSAGE("data", fixture.text.file.string() + place, ConfigError, fixture.read());
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_SUITE("Text") {
    TEST_CASE("WindowsOfASpeakersTextAreFollowedByTheNextCharacter") {
        const TextFixture fixture;
        conformance::check_repeatable([&] { return fixture.read(); });
        const Dataset dataset = fixture.read();
        CHECK(dataset.train.shape == ExampleShape{2, 1, 1, 4});
        CHECK(dataset.train.type == ValueType::U8);
        CHECK(dataset.num_classes == 4);
        // Names, empty lines and B (too short) are excluded; no window crosses into the test part.
        CHECK(fixture.windows(dataset.train, "\nabc") == Texts{"ab>c", "bc>a", "ca>b", "ab>\n"});
        CHECK(fixture.windows(dataset.test, "\nabc") == Texts{"ca>b", "ab>\n"});
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{0, 0, 0, 0});
        CHECK(dataset.test.owners.empty());
        CHECK(dataset.owners_left_out == 2);
    }

    TEST_CASE("StepIsFromBeginningToBeginning") {
        TextFixture fixture;
        fixture.text.step = 2;
        CHECK(fixture.windows(fixture.read().train, "\nabc") == Texts{"ab>c", "ca>b"});
        fixture.text.step = 100;
        CHECK(fixture.windows(fixture.read().test, "\nabc") == Texts{"ca>b"});
    }

    TEST_CASE("OwnersAreNumberedAsTheyFirstSpeakWithoutThoseLeftOut") {
        TextFixture fixture("Zoe:\nabcdefgh\n\nshort:\na\n\nAmy:\nabcdefgh\n\nZoe:\nab\n");
        fixture.text.unseen = Unseen::Class;
        const Dataset dataset = fixture.read();
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
        CHECK(dataset.owners_left_out == 1);
        // Amy stays although her text has no test window.
        CHECK(dataset.test.size() == 2 + 1);
    }

    TEST_CASE("LineOfASpeechMayEndInAColonAndASpeechMayHaveEmptyLines") {
        TextFixture fixture("A:\nab:\nB:\n\nabc\n");
        fixture.text.unseen = Unseen::Class;
        CHECK(fixture.read().num_classes == 6);
        CHECK(fixture.windows(fixture.read().train, "\n:Babc") == Texts{"ab>:", "b:>\n", ":\n>B", "\nB>:", "B:>\n"});
    }

    TEST_CASE("BlocksOfTheWholeTextAreOwnersToo") {
        TextFixture fixture("A:\nabcab\n\ncab");
        fixture.text.block = 6;
        fixture.text.test_share = 0.5;
        fixture.text.unseen = Unseen::Class;
        const Dataset dataset = fixture.read();
        CHECK(fixture.windows(dataset.train, "\n:Aabc") == Texts{"A:>\n", "ab>\n"});
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{0, 1});
        CHECK(dataset.owners_left_out == 1);
        CHECK(fixture.windows(dataset.test, "\n:Aabc") == Texts{"ab>c", "\nc>a"});
    }

    TEST_CASE("LineEndsOfWindowsAndAByteOrderMarkChangeNothing") {
        const auto replaced = [](std::string text) {
            for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
            return "\xEF\xBB\xBF" + text;
        };
        CHECK(TextFixture(replaced(kPlay)).read().fingerprint() == TextFixture().read().fingerprint());
    }

    TEST_CASE("EveryByteIsACharacter") {
        TextFixture fixture("\xC3\x89:\nt\xC3\xA9t\xC3\xA9, r\xFFver\n");
        CHECK_THROWN_MESSAGE("data", ":", ConfigError, fixture.read());
        fixture.text.unseen = Unseen::Class;
        const Dataset dataset = fixture.read();
        CHECK(dataset.num_classes == 7);
        CHECK(fixture.windows(dataset.train, " ,rt\xA9\xC3?")[0] == "t\xC3>\xA9");
    }

    TEST_CASE("CharactersOfTestsAloneAreRefusedOrOneClassMore") {
        TextFixture fixture("A:\nabab\nxaby\n\nB:\nbaba\nbaba\n\nC:\n&\n");  // the last 4 of 10 are tested on; C has no window
        expect_text_refused(fixture, ":");
        fixture.text.unseen = Unseen::Class;
        const Dataset dataset = fixture.read();
        CHECK(dataset.num_classes == 4 + 1);
        CHECK(dataset.train.shape == ExampleShape{2, 1, 1, 5});
        CHECK(fixture.windows(dataset.train, "\nabx?").front() == "ab>a");
        CHECK(fixture.windows(dataset.test, "\nabx?") == Texts{"ab>?", "b?>\n", "ab>a", "ba>\n"});
        // The number of classes is the same if tests have no other character: it does not depend on them.
        TextFixture known("A:\nabab\nxaba\n\nB:\nbaba\nbaba\n");
        CHECK(known.read().num_classes == 4);
        known.text.unseen = Unseen::Class;
        CHECK(known.read().num_classes == 5);
    }

    TEST_CASE("FilesThatGiveNoWindowsAreRefused") {
        expect_text_refused(TextFixture(""), ":");
        expect_text_refused(TextFixture(" \r\n\t\n"), ":");
        expect_text_refused(TextFixture("\nACT I\n\nA:\nabcdef\n"), ":2:");
        expect_text_refused(TextFixture(":\nabcdef\n"), ":1:");
        TextFixture fixture;
        fixture.text.sequence = 6;
        expect_text_refused(fixture, ":");
        fixture.text.sequence = 4;
        expect_text_refused(fixture, ":");
        CHECK_THROWS_WITH_AS(read_text({.file = fixture.folder.path() / "none.txt"}), doctest::Contains("none.txt"),
                             ConfigError);
    }

    TEST_CASE("MoreWindowsThanMemoryHoldsAreRefusedBeforeAnyIsMade") {
        TextFixture fixture(std::string(4'000'000, 'a'));
        fixture.text.block = 4'000'000;
        fixture.text.sequence = 1'000'000;
        CHECK_THROWS_WITH_AS(fixture.read(), doctest::Contains("2e+12 bytes"), ConfigError);
    }

    TEST_CASE("KeysReachTheReader") {
        const TextFixture fixture("abcabcabcabcabcabcab");
        const DataFormat& format = data_format("text");
        const Values values = completed({{"train", fixture.text.file},
                                         {"sequence", 3},
                                         {"step", 2},
                                         {"test_share", 0.5},
                                         {"owners", "blocks"},
                                         {"block", 10}},
                                        format.keys);
        const DataShape said = format.shape(values, TargetKind::Class);
        CHECK(said.example == ExampleShape{3, 1, 1, 3});
        CHECK(said.num_classes == 3);
        const Dataset dataset = format.read(values, 1, TargetKind::Class);
        CHECK(dataset.train.owners == std::vector<std::uint32_t>{0, 1});
        CHECK(dataset.test.size() == 2);
    }
}

}  // namespace fedhive::clients
