// What is wrong with a command line, with what was probably meant; CLI11's own words name neither.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace fedhive::sim {

/// Subcommands that -h lists, in its order.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// The names of an option that begin with two dashes, without -h's own: "--set".
std::vector<std::string> long_names(const CLI::App& command);

/// Why the first argument names no subcommand: "trian: unknown command; did you mean 'run'? …"; or what --set has lost: "--set rounds 3", whose
/// value would be taken for another argument. Empty where neither is so.
std::string command_problem(const CLI::App& app, const std::vector<std::string>& arguments);

/// An error of CLI11 in our words: an unknown option with the nearest one, or the key that it was meant to be; an argument too many; the rest as
/// CLI11 says it.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments);

}  // namespace fedhive::sim
