// The method files that come with the program, configs/methods/NAME.py. Their names are values of strategy.name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

struct NamedMethod {
    std::string name{};  // differs from the names of strategies in C++
    std::filesystem::path file{};
    std::string doc{};                 // the first line of the file's comment
    std::string comment{};             // the lines of the comment, without "For: "
    std::string family{};              // FAMILY of its line "# For: FAMILY."; empty if it has no such line
    std::vector<std::string> needs{};  // "client memory", "a second gradient": from what the file declares and reads
};

/// The method files in the order of their names. Empty for a program without that folder (aggregation/base/home_folder.h).
const std::vector<NamedMethod>& named_methods();

/// The method file of that name; null if there is none.
const NamedMethod* named_method(const std::string& name);

std::vector<std::string> names_of_methods();

}  // namespace fedhive::sim
