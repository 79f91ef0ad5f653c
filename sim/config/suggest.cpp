#include "sim/config/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

std::size_t edit_distance(const std::string& left, const std::string& right) {
    std::vector<std::size_t> before_last(right.size() + 1), last(right.size() + 1), row(right.size() + 1);
    for (std::size_t j = 0; j <= right.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= left.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        std::swap(before_last, last);
        std::swap(last, row);
    }
    return last[right.size()];
}

/// The names in a folder for which `wanted` returns true, sorted.
template <class Wanted>
std::vector<std::string> names_in(const fs::path& folder, const Wanted& wanted) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (fs::directory_iterator entry(folder.empty() ? "." : folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored))
        if (wanted(*entry)) names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

bool is_yaml(const fs::path& name) { return name.extension() == ".yaml" || name.extension() == ".yml"; }

std::string stem_of(const fs::path& name) { return (is_yaml(name) ? name.stem() : name).string(); }

std::string did_you_mean(const fs::path& path) { return fmt::format("; did you mean '{}'?", path.string()); }

}  // namespace

std::string nearest_word(const std::string& typed, const std::vector<std::string>& words) {
    const auto lower = [](std::string word) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return word;
    };
    const std::string wanted = lower(typed);
    std::string nearest;
    std::size_t smallest = std::max<std::size_t>(1, typed.size() / 3) + 1;
    for (const std::string& word : words) {
        const std::size_t distance = edit_distance(wanted, lower(word));
        if (distance < smallest && distance < word.size()) {
            smallest = distance;
            nearest = word;
        }
    }
    if (!nearest.empty() || wanted.size() < 4) return nearest;
    const auto related = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
        return lower(word).find(wanted) != std::string::npos ||
               (word.size() >= 4 && wanted.find(lower(word)) != std::string::npos);
    });
    return related != words.end() ? *related : "";
}

std::string no_such_yaml(const fs::path& file) {
    constexpr std::size_t kMostNames = 5;
    std::error_code ignored;
    const fs::path folder = file.parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored))
        return fmt::format("no such file: the folder {} does not exist{}", folder.string(), nearest_folder(folder));
    const std::vector<std::string> names = names_in(folder, [](const auto& entry) { return is_yaml(entry.path()); });
    std::vector<std::string> stems;
    stems.reserve(names.size());
    for (const std::string& name : names) stems.push_back(stem_of(name));
    const std::string near = nearest_word(stem_of(file.filename()), stems);
    const auto found = std::find(stems.begin(), stems.end(), near);
    if (found != stems.end())
        return "no such file" + did_you_mean(folder / names[static_cast<std::size_t>(found - stems.begin())]);
    if (names.empty()) return "no such file; its folder has no YAML file";
    std::vector<std::string> shown(names.begin(),
                                   names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
    if (names.size() > kMostNames) shown.push_back(fmt::format("and {} more", names.size() - kMostNames));
    return fmt::format("no such file; its folder has {}", fmt::join(shown, ", "));
}

std::string nearest_folder(const fs::path& folder) {
    const fs::path given = folder.has_filename() ? folder : folder.parent_path();  // "runs/" is "runs"
    const std::vector<std::string> names = names_in(given.parent_path(), [](const auto& entry) {
        std::error_code ignored;
        return entry.is_directory(ignored);
    });
    const std::string near = nearest_word(given.filename().string(), names);
    return near.empty() ? "" : did_you_mean(given.parent_path() / near);
}

}  // namespace fedhive::sim
