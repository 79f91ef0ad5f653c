// Scripts that let a shell complete fedhive's command line; made from the command line's own description, so that they know every option.
#pragma once

#include <CLI/App.hpp>

#include <array>
#include <string>

namespace fedhive::sim {

inline constexpr std::array kShells{"bash", "zsh", "fish"};

/// What `fedhive completion SHELL` prints. An option or argument whose value is a DIR, a FILE or a KEY=VALUE (--set) is completed as such.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace fedhive::sim
