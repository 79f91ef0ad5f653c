// What this program trains with: the direct engine where the plan says so, and LibTorch for all else. LibTorch takes a fifth of a second and
// 100 MB of every process that loads it, so it is a library of its own (libfedhive_libtorch.so) behind one table of functions.
//
// A program has libtorch_engine() from one of three: fedhive_late_libtorch loads that library when it is first asked for something, as the
// program `fedhive` does; fedhive_clients is LibTorch linked in, for tests and benchmarks; or, where there is no LibTorch (sanitizers), the
// plain engine of tests/support stands in for it.
#pragma once

#include "aggregation/memory/layout.h"
#include "clients/data/data_format.h"
#include "clients/exported/program.h"
#include "clients/training/trainer.h"

#include <cstdint>
#include <memory>

namespace fedhive::clients {

struct LibtorchEngine {
    TrainerFactory make_trainer = nullptr;
    /// Of any list of layers: reference of draw_initial() (clients/models/initial.h).
    void (*initial_parameters)(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                               aggregation::ParamSpan to) = nullptr;
    /// clients/exported/rehearsal.h
    void (*rehearse)(const exported::Program& program, const DataShape& data, std::uint64_t most_bytes) = nullptr;
    /// GPUs that LibTorch can use. Does not create a CUDA context.
    int (*num_cuda_devices)() = nullptr;
    std::size_t plan_bytes = sizeof(WorkerPlan);  // a library of another build has another idea of a plan
};

/// Throws ConfigError where LibTorch cannot be loaded: which file, why, and what to do.
const LibtorchEngine& libtorch_engine();

/// The trainer of this process (TrainerFactory). Throws Fault when the model's layout is not the coordinator's.
std::unique_ptr<Trainer> make_trainer(const WorkerPlan& plan, const SharedDataset& dataset,
                                      aggregation::ConstParamSpan frozen = {});

/// Writes the model's initial tensors (PyTorch's default initialisation, from the seed; those of a graph are its file's), frozen ones too, into a
/// host span of layout.num_floats(); `layout` is whole_layout(spec). Padding is left as it is.
void initial_parameters(const ModelSpec& spec, const aggregation::Layout& layout, std::uint64_t seed,
                        aggregation::ParamSpan to);

}  // namespace fedhive::clients
