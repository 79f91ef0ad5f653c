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

#include "tests/support/places.h"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::testing {

/// What stands for the parts of a message that differ between runs and machines: text, and the word in its place.
using Masks = std::vector<std::pair<std::string, std::string>>;

/// `text` with the masks applied in their order; then folders of tests become {folder}, the source folder
/// {source}, the place and condition of a failed check go, "12 bytes (12 B)" becomes {bytes}, and the number of a process {pid}. Ends without a line break.
inline std::string masked(std::string text, Masks masks = {}) {
    masks.emplace_back(source_folder().string(), "{source}");
    for (const auto& [part, word] : masks)
        for (std::size_t at = part.empty() ? std::string::npos : text.find(part); at != std::string::npos;
             at = text.find(part, at + word.size()))
            text.replace(at, part.size(), word);
    while (text.ends_with('\n')) text.pop_back();
    static const std::regex folder("[^ ':\"]*/fedhive-[a-z]+-[A-Za-z0-9]{6}\\b");
    static const std::regex bytes("[0-9]+ bytes \\([^)]*\\)"), process("\\b(process|kill -INT) [0-9]+");
    static const std::regex place("\\{source\\}[^ :]*:[0-9]+: check failed: [^:]*(::[^:]+)*: ");
    text = std::regex_replace(text, folder, "{folder}");
    text = std::regex_replace(text, place, "check failed: ");
    text = std::regex_replace(text, bytes, "{bytes}");
    return std::regex_replace(text, process, "$1 {pid}");
}

/// An entry of a file: its test case as "Suite/Case", its name in it, and the message.
struct GoldenMessage {
    std::string test_case;
    std::string name;
    std::string text;
    std::string title() const { return test_case + " | " + name; }
};

/// One line "Suite/Case | name" for each message, the message below it, its lines indented by four spaces. Sorted by test case; in one test
/// case in the order of use.
inline std::vector<GoldenMessage> parse_messages(std::istream& in) {
    std::vector<GoldenMessage> messages;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        if (line.starts_with("    ") && !messages.empty()) {
            std::string& text = messages.back().text;
            text += (text.empty() ? "" : "\n") + line.substr(4);
        } else {
            const std::size_t bar = line.find(" | ");
            messages.push_back({line.substr(0, bar), bar == std::string::npos ? "" : line.substr(bar + 3), ""});
        }
    }
    return messages;
}

inline std::string print_messages(const std::string& area, const std::vector<GoldenMessage>& messages) {
    std::string all =
        "# The wording of messages (" + area + "), checked by tests/support/golden_messages.h, which says how to rewrite it.\n";
    for (const GoldenMessage& message : messages) {
        all += "\n" + message.title() + "\n";
        std::istringstream lines(message.text);
        for (std::string line; std::getline(lines, line);) all += "    " + line + "\n";
    }
    return all;
}

/// The file of an area, and which of its entries this process has used.
class GoldenMessages {
public:
    explicit GoldenMessages(std::string area)
        : area_(std::move(area)), file_(source_folder() / "tests/golden/messages" / (area_ + ".txt")) {
        std::ifstream in(file_);
        messages_ = parse_messages(in);
    }

    static GoldenMessages& of(const std::string& area) {
        static std::map<std::string, GoldenMessages> all;
        static const bool asked_at_exit = [] {
            std::atexit([] { fail_where_unused(all); });
            return true;
        }();
        static_cast<void>(asked_at_exit);
        return all.try_emplace(area, area).first->second;
    }

    /// "" where the wording is the file's; otherwise what differs, in which file, and how to rewrite it.
    std::string difference(const std::string& test_case, const std::string& name, const std::string& actual) {
        const GoldenMessage now{test_case, name.empty() ? number(test_case, actual) : one_line(name), actual};
        const auto [use, is_first] = used_.try_emplace(now.title(), actual);
        if (!is_first && use->second != actual)
            return "two messages are called '" + now.title() + "'; give them different names: " + use->second + " | " + actual;
        if (std::getenv("FEDHIVE_RECORD_GOLDEN") != nullptr) return is_first ? record(now) : "";
        const std::string rewrite = "\nto rewrite it: FEDHIVE_RECORD_GOLDEN=1 and this test case; then read the difference";
        const auto found = std::find_if(messages_.begin(), messages_.end(),
                                        [&](const GoldenMessage& message) { return message.title() == now.title(); });
        if (found == messages_.end())
            return file_.string() + " has no entry '" + now.title() + "'; the message is:\n" + actual + rewrite;
        if (found->text == actual) return "";
        return "the wording differs from entry '" + now.title() + "' of " + file_.string() + "\nfile:    " + found->text +
               "\nmessage: " + actual + rewrite;
    }

private:
    /// As many messages without a name as this test case has given until this one, each text counted once.
    std::string number(const std::string& test_case, const std::string& text) {
        std::vector<std::string>& met = numbered_[test_case];
        const auto at = std::find(met.begin(), met.end(), text);
        const auto index = at - met.begin();
        if (at == met.end()) met.push_back(text);
        return std::to_string(index + 1);
    }

