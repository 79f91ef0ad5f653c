// Messages for a wrong command line, which suggest what the user probably meant.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace fedhive::sim {

/// Subcommands listed by -h, in its order.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// An option's names with two dashes, without --help: "--set".
std::vector<std::string> long_names(const CLI::App& command);

/// The problem of a first argument that is no subcommand: "trian: unknown command; did you mean 'run'? …"; or of a value
/// separated from --set, which would be taken for another argument: "--set rounds 3". Empty if there is neither.
std::string command_problem(const CLI::App& app, const std::vector<std::string>& arguments);

/// The message for an error of CLI11: an unknown option with the nearest one, or with the key that it may mean; an extra argument; CLI11's own
/// text for all others.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments);

}  // namespace fedhive::sim
