// Shell completion scripts, generated from the command line's description, so that they know every option.
#pragma once

#include <CLI/App.hpp>

#include <array>
#include <string>

namespace fedhive::sim {

inline constexpr std::array kShells{"bash", "zsh", "fish"};

/// The output of `fedhive completion SHELL`. Completes the value of an option or argument according to its type: DIR, FILE or
/// KEY=VALUE (--set).
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace fedhive::sim
