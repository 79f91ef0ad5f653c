#include "sim/config/named_methods.h"

#include "aggregation/base/home_folder.h"
#include "sim/strategies/strategy.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

std::string first_comment(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    const std::size_t first = line.find_first_not_of("# ");
    return line.starts_with('#') && first != std::string::npos ? line.substr(first) : "";
}

std::vector<NamedMethod> found_methods() {
    std::vector<NamedMethod> methods;
    const fs::path home = home_folder();
    if (home.empty()) return methods;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(home / "configs/methods", none)) {
        const std::string name = entry.path().stem().string();
        const bool in_cpp =
            std::ranges::any_of(strategy_catalog(), [&](const StrategySpec& spec) { return spec.name == name; });
        if (entry.path().extension() == ".py" && !in_cpp) methods.push_back({name, entry.path(), first_comment(entry.path())});
    }
    std::ranges::sort(methods, {}, &NamedMethod::name);
    return methods;
}

}  // namespace

const std::vector<NamedMethod>& named_methods() {
    static const std::vector<NamedMethod> methods = found_methods();
    return methods;
}

const NamedMethod* named_method(const std::string& name) {
    const auto found = std::ranges::find(named_methods(), name, &NamedMethod::name);
    return found != named_methods().end() ? &*found : nullptr;
}

std::vector<std::string> names_of_methods() {
    std::vector<std::string> names;
    for (const NamedMethod& method : named_methods()) names.push_back(method.name);
    return names;
}

}  // namespace fedhive::sim
