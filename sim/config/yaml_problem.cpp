#include "sim/config/yaml_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace fedhive::sim {

namespace {

struct Hint {
    std::string_view message;  // the beginning of yaml-cpp's message
    std::string_view hint;
};

constexpr std::string_view kColumns =
    "keys of one section must begin in the same column, with a space after each colon; put a text that contains ': ' in quotes";
constexpr std::string_view kSigns =
    "&, *, !, %, @ and ` at the beginning of a value have a meaning in YAML; put the value in quotes";

constexpr std::array kHints{
    Hint{"illegal map value", kColumns},
    Hint{"illegal map key", kColumns},
    Hint{"end of map not found", kColumns},
    Hint{"end of map flow", "a { needs its }, and a comma between two keys"},
    Hint{"end of sequence flow", "a [ needs its ], and a comma between two values"},
    Hint{"end of sequence", "the items of a list must begin with '- ', all in the same column"},
    Hint{"illegal block entry", "write each item of a list with '- ' on its own line, or all of them as [a, b] after the key"},
    Hint{"illegal flow end", "this ] or } closes nothing; remove it, or put the text in quotes"},
    Hint{"illegal EOF in scalar", "a quote is not closed"},
    Hint{"illegal tab", "YAML needs spaces"},
    Hint{"unknown escape", "in double quotes a backslash begins an escape; use single quotes"},
    Hint{"bad character found while scanning hex", "in double quotes a backslash begins an escape; use single quotes"},
    Hint{"invalid unicode", "in double quotes a backslash begins an escape; use single quotes"},
    Hint{"illegal document indicator",
         "a line that begins with --- or ... starts another document; indent the text or quote it"},
    Hint{"unexpected character in block", "indent the lines below a | or >"},
    Hint{"cannot set zero", "indent the lines below a | or >"},
    Hint{"unknown token", kSigns},
    Hint{"alias", kSigns},
    Hint{"anchor", kSigns},
    Hint{"illegal character found while scanning", kSigns},
    Hint{"tag handle", kSigns},
    Hint{"end of verbatim tag", kSigns},
    Hint{"the referenced anchor", kSigns},
};

std::string line_at(const std::string& text, int number) {
    std::istringstream lines(text);
    std::string line;
    for (int i = 0; i < number; ++i)
        if (!std::getline(lines, line)) return "";
    return line;
}

/// The last open bracket or quote of the text; ignores comments.
class Brackets {
public:
    struct Open {
        char sign;
        int line;
    };

    explicit Brackets(const std::string& text) {
        for (const char c : text) {
            read(c);
            before_ = c;
        }
    }

    std::optional<Open> left_open() const { return open_.empty() ? std::nullopt : std::optional(open_.back()); }

private:
    bool in_quotes() const { return !open_.empty() && (open_.back().sign == '"' || open_.back().sign == '\''); }
    bool begins_value() const { return std::string_view(" \n\t[{,:-").find(before_) != std::string_view::npos; }

    void read(char c) {
        if (c == '\n') {
            ++line_;
            in_comment_ = false;
        }
        if (in_comment_) return;
        if (in_quotes()) {
            if (c == open_.back().sign && before_ != '\\') open_.pop_back();
            return;
        }
        if (c == '#' && begins_value()) in_comment_ = true;
        const bool quote = (c == '"' || c == '\'') && begins_value();
        if (quote || c == '[' || c == '{') open_.push_back({c, line_});
        if (!open_.empty() && ((c == ']' && open_.back().sign == '[') || (c == '}' && open_.back().sign == '{')))
            open_.pop_back();
    }

    std::vector<Open> open_;
    int line_ = 1;
    char before_ = '\n';
    bool in_comment_ = false;
};

}  // namespace

std::string syntax_problem(const std::string& message, const std::string& text, bool has_lines) {
    std::string problem = "not valid YAML: " + message;
    const auto* const hint =
        std::find_if(kHints.begin(), kHints.end(), [&](const Hint& one) { return message.starts_with(one.message); });
    const std::optional<Brackets::Open> open = Brackets(text).left_open();
    if (open && has_lines) return fmt::format("{}; the {} on line {} is not closed", problem, open->sign, open->line);
    return hint == kHints.end() ? problem : fmt::format("{}; {}", problem, hint->hint);
}

std::string excerpt(const std::string& text, TextPlace place) {
    constexpr std::size_t kWidest = 100;
    std::string line = line_at(text, place.line);
    std::size_t column = static_cast<std::size_t>(std::max(place.column, 1)) - 1;
    column = std::min(column, line.size());
    const std::size_t cut = column > kWidest ? column - kWidest / 2 : 0;
    line = line.substr(cut, kWidest);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
    const std::string margin = fmt::format("{:>5} | ", place.line);
    return fmt::format("{}{}\n{:>{}}", margin, line, "^", margin.size() + column - cut + 1);
}

}  // namespace fedhive::sim
