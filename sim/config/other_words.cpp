#include "sim/config/other_words.h"

#include "sim/config/run_keys.h"
#include "sim/config/scalars.h"
#include "sim/config/suggest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace fedhive::sim {

namespace {

/// Only letters and digits, in lower case: "Local-Epochs" becomes "localepochs".
std::string folded(const std::string& word) {
    std::string result;
    for (const char c : word)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

bool has_word(const std::string& words, const std::string& word, bool in_own_section) {
    std::istringstream all(words);
    for (std::string one; all >> one;)
        if ((in_own_section || one.front() != '.') && folded(one) == word) return true;
    return false;
}

std::string parent_of(const std::string& key) {
    const std::size_t dot = key.rfind('.');
    return dot == std::string::npos ? "" : key.substr(0, dot);
}

/// "upload[0].name" without the index.
std::string without_index(const std::string& path) {
    const std::size_t open = path.find('[');
    return open == std::string::npos ? path : path.substr(0, open) + path.substr(path.find(']') + 1);
}

/// "data: {partition: {scheme: iid}}", "upload: [{name: clip}]".
std::string as_yaml(const std::string& path, const std::string& value) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) return fmt::format("{}: {}", path, value);
    const std::string section = path.substr(0, dot);
    const bool is_list = run_keys().contains(section);
    return fmt::format(fmt::runtime(is_list ? "{}: [{{{}}}]" : "{}: {{{}}}"), section, as_yaml(path.substr(dot + 1), value));
}

/// Advice for a word that is a choice of one or two other keys.
std::string advice_of_another_key(const std::string& typed) {
    constexpr std::size_t kShortest = 3, kMostKeys = 2;
    std::vector<std::string> forms;
    for (const auto& [key, choices] : run_choices())
        for (const std::string& choice : choices)
            if (folded(choice) == folded(typed)) forms.push_back(as_yaml(key, choice));
    if (forms.empty() || forms.size() > kMostKeys || folded(typed).size() < kShortest) return "";
    return fmt::format("; '{}' is {}", shortened(typed), fmt::join(forms, " or "));
}

std::string advice_of(const OtherValues& row) {
    return fmt::format("; {}{}{}", row.says, row.config.empty() ? "" : " ", row.config);
}

}  // namespace

std::string key_meant(const std::string& word, const std::string& section) {
    const std::string wanted = folded(word);
    std::string inside, first;
    for (const OtherWords& row : other_words()) {
        const bool own = parent_of(row.key) == section;
        if (!has_word(row.words, wanted, own)) continue;
        if (own) return row.key;
        if (inside.empty() && !section.empty() && lies_in(row.key, section)) inside = row.key;
        if (first.empty()) first = row.key;
    }
    return inside.empty() ? first : inside;
}

std::string key_of_option(const std::string& word) {
    std::string typed = word;
    std::ranges::replace(typed, '-', '_');
    if (run_keys().contains(typed)) return typed;
    if (std::string meant = key_meant(typed, ""); !meant.empty()) return meant;
    std::vector<std::string> ends;
    for (const auto& [key, kind] : run_keys())
        if (!lies_in(key, "seeds") && folded(key.substr(key.rfind('.') + 1)) == folded(typed)) ends.push_back(key);
    return ends.size() == 1 ? ends.front() : "";
}

ValueMeant value_meant(const std::string& path, const std::string& typed, const std::vector<std::string>& choices) {
    const auto did_you_mean = [](const std::string& choice) { return fmt::format("; did you mean '{}'?", choice); };
    const std::string wanted = folded(typed);
    for (const std::string& choice : choices)
        if (!wanted.empty() && folded(choice) == wanted) return {choice, true, did_you_mean(choice)};
    for (const OtherValues& row : other_values())
        if (row.key == without_index(path) && has_word(row.words, wanted, true))
            return {row.value, false, row.value.empty() ? advice_of(row) : did_you_mean(row.value)};
    if (const std::string near = nearest_word(typed, choices); !near.empty()) return {near, false, did_you_mean(near)};
    return {"", false, advice_of_another_key(typed)};
}

}  // namespace fedhive::sim
