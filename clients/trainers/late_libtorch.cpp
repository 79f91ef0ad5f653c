// LibTorch when it is first needed: libtorch_place() says which, and where the library is that knows it.
#include "aggregation/base/error.h"
#include "clients/trainers/engine.h"
#include "clients/trainers/libtorch_info.h"

#include <dlfcn.h>

#include <filesystem>

namespace fedhive::clients {

namespace {

constexpr const char* kOtherEngine = "use a model that training.engine: direct supports";

/// Throws ConfigError with the loader's reason. At once (RTLD_NOW): a library of another build is found out here, not in the middle of a round.
void* load_library(const std::filesystem::path& library, const char* what_to_do) {
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr)
        throw ConfigError(fmt::format("LibTorch cannot be loaded: {}; {}, or {}", dlerror(), what_to_do, kOtherEngine));
    return loaded;
}

const LibtorchEngine& load() {
    const LibtorchPlace place = libtorch_place();
    if (!place.problem.empty())
        throw ConfigError(fmt::format("LibTorch cannot be loaded: {}, or {}", place.problem, kOtherEngine));
    // The engine's library asks for these by name, and gets the ones that are there already.
    if (!place.folder.empty())
        for (const char* name : {"lib/libc10.so", "lib/libtorch_cpu.so"})
            load_library(place.folder / name, "install PyTorch again (pip install --force-reinstall torch)");
    const char* build_again =
        place.folder.empty() ? "build fedhive again (scripts/run does that)" : "install fedhive and PyTorch again";
    void* loaded = load_library(place.engine, build_again);
    void* entry = dlsym(loaded, "fedhive_libtorch_engine");
    if (entry == nullptr)
        throw ConfigError(fmt::format("LibTorch cannot be loaded: {}; {}, or {}", dlerror(), build_again, kOtherEngine));
    const LibtorchEngine& engine = reinterpret_cast<const LibtorchEngine& (*)()>(entry)();
    if (engine.plan_bytes != sizeof(WorkerPlan))
        throw ConfigError(fmt::format("{} comes from another build than this program; build both again (scripts/run does that)",
                                      place.engine.string()));
    return engine;
}

}  // namespace

const LibtorchEngine& libtorch_engine() {
    static const LibtorchEngine& engine = load();
    return engine;
}

}  // namespace fedhive::clients
