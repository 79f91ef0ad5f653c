// Reader of configs. Input: the YAML up to the first zero byte, then one line per --set.
#include "aggregation/base/error.h"
#include "sim/config/load_config.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

#include <sstream>

using namespace fedhive;

FEDHIVE_FUZZ_TARGET(config)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFile file;
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::size_t zero = input.find('\0');
    file.set(input.substr(0, zero));
    std::vector<std::string> overrides;
    std::istringstream lines(zero == std::string::npos ? "" : input.substr(zero + 1));
    for (std::string line; std::getline(lines, line);) overrides.push_back(line);
    sim::RunConfig run;
    try {
        run = sim::load_config(file.path(), overrides).run;
    } catch (const ConfigError&) {
        return 0;
    }
    const std::string text = sim::to_yaml(run);
    const sim::RunConfig again = sim::from_yaml(text, "what to_yaml wrote");
    fuzz::expect(sim::to_yaml(again) == text, "the resolved config, read again, resolves to itself");
    fuzz::expect(sim::changes(run, again).empty(), "the resolved config, read again, is the same");
    return 0;
}
