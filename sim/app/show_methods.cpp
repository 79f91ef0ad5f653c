#include "sim/app/show_methods.h"

#include "sim/config/markdown.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <variant>

namespace fedhive::sim {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "FedASAM: Caldarola, …" without the end of the sentence.
std::string heading_of(const CatalogedMethod& method) {
    std::string line = first_line(method.says);
    if (line.ends_with('.')) line.pop_back();
    return line;
}

/// The default as a config writes it.
struct DefaultWord {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const std::filesystem::path& value) const { return value.string(); }
    std::string operator()(const std::vector<double>& value) const { return fmt::format("[{}]", fmt::join(value, ", ")); }
    template <class Number>
    std::string operator()(const std::optional<Number>& value) const {
        return value ? fmt::format("{}", *value) : "";
    }
};

std::string allowed_of(const KeySpec& key) {
    if (!key.choices.empty()) return fmt::format(" ({})", fmt::join(key.choices, ", "));
    return key.range.text().empty() ? "" : fmt::format(" ({})", key.range.text());
}

std::string default_word(const KeySpec& key) {
    if (key.required) return "required";
    const std::string word = std::visit(DefaultWord{}, static_cast<const AnyValue&>(key.default_value));
    return word.empty() ? (key.empty_word.empty() ? "–" : key.empty_word) : word;
}

std::string named_line(const std::string& what, const std::string& text) { return fmt::format("{:<11} {}\n", what, text); }

/// In Markdown: what it would read as a mark stays a letter.
std::string prose_of(const std::string& text) {
    std::string prose;
    for (const char letter : text) {
        if (letter == '*' || letter == '_' || letter == '<' || letter == '|') prose += '\\';
        prose += letter;
    }
    return prose.ends_with('.') ? prose : prose + ".";
}

}  // namespace

std::string catalog_text(const std::vector<CatalogedMethod>& methods) {
    std::string text;
    std::optional<MethodFamily> last;
    for (const CatalogedMethod& method : methods) {
        if (method.family != last) {
            const auto count = std::ranges::count(methods, method.family, &CatalogedMethod::family);
            text += fmt::format("{}{} ({})\n", last ? "\n" : "", word_of(method.family), count);
            last = method.family;
        }
        text += fmt::format("  {:<19} {:<24} {}{}\n", method.name, method.where, heading_of(method),
                            method.needs.empty() ? "" : fmt::format("  [{}]", fmt::join(method.needs, ", ")));
    }
    return text;
}

std::string cataloged_method_text(const CatalogedMethod& method) {
    std::string text = named_line("method", fmt::format("{} · {}", method.name, word_of(method.family)));
    std::string_view rest = method.says;
    for (bool is_first = true; !rest.empty(); is_first = false) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        text += named_line(is_first ? "does" : "", std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    text += named_line("config", method.config);
    if (!method.needs.empty()) text += named_line("needs", fmt::format("{}", fmt::join(method.needs, ", ")));
    for (const KeySpec& key : method.keys)
        text += named_line("key", fmt::format("{}: {}{}  {}", key.name, default_word(key), allowed_of(key), key.doc));
    return text;
}

std::string family_page(MethodFamily family, const std::vector<CatalogedMethod>& methods,
                        const std::function<std::string(const CatalogedMethod&)>& box_of) {
    const auto of_family = [&](const CatalogedMethod& method) { return method.family == family; };
    std::string text = fmt::format(
        "# Methods: {0}\n\n{1} methods, as `fedhive methods --page {0}` prints them: what each does, the config that chooses "
        "it, "
        "and its formulas "
        "([how to read them](../methods.md)). [All keys](../../configs/REFERENCE.md).\n\n| Method | In a config | Needs "
        "|\n|---|---|---|\n",
        word_of(family), std::ranges::count_if(methods, of_family));
    std::string sections, last;
    for (const CatalogedMethod& method : methods) {
        if (!of_family(method)) continue;
        const bool again = method.name == last;  // a heading's link is its name
        last = method.name;
        text += fmt::format("| [`{0}`](#{0}{1}) | `{2}` | {3} |\n", method.name, again ? "-1" : "", cell_text(method.config),
                            method.needs.empty() ? "–" : fmt::format("{}", fmt::join(method.needs, ", ")));
        sections += fmt::format("\n## {}\n\n{}\n", method.name, prose_of(method.says));
        if (!method.keys.empty()) {
            std::vector<std::string> keys;
            for (const KeySpec& key : method.keys) keys.push_back(fmt::format("`{}` ({})", key.name, default_word(key)));
            sections += fmt::format("\nKeys: {}.\n", fmt::join(keys, ", "));
        }
        if (!method.file.empty())
            sections += fmt::format("\n[{0}](../../configs/methods/{0})\n", method.file.filename().string());
        if (const std::string box = box_of(method); !box.empty()) sections += fmt::format("\n```\n{}```\n", box);
    }
    return text + sections;
}

}  // namespace fedhive::sim