    /// Line breaks become "\n", other bytes that are not printable ASCII "\xNN".
    static std::string one_line(const std::string& name) {
        std::string line;
        for (const char c : name) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            line += c == '\n' ? "\\n" : c >= ' ' && c < 127 ? std::string(1, c) : std::string(escaped);
        }
        return line;
    }

    /// Replaces the entries of this test case by those that this process has met.
    std::string record(const GoldenMessage& now) {
        const int fd = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || flock(fd, LOCK_EX) != 0) return "cannot write " + file_.string();
        std::ifstream in(file_);
        messages_ = parse_messages(in);
        const bool begins = recorded_.insert(now.test_case).second;
        if (begins) std::erase_if(messages_, [&](const GoldenMessage& message) { return message.test_case == now.test_case; });
        const auto behind = [](const std::string& key, const GoldenMessage& message) { return key < message.test_case; };
        messages_.insert(std::upper_bound(messages_.begin(), messages_.end(), now.test_case, behind), now);
        const std::string text = print_messages(area_, messages_);
        const bool written =
            ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
        close(fd);
        return written ? "" : "cannot write " + file_.string();
    }

    /// At the end of the process that made them, not of its children.
    static void fail_where_unused(const std::map<std::string, GoldenMessages>& all) {
        bool found = false;
        for (const auto& [area, golden] : all) {
            if (golden.process_ != getpid()) continue;
            std::set<std::string> test_cases;
            for (const auto& [title, text] : golden.used_) test_cases.insert(title.substr(0, title.find(" | ")));
            for (const GoldenMessage& message : golden.messages_) {
                if (!test_cases.contains(message.test_case) || golden.used_.contains(message.title())) continue;
                std::fprintf(stderr, "%s: no test uses the entry '%s'; FEDHIVE_RECORD_GOLDEN=1 and its test case take it out\n",
                             golden.file_.c_str(), message.title().c_str());
                found = true;
            }
        }
        if (found) _exit(1);
    }

    std::string area_;
    std::filesystem::path file_;
    std::vector<GoldenMessage> messages_;
    std::map<std::string, std::string> used_;
    std::map<std::string, std::vector<std::string>> numbered_;
    std::set<std::string> recorded_;
    pid_t process_ = getpid();
};

/// CHECK_MESSAGE_IS without its place in the source.
inline std::string message_difference(const std::string& area, const std::string& name, const std::string& actual) {
    const auto* test_case = doctest::getContextOptions()->currentTest;
    return GoldenMessages::of(area).difference(std::string(test_case->m_test_suite) + "/" + test_case->m_name, name,
                                               masked(actual));
}

/// Whether the lines of `message` begin with the lines of `places`, such as "c.yaml:7: rounds", in the same order; indented lines are left out.
inline bool is_at(const std::string& message, const std::string& places) {
    std::istringstream lines(message), wanted(places);
    std::string place;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with(' ') && (!std::getline(wanted, place) || !line.starts_with(place + ":"))) return false;
    return !std::getline(wanted, place);
}

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
#define CHECK_MESSAGE_IS(area, name, actual)                                                        \
    do {                                                                                            \
        const std::string difference_ = ::fedhive::testing::message_difference(area, name, actual); \
        CHECK_MESSAGE(difference_.empty(), difference_);                                            \
    } while (false)

/// That an expression throws an `error` whose text has `part`, such as a file, a line or a key, and is the next entry without a name.
#define CHECK_THROWN_MESSAGE(area, part, error, ...)                                                                \
    do {                                                                                                            \
        const std::string thrown_ = ::fedhive::testing::message_of<error>([&] { static_cast<void>(__VA_ARGS__); }); \
        CHECK_MESSAGE(thrown_.find(part) != std::string::npos, thrown_);                                            \
        CHECK_MESSAGE_IS(area, "", thrown_);                                                                        \
    } while (false)
