#include "sim/ipc_probe.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_arena.h"
#include "clients/protocol/process.h"
#include "sim/commands.h"

#include <vector>

namespace fedhive::sim {

namespace {

constexpr std::size_t kProbeFloats = 4096;
constexpr float kPattern = 1.5F;

std::string share_with_a_child() {
    const aggregation::CudaArena arena(aggregation::cuda_driver(), {kProbeFloats, 1});
    std::string hex;
    for (const auto byte : arena.handle().bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    clients::SpawnOptions spawn;
    spawn.arguments = {"ipc-probe", hex, std::to_string(kProbeFloats)};
    clients::ChildProcess child(spawn);
    if (!child.wait_for(20.0)) return "the probing child did not end within 20 s";
    if (const std::string text = child.end()->text; text != "exited with status 0") return "the probing child " + text;
    std::vector<float> seen(kProbeFloats, 0.0F);
    aggregation::copy(seen, arena.slot(0));
    return seen == std::vector<float>(kProbeFloats, kPattern) ? "" : "what the child wrote did not arrive";
}

}  // namespace

std::string probe_ipc() {
    try {
        return share_with_a_child();
    } catch (const std::exception& error) {
        return error.what();
    }
}

int ipc_probe_command(const std::string& handle_hex, std::size_t num_floats) {
    aggregation::IpcHandle handle;
    if (handle_hex.size() != 2 * handle.bytes.size()) throw ConfigError("ipc-probe: a handle has 128 hexadecimal digits");
    for (std::size_t i = 0; i < handle.bytes.size(); ++i)
        handle.bytes[i] = static_cast<unsigned char>(std::stoul(handle_hex.substr(2 * i, 2), nullptr, 16));
    const aggregation::CudaArenaView view(aggregation::cuda_driver(), handle, {num_floats, 1});
    const std::vector<float> pattern(num_floats, kPattern);
    aggregation::copy(view.slot(0), pattern);
    aggregation::synchronize(aggregation::MemorySpace::Cuda);
    return 0;
}

}  // namespace fedhive::sim
