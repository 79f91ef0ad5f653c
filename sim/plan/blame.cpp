#include "sim/plan/blame.h"

#include "clients/data/data_format.h"
#include "sim/devices/availability.h"
#include "sim/machine/machine.h"

#include <filesystem>

namespace fedhive::sim {

NamedFiles named_files(const DataConfig& data) {
    const clients::DataFormat& format = clients::data_format(data.format);
    return {"data", format.keys, data.values, "data." + (format.blamed.empty() ? "format" : format.blamed)};
}

NamedFiles named_files(const DevicesConfig& devices) {
    const AvailabilityConfig& given = devices.availability;
    return {"devices.availability", availability_scheme(given.scheme).keys, given.values,
            devices.trace.empty() ? "devices" : "devices.trace"};
}

std::string key_to_blame(const NamedFiles& files, const std::string& problem) {
    std::string blamed = files.otherwise;
    std::size_t longest = 0;
    for (const KeySpec& key : files.keys) {
        const KeyValue* value = files.values.find(key.name);
        const auto* file = value == nullptr ? nullptr : std::get_if<std::filesystem::path>(value);
        const std::string path = file == nullptr ? "" : file->string();
        const bool ends = path.ends_with('/') || problem.find_first_of(":/", path.size()) == path.size();
        if (path.size() <= longest || !ends || !problem.starts_with(path)) continue;
        longest = path.size();
        blamed = files.section + "." + key.name;
    }
    return blamed;
}

std::string no_memory() {
    const std::uint64_t available = this_machine().available_memory;
    return fmt::format("needs more memory than is available, {} bytes ({})", available, human_bytes(available));
}

}  // namespace fedhive::sim
