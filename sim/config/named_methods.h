// The method files that come with the program, configs/methods/NAME.py: strategy.name takes their names, too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

struct NamedMethod {
    std::string name{};  // no strategy in C++ has it
    std::filesystem::path file{};
    std::string doc{};                 // the first line of its comment
    std::string comment{};             // all of it, a line each, without "For: "
    std::string family{};              // what its line "# For: FAMILY." says; empty without
    std::vector<std::string> needs{};  // by what its text declares and reads: "client memory", "a second gradient"
};

/// By name. Empty for a program that has no such folder (aggregation/base/home_folder.h).
const std::vector<NamedMethod>& named_methods();

/// Null if no method has that name.
const NamedMethod* named_method(const std::string& name);

std::vector<std::string> names_of_methods();

}  // namespace fedhive::sim
