#include "sim/app/usage.h"

#include "sim/config/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace fedhive::sim {

namespace {

/// What other programs call it.
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

/// The command that is near, or goes by that word elsewhere; what is only near to such a word may be anything.
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

/// The subcommand that was named; null where none was.
const CLI::App* named_command(const CLI::App& app) {
    return app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
}

std::string unknown_option(const std::string& given, const CLI::App& command) {
    const std::vector<std::string> known = long_names(command);
    const std::string typed = given.substr(0, given.find('='));
    const std::string near = nearest_word(typed, known);
    if (!near.empty()) return fmt::format("{}: unknown option; did you mean '{}'?", typed, near);
    return fmt::format("{}: unknown option; known here: {};", typed,
                       known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
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
    const std::string list = fmt::format("commands: {}; fedhive -h says what each does", fmt::join(names, ", "));
    if (arguments.empty()) return "a command is missing; " + list;
    const std::string& typed = arguments.front();
    const auto is_it = [&](const CLI::App* command) { return command->get_name() == typed; };
    if (typed.starts_with("-") || !app.get_subcommands(is_it).empty()) return "";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(typed, ignored))
        return fmt::format("{}: is a file, a command comes before it; did you mean 'fedhive run {}'? {}", typed, typed, list);
    const std::string near = meant_command(typed, names);
    return fmt::format("{}: unknown command;{} {}", typed, near.empty() ? "" : fmt::format(" did you mean '{}'?", near), list);
}

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App* named = named_command(app);
    const CLI::App& command = named != nullptr ? *named : app;
    const std::string help = fmt::format("fedhive {}-h says more", named != nullptr ? named->get_name() + " " : "");
    const std::vector<std::string> extras = command.remaining();
    // It may be why something else is missing.
    const auto option =
        std::find_if(extras.begin(), extras.end(), [](const std::string& text) { return text.starts_with("-"); });
    if (option != extras.end()) return fmt::format("{} {}", unknown_option(*option, command), help);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
        return fmt::format("{}: one argument too many; {}; {}", extras.front(), positionals_of(command), help);
    return fmt::format("{}; {}", error.what(), help);
}

}  // namespace fedhive::sim
