#include "sim/app/completion.h"

#include "aggregation/base/error.h"
#include "sim/app/usage.h"
#include "sim/config/load_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace fedhive::sim {

namespace {

/// How an option's value, or an argument without an option, is completed.
enum class Values { None, Any, Folders, Files, Keys };

Values values_of(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return Values::None;
    const std::string type = option.get_type_name();
    if (type == "DIR") return Values::Folders;
    if (type == "FILE") return Values::Files;
    return type == "KEY=VALUE" ? Values::Keys : Values::Any;
}

struct Flag {
    std::string name;  // "--set"
    std::string doc;
    Values values;
};

std::vector<Flag> flags_of(const CLI::App& command) {
    std::vector<Flag> flags;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames())
            flags.push_back({"--" + name, option->get_description(), values_of(*option)});
    return flags;
}

/// Completion of the first positional argument; None if there is none.
Values argument_of(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options())
        if (option->get_positional()) return values_of(*option);
    return command.get_prefix_command() ? Values::Files : Values::None;
}

std::vector<std::string> names_of(const std::vector<Flag>& flags, Values wanted) {
    std::vector<std::string> names;
    for (const Flag& flag : flags)
        if (flag.values == wanted) names.push_back(flag.name);
    return names;
}

/// Made safe for single quotes in any shell, and without the characters that end a description in zsh.
std::string quotable(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '`');
    std::replace(text.begin(), text.end(), '[', '(');
    std::replace(text.begin(), text.end(), ']', ')');
    std::replace(text.begin(), text.end(), ':', ',');
    return text;
}

std::string keys_with_equals() {
    std::vector<std::string> keys = config_keys();
    for (std::string& key : keys) key += '=';
    return fmt::format("{}", fmt::join(keys, " "));
}

// ---------------------------------------------------------------------------------------------------------------------------- bash

const char* bash_call(Values values) {
    switch (values) {
        case Values::Folders:
            return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))";
        case Values::Files:
            return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
        case Values::Keys:
            return R"(compopt -o nospace; COMPREPLY=($(compgen -W "$_fedhive_keys" -- "$word")))";
        default:
            return "COMPREPLY=()";
    }
}

std::string bash_case(const CLI::App& command) {
    const std::vector<Flag> flags = flags_of(command);
    std::string text = fmt::format("    {})\n        case $before in\n", command.get_name());
    for (const Values values : {Values::Folders, Values::Files, Values::Keys, Values::Any})
        if (const auto names = names_of(flags, values); !names.empty())
            text += fmt::format("        {}) {}; return ;;\n", fmt::join(names, " | "), bash_call(values));
    std::vector<std::string> names;
    names.reserve(flags.size());
    for (const Flag& flag : flags) names.push_back(flag.name);
    return text + fmt::format(
                      "        esac\n        case $word in\n        -*) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n       "
                      " *) {} ;;\n"
                      "        esac\n        ;;\n",
                      fmt::join(names, " "), bash_call(argument_of(command)));
}

std::string bash_script(const CLI::App& app) {
    std::vector<std::string> names;
    std::string cases;
    for (const CLI::App* command : shown_commands(app)) {
        names.push_back(command->get_name());
        cases += bash_case(*command);
    }
    return fmt::format(R"(# Completion of fedhive for bash: put  source <(fedhive completion bash)  into ~/.bashrc.
_fedhive_keys='{}'
_fedhive() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{} {}' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{}    esac
}}
complete -F _fedhive fedhive
)",
                       keys_with_equals(), fmt::join(names, " "), "--help --version", cases);
}

// ----------------------------------------------------------------------------------------------------------------------------- zsh

std::string zsh_values(Values values) {
    switch (values) {
        case Values::None:
            return "";
        case Values::Folders:
            return ":folder:_files -/";
        case Values::Files:
            return ":file:_files";
        case Values::Keys:
            return ":key:_fedhive_keys";
        case Values::Any:
            return ":value:";
    }
    return "";
}

std::string zsh_case(const CLI::App& command) {
    std::string text = fmt::format("    {}) _arguments", command.get_name());
    for (const Flag& flag : flags_of(command))
        text += fmt::format(" '*{}[{}]{}'", flag.name, quotable(flag.doc), zsh_values(flag.values));
    if (const Values values = argument_of(command); values != Values::None) text += fmt::format(" '*{}'", zsh_values(values));
    return text + " ;;\n";
}

std::string zsh_script(const CLI::App& app) {
    std::string commands;
    std::string cases;
    for (const CLI::App* command : shown_commands(app)) {
        commands += fmt::format("        '{}:{}'\n", command->get_name(), quotable(command->get_description()));
        cases += zsh_case(*command);
    }
    return fmt::format(R"(#compdef fedhive
# Completion of fedhive for zsh: put  source <(fedhive completion zsh)  into ~/.zshrc, below compinit.
_fedhive_keys() {{
    compadd -S '' -- {}
}}
_fedhive() {{
    local -a commands=(
{}    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
{}    esac
}}
compdef _fedhive fedhive
)",
                       keys_with_equals(), commands, cases);
}

// ---------------------------------------------------------------------------------------------------------------------------- fish

std::string fish_values(Values values) {
    switch (values) {
        case Values::None:
            return "";
        case Values::Folders:
            return " -x -a '(__fish_complete_directories)'";
        case Values::Files:
            return " -r -F";
        case Values::Keys:
            return " -x -a \"$_fedhive_keys\"";
        case Values::Any:
            return " -x";
    }
    return "";
}

std::string fish_script(const CLI::App& app) {
    std::string text = fmt::format(
        "# Completion of fedhive for fish: fedhive completion fish > ~/.config/fish/completions/fedhive.fish\n"
        "set -g _fedhive_keys {}\ncomplete -c fedhive -f\n",
        keys_with_equals());
    for (const CLI::App* command : shown_commands(app)) {
        const std::string& name = command->get_name();
        text += fmt::format("complete -c fedhive -n __fish_use_subcommand -a {} -d '{}'\n", name,
                            quotable(command->get_description()));
        const std::string seen = fmt::format("complete -c fedhive -n '__fish_seen_subcommand_from {}'", name);
        if (const Values values = argument_of(*command); values == Values::Files)
            text += fmt::format("{} -F\n", seen);
        else if (values == Values::Folders)
            text += fmt::format("{} -a '(__fish_complete_directories)'\n", seen);
        for (const Flag& flag : flags_of(*command))
            text +=
                fmt::format("{} -l {}{} -d '{}'\n", seen, flag.name.substr(2), fish_values(flag.values), quotable(flag.doc));
    }
    return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
    if (shell == "bash") return bash_script(app);
    if (shell == "zsh") return zsh_script(app);
    if (shell == "fish") return fish_script(app);
    throw Fault("no completion for " + shell);
}

}  // namespace fedhive::sim
