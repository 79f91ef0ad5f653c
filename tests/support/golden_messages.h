// The wording of messages. tests/golden/messages/AREA.txt has it; tests assert kind, key and line, and that the rest is what the file says.
//
//     CHECK_MESSAGE_IS("config", "rounds: 0", error.what());
//
// The entry's name is "Suite/Case | name"; an empty name is the number of the message among those of its test case that differ.
// To rewrite the entries of the cases that run:
//
//     FEDHIVE_RECORD_GOLDEN=1 build/release/test_config
//
// Safe for test programs that run side by side: a writer locks the file. A case that passes without having used one of its entries makes the
// program exit with status 1; GoldenMessages in tests/sim/config finds the entries whose case is gone.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::testing {

/// Parts of a message that differ between runs and machines: the text, and the word that replaces it.
using Masks = std::vector<std::pair<std::string, std::string>>;

/// `text` with the masks applied in their order; then folders of tests become {folder}, the source folder
/// {source}, the place and condition of a failed check go, "12 bytes (12 B)" becomes {bytes}, and the number of a process {pid}. Ends without a line break.
std::string masked(std::string text, Masks masks = {});

/// An entry of a file: its test case as "Suite/Case", its name in it, and the message.
struct GoldenMessage {
    std::string test_case;
    std::string name;
    std::string text;
    std::string title() const { return test_case + " | " + name; }
};

/// One line "Suite/Case | name" for each message, the message below it, its lines indented by four spaces. Sorted by test case; in one test
/// case in the order of use.
std::vector<GoldenMessage> parse_messages(std::istream& in);

std::string print_messages(const std::string& area, const std::vector<GoldenMessage>& messages);

/// The file of an area, and which of its entries this process has used.
class GoldenMessages {
public:
    explicit GoldenMessages(std::string area);

    static GoldenMessages& of(const std::string& area);

    /// "" where the wording is the file's; otherwise what differs, in which file, and how to rewrite it.
    std::string difference(const std::string& test_case, const std::string& name, const std::string& actual);

private:
    /// As many messages without a name as this test case has given until this one, each text counted once.
    std::string number(const std::string& test_case, const std::string& text);

    /// Line breaks become "\n", other bytes that are not printable ASCII "\xNN".
    static std::string one_line(const std::string& name);

    /// Replaces the entries of this test case by those that this process has met.
    std::string record(const GoldenMessage& now);

    /// At the end of the process that made them, not of its children.
    static void fail_where_unused(const std::map<std::string, GoldenMessages>& all);

    std::string area_;
    std::filesystem::path file_;
    std::vector<GoldenMessage> messages_;
    std::map<std::string, std::string> used_;
    std::map<std::string, std::vector<std::string>> numbered_;
    std::set<std::string> recorded_;
    pid_t process_ = getpid();
};

/// CHECK_MESSAGE_IS and the text part of CHECK_THROWN_MESSAGE, in that line of that file. Functions, since a macro of doctest takes long to compile.
void check_message_is(const char* file, int line, const std::string& area, const std::string& name, const std::string& actual);
void check_thrown_message(const char* file, int line, const std::string& area, const std::string& part,
                          const std::string& thrown);

/// Whether the lines of `message` begin with the lines of `places`, such as "c.yaml:7: rounds", in the same order; indented lines are left out.
bool is_at(const std::string& message, const std::string& places);

/// What `call` throws as an Error, or "" with a failed check where it throws none of that type.
template <class Error, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    FAIL_CHECK("nothing was thrown");
    return "";
}

}  // namespace fedhive::testing

/// That `actual`, masked, is the entry `name` of this test case in tests/golden/messages/`area`.txt.
#define CHECK_MESSAGE_IS(area, name, actual) ::fedhive::testing::check_message_is(__FILE__, __LINE__, area, name, actual)

/// Checks that an expression throws an `error` whose text has `part`, such as a file, a line or a key, and is the next entry without a name.
#define CHECK_THROWN_MESSAGE(area, part, error, ...)                         \
    ::fedhive::testing::check_thrown_message(__FILE__, __LINE__, area, part, \
                                             ::fedhive::testing::message_of<error>([&] { static_cast<void>(__VA_ARGS__); }))
