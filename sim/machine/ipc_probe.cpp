#include "sim/machine/ipc_probe.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/cuda_arena.h"
#include "clients/protocol/process.h"

#include <vector>

namespace fedhive::sim {

namespace {

constexpr std::size_t kProbeFloats = 4096;
constexpr float kQuestion = 1.5F;  // what the parent writes
constexpr double kFactor = 2.0;    // a kernel of the child multiplies it by this

std::string share_with_a_child() {
    const aggregation::CudaArena arena(aggregation::cuda_driver(), {kProbeFloats, 1});
    const std::vector<float> question(kProbeFloats, kQuestion);
    aggregation::copy(arena.global(0), question);
    aggregation::synchronize(aggregation::MemorySpace::Cuda);
    std::string hex;
    const aggregation::IpcHandle handle = arena.handle();
    for (const auto byte : handle.bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    clients::SpawnOptions spawn;
    spawn.arguments = {"ipc-probe", hex, std::to_string(kProbeFloats)};
    clients::ChildProcess child(spawn);
    if (!child.wait_for(20.0)) return "the probing child did not end within 20 s";
    if (const std::string text = child.end()->text; text != "exited with status 0") return "the probing child " + text;
    std::vector<float> seen(kProbeFloats, 0.0F);
    aggregation::copy(seen, arena.slot(0));
    const auto answer = static_cast<float>(kFactor * kQuestion);
    return seen == std::vector<float>(kProbeFloats, answer) ? "" : "the data that the child wrote did not arrive";
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
    std::vector<float> seen(num_floats, 0.0F);
    aggregation::copy(seen, view.global(0));
    if (seen != std::vector<float>(num_floats, kQuestion)) return 1;
    aggregation::scale(view.slot(0), view.global(0), kFactor);
    aggregation::synchronize(aggregation::MemorySpace::Cuda);
    return 0;
}

}  // namespace fedhive::sim
