#include "sim/config/sweep_ids.h"

#include "aggregation/base/without_controls.h"
#include "sim/config/text_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fedhive::sim {

namespace {

constexpr std::size_t kLongest = 100;

/// The last `parts` parts of a dotted path, or all of it.
std::string last_parts(const std::string& path, std::size_t parts) {
    std::size_t begin = path.size() + 1;
    for (; parts > 0 && begin > 0; --parts) {
        const std::size_t dot = begin < 2 ? std::string::npos : path.rfind('.', begin - 2);
        begin = dot == std::string::npos ? 0 : dot + 1;
    }
    return path.substr(begin);
}

/// The value as in a folder's name: words without quotes, lists as 1_2.
std::string plain(const std::string& value, bool& changed) {
    std::string text = value;
    if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
    const bool is_list = text.size() >= 2 && text.front() == '[' && text.find('{') == std::string::npos;
    if (is_list) text = text.substr(1, text.size() - 2);
    std::string kept;
    for (const char c : text) {
        if (is_list && c == ' ') continue;
        const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("._+-").find(c) != std::string::npos;
        changed = changed || !(fits || (is_list && c == ','));
        kept += fits ? c : '_';
    }
    return kept;
}

/// A case's name as in a folder's name: each run of characters that are not allowed becomes '_' between letters and digits.
std::string words(const std::string& name, bool& changed) {
    std::string kept;
    for (const char c : name) {
        const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string(".+-").find(c) != std::string::npos;
        if (fits || (!kept.empty() && kept.back() != '_')) kept += fits ? c : '_';
    }
    const auto is_mark = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
    kept.erase(kept.begin(), std::find_if_not(kept.begin(), kept.end(), is_mark));
    while (!kept.empty() && is_mark(kept.back())) kept.pop_back();
    changed = changed || kept.empty();
    return kept.empty() ? "case" : kept;
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& keys) {
    std::vector<std::string> paths = keys;
    for (std::string& path : paths)
        if (path.ends_with(".name")) path.resize(path.size() - std::string(".name").size());
    std::vector<std::size_t> parts(paths.size(), 1);
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (paths[i].starts_with("seeds.")) parts[i] = 2;  // "partition" alone would not show that a seed varies
    for (bool changed = true; changed;) {
        changed = false;
        const std::vector<std::size_t> now = parts;
        for (std::size_t i = 0; i < paths.size(); ++i)
            for (std::size_t j = 0; j < paths.size(); ++j)
                if (i != j && last_parts(paths[i], now[i]) == last_parts(paths[j], now[j]) &&
                    last_parts(paths[i], parts[i]) != paths[i]) {
                    parts[i] = now[i] + 1;
                    changed = true;
                }
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < paths.size(); ++i) names.push_back(last_parts(paths[i], parts[i]));
    return names;
}

std::string run_id(const std::vector<std::string>& names, const std::vector<Setting>& settings, std::uint64_t seed,
                   bool with_seed) {
    std::string id;
    std::string whole;
    bool changed = false;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const Setting& setting = settings[i];
        if (setting.value.empty()) continue;
        id += id.empty() ? "" : "+";
        id += names[i].empty() ? words(setting.value, changed) : fmt::format("{}-{}", names[i], plain(setting.value, changed));
        whole += fmt::format("{}={}\n", setting.key, setting.value);
    }
    if (with_seed || id.empty()) {
        id += fmt::format("{}seed-{}", id.empty() ? "" : "+", seed);
        whole += fmt::format("seed={}\n", seed);
    }
    return changed || id.size() > kLongest ? hashed_id(id, whole) : id;
}

std::string run_id_problem(const std::string& id) {
    const bool allowed = std::all_of(id.begin(), id.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("._+-,=").find(c) != std::string::npos;
    });
    if (!id.empty() && id.size() <= kLongest && allowed && id[0] != '.' && id[0] != '-') return "";
    return fmt::format(
        "'{}' is not a valid run name; allowed: 1 to {} characters of A-Z a-z 0-9 . _ + - , =, not beginning with . or -",
        without_controls(id.substr(0, kLongest)), kLongest);
}

std::string hashed_id(const std::string& id, const std::string& text) {
    return fmt::format("{}-{:08x}", id.substr(0, kLongest - 9), text_hash(text));
}

}  // namespace fedhive::sim
