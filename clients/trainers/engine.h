// Makes the engine of a process: the direct engine if the plan says so, otherwise LibTorch. Loading LibTorch takes a process 0.2 s and 100 MB,
// so its engine is a library of its own (libfedhive_libtorch.so) behind one table of functions.
//
// A program gets libtorch_engine() from one of three libraries: fedhive_late_libtorch loads the library at the first call, as
// the program `fedhive` does; fedhive_clients has LibTorch linked in, for tests and benchmarks; without LibTorch (sanitizers),
// the plain engine of tests/support replaces it.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/data/data_format.h"
#include "clients/exported/program.h"
#include "clients/trainers/trainer.h"

#include <cstdint>
#include <memory>

namespace fedhive::clients {

struct LibtorchEngine {
    TrainerFactory make_trainer = nullptr;
    /// Draws the initial tensors of any list of layers; the reference of draw_initial() (clients/models/initial.h).
    void (*initial_parameters)(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                               aggregation::ParamSpan to) = nullptr;
    /// rehearse() of clients/exported/rehearsal.h.
    void (*rehearse)(const exported::Program& program, const DataShape& data, std::uint64_t most_bytes) = nullptr;
    /// Number of GPUs that LibTorch can use. Creates no CUDA context.
    int (*num_cuda_devices)() = nullptr;
    std::size_t plan_bytes = sizeof(WorkerPlan);  // detects a library of another build, with a different plan
};

/// Throws ConfigError if LibTorch cannot be loaded: which file, why, and what to do.
const LibtorchEngine& libtorch_engine();

/// Makes the trainer of this process (TrainerFactory). Throws Fault when the model's layout differs from the coordinator's.
std::unique_ptr<Trainer> make_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                      aggregation::ConstParamSpan frozen = {});

/// Writes the model's initial tensors, including frozen ones, into a host span of layout.num_floats(): PyTorch's default
/// initialisation from the seed, or a graph's values from its file. `layout` is whole_layout(spec). Padding stays unchanged.
void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to);

}  // namespace fedhive::clients
