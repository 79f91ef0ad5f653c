#include "tests/support/golden_messages.h"

#include "tests/support/places.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace fedhive::testing {

std::string masked(std::string text, Masks masks) {
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

std::vector<GoldenMessage> parse_messages(std::istream& in) {
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

std::string print_messages(const std::string& area, const std::vector<GoldenMessage>& messages) {
    std::string all =
        "# The wording of messages (" + area + "), checked by tests/support/golden_messages.h, which says how to rewrite it.\n";
    for (const GoldenMessage& message : messages) {
        all += "\n" + message.title() + "\n";
        std::istringstream lines(message.text);
        for (std::string line; std::getline(lines, line);) all += "    " + line + "\n";
    }
    return all;
}

GoldenMessages::GoldenMessages(std::string area)
    : area_(std::move(area)), file_(source_folder() / "tests/golden/messages" / (area_ + ".txt")) {
    std::ifstream in(file_);
    messages_ = parse_messages(in);
}

GoldenMessages& GoldenMessages::of(const std::string& area) {
    static std::map<std::string, GoldenMessages> all;
    static const bool asked_at_exit = [] {
        std::atexit([] { fail_where_unused(all); });
        return true;
    }();
    static_cast<void>(asked_at_exit);
    return all.try_emplace(area, area).first->second;
}

std::string GoldenMessages::difference(const std::string& test_case, const std::string& name, const std::string& actual) {
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

std::string GoldenMessages::number(const std::string& test_case, const std::string& text) {
    std::vector<std::string>& met = numbered_[test_case];
    const auto at = std::find(met.begin(), met.end(), text);
    const auto index = at - met.begin();
    if (at == met.end()) met.push_back(text);
    return std::to_string(index + 1);
}

std::string GoldenMessages::one_line(const std::string& name) {
    std::string line;
    for (const char c : name) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        line += c == '\n' ? "\\n" : c >= ' ' && c < 127 ? std::string(1, c) : std::string(escaped);
    }
    return line;
}

std::string GoldenMessages::record(const GoldenMessage& now) {
    const int fd = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) return "cannot write " + file_.string();
    std::ifstream in(file_);
    messages_ = parse_messages(in);
    const bool begins = recorded_.insert(now.test_case).second;
    if (begins) std::erase_if(messages_, [&](const GoldenMessage& message) { return message.test_case == now.test_case; });
    const auto behind = [](const std::string& key, const GoldenMessage& message) { return key < message.test_case; };
    messages_.insert(std::upper_bound(messages_.begin(), messages_.end(), now.test_case, behind), now);
    const std::string text = print_messages(area_, messages_);
    const bool written = ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    close(fd);
    return written ? "" : "cannot write " + file_.string();
}

void GoldenMessages::fail_where_unused(const std::map<std::string, GoldenMessages>& all) {
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

void check_message_is(const char* file, int line, const std::string& area, const std::string& name, const std::string& actual) {
    const auto* test_case = doctest::getContextOptions()->currentTest;
    const std::string title = std::string(test_case->m_test_suite) + "/" + test_case->m_name;
    const std::string difference = GoldenMessages::of(area).difference(title, name, masked(actual));
    if (!difference.empty()) ADD_FAIL_CHECK_AT(file, line, difference);
}

void check_thrown_message(const char* file, int line, const std::string& area, const std::string& part,
                          const std::string& thrown) {
    if (thrown.find(part) == std::string::npos) ADD_FAIL_CHECK_AT(file, line, "no '", part, "' in: ", thrown);
    check_message_is(file, line, area, "", thrown);
}

bool is_at(const std::string& message, const std::string& places) {
    std::istringstream lines(message), wanted(places);
    std::string place;
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with(' ') && (!std::getline(wanted, place) || !line.starts_with(place + ":"))) return false;
    return !std::getline(wanted, place);
}

}  // namespace fedhive::testing
