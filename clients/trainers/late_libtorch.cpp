// LibTorch when it is first needed, from libfedhive_libtorch.so beside the program (as it is built) or in the lib/ next to its folder (as it is
// installed).
#include "aggregation/base/error.h"
#include "clients/trainers/engine.h"

#include <dlfcn.h>

#include <filesystem>

namespace fedhive::clients {

namespace {

constexpr const char* kLibrary = "libfedhive_libtorch.so";

std::filesystem::path find_library() {
    const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::filesystem::path beside = folder / kLibrary;
    return std::filesystem::exists(beside) ? beside : folder.parent_path() / "lib" / kLibrary;
}

const LibtorchEngine& load() {
    const std::filesystem::path library = find_library();
    const char* symbol = "fedhive_libtorch_engine";
    // At once: a library of another build is found out here, not in the middle of a round.
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = loaded == nullptr ? nullptr : dlsym(loaded, symbol);
    if (entry == nullptr)
        throw ConfigError(
            fmt::format("LibTorch cannot be loaded: {}; build fedhive again (scripts/run does that), or use a model that "
                        "training.engine: direct supports",
                        dlerror()));
    const LibtorchEngine& engine = reinterpret_cast<const LibtorchEngine& (*)()>(entry)();
    if (engine.plan_bytes != sizeof(WorkerPlan))
        throw ConfigError(fmt::format("{} comes from another build than this program; build both again (scripts/run does that)",
                                      library.string()));
    return engine;
}

}  // namespace

const LibtorchEngine& libtorch_engine() {
    static const LibtorchEngine& engine = load();
    return engine;
}

}  // namespace fedhive::clients
