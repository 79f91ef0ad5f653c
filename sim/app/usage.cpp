#include "sim/app/usage.h"

#include "sim/config/other_words.h"
#include "sim/config/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace fedhive::sim {

namespace {

/// Names of these commands in other programs.
constexpr std::array<std::pair<const char*, const char*>, 16> kOtherWords{{{"train", "run"},
                                                                           {"start", "run"},
                                                                           {"resume", "run"},
                                                                           {"test", "evaluate"},
                                                                           {"eval", "evaluate"},
                                                                           {"check", "validate"},
                                                                           {"config", "show-config"},
                                                                           {"model", "show-model"},
                                                                           {"summary", "show-model"},
                                                                           {"split", "partition"},
                                                                           {"show-partition", "partition"},
                                                                           {"benchmark", "bench"},
                                                                           {"plot", "report"},
                                                                           {"help", "-h"},
                                                                           {"version", "--version"},
                                                                           {"info", "doctor"}}};

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return names;
}

/// The nearest command, or the one that has this name in other programs. The latter must match exactly: a word near to it may
/// mean anything.
std::string meant_command(const std::string& typed, const std::vector<std::string>& names) {
    if (std::string near = nearest_word(typed, names); !near.empty()) return near;
    const auto* const found =
        std::find_if(kOtherWords.begin(), kOtherWords.end(), [&](const auto& one) { return one.first == typed; });
    return found == kOtherWords.end() ? "" : found->second;
}

/// "fedhive run takes config"
std::string positionals_of(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        if (option->get_positional()) names.push_back(option->get_name());
    return fmt::format("fedhive {} takes {}", command.get_name(),
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

/// The subcommand that was given; null if none was.
const CLI::App* named_command(const CLI::App& app) {
    return app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
}

bool takes_keys(const CLI::App& command) { return command.get_option_no_throw("--set") != nullptr; }

/// "--epochs 5" for a command with --set: "--set training.local_epochs=5"; empty if the word is known for no key.
std::string as_key(const std::string& given, const CLI::App& command, const std::vector<std::string>& arguments) {
    if (!takes_keys(command) || !given.starts_with("--")) return "";
    const std::size_t equals = given.find('=');
    const std::string key = key_of_option(given.substr(2, equals == std::string::npos ? equals : equals - 2));
    if (key.empty()) return "";
    const auto next = std::ranges::find(arguments, given) + 1;
    std::string value = "VALUE";
    if (equals != std::string::npos)
        value = given.substr(equals + 1);
    else if (next < arguments.end() && !next->starts_with("--"))
        value = *next;
    return fmt::format("set keys of the config with --set {}={}", key, value);
}

std::string unknown_option(const std::string& given, const CLI::App& command, const std::vector<std::string>& arguments) {
    const std::vector<std::string> known = long_names(command);
    const std::string typed = given.substr(0, given.find('='));
    if (const std::string key = as_key(given, command, arguments); !key.empty())
        return fmt::format("{}: unknown option; {};", typed, key);
    const std::string near = nearest_word(typed, known);
    if (!near.empty()) return fmt::format("{}: unknown option; did you mean '{}'?", typed, near);
    return fmt::format("{}: unknown option; known options: {};", typed,
                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

bool is_file(const std::string& name) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(name, ignored);
}

/// True if there is such an argument and it is neither an option nor a file: it may be a part of a value.
bool may_be_value(const std::vector<std::string>& arguments, std::size_t at) {
    return at < arguments.size() && !arguments[at].starts_with("--") && !is_file(arguments[at]);
}

/// "--set strategy={name: fedprox}" without quotes: `key` is the part that the shell leaves, the rest begins at `next`.
std::string parted_brackets(const std::string& key, const std::vector<std::string>& arguments, std::size_t next) {
    std::string whole = key;
    for (; may_be_value(arguments, next); ++next) whole += " " + arguments[next];
    return whole == key ? "" : fmt::format("--set {0}: put a value with spaces in quotes: --set '{0}'", whole);
}

/// "--set rounds 3", "--set rounds = 3".
std::string parted_value(const std::string& key, const std::vector<std::string>& arguments, std::size_t next) {
    const std::string sign = next < arguments.size() && arguments[next] == "=" ? " =" : "";
    if (!sign.empty()) ++next;
    if (!may_be_value(arguments, next)) return "";
    const std::string& value = arguments[next];
    return fmt::format("--set {}{} {}: expected KEY=VALUE without spaces: --set {}={}", key, sign, value,
                       key.substr(0, key.find_first_of("=:")), value.substr(value.starts_with("=") ? 1 : 0));
}

std::string parted_assignment(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::string key = arguments[i].starts_with("--set=") ? arguments[i].substr(6) : "";
        std::size_t next = i + 1;
        if (arguments[i] == "--set" && next < arguments.size()) key = arguments[next++];
        if (key.empty() || key.starts_with("-")) continue;
        const std::size_t equals = key.find('=');
        const bool has_value = equals != std::string::npos && equals + 1 < key.size();
        const auto left_open = [&](char opens, char closes) {
            return std::ranges::count(key, opens) > std::ranges::count(key, closes);
        };
        const bool open = left_open('{', '}') || left_open('[', ']');
        if (has_value && !open) continue;
        std::string problem = open ? parted_brackets(key, arguments, next) : parted_value(key, arguments, next);
        if (!problem.empty()) return problem;
    }
    return "";
}

}  // namespace

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
    std::vector<const CLI::App*> shown;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!command->get_group().empty()) shown.push_back(command);
    return shown;
}

std::vector<std::string> long_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames())
            if (name != "help") names.push_back("--" + name);
    return names;
}

std::string command_problem(const CLI::App& app, const std::vector<std::string>& arguments) {
    const std::vector<std::string> names = names_of(shown_commands(app));
    const std::string list = fmt::format("commands: {}; fedhive -h describes them", fmt::join(names, ", "));
    if (arguments.empty()) return "a command is missing; " + list;
    const std::string& typed = arguments.front();
    const auto is_it = [&](const CLI::App* command) { return command->get_name() == typed; };
    if (typed.starts_with("-")) return "";
    if (const auto named = app.get_subcommands(is_it); !named.empty())
        return takes_keys(*named.front()) ? parted_assignment(arguments) : "";
    if (is_file(typed))
        return fmt::format("{}: is a file; write a command before it; did you mean 'fedhive run {}'? {}", typed, typed, list);
    const std::string near = meant_command(typed, names);
    return fmt::format("{}: unknown command;{} {}", typed, near.empty() ? "" : fmt::format(" did you mean '{}'?", near), list);
}

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    const CLI::App* named = named_command(app);
    const CLI::App& command = named != nullptr ? *named : app;
    const std::string help = fmt::format("fedhive {}-h says more", named != nullptr ? named->get_name() + " " : "");
    const std::vector<std::string> extras = command.remaining();
    // An unknown option may be the reason why something else is missing.
    const auto option =
        std::find_if(extras.begin(), extras.end(), [](const std::string& text) { return text.starts_with("-"); });
    if (option != extras.end()) return fmt::format("{} {}", unknown_option(*option, command, arguments), help);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
        return fmt::format("{}: unexpected argument; {}; {}", extras.front(), positionals_of(command), help);
    return fmt::format("{}; {}", error.what(), help);
}

}  // namespace fedhive::sim
