// The plan of a worker: all that it needs for the whole run, as plain data. The coordinator stores it in the control block; workers never read
// the YAML.
#pragma once

#include "aggregation/math/client_optimizer.h"
#include "aggregation/memory/arena.h"
#include "aggregation/memory/cuda_arena.h"
#include "aggregation/memory/memories.h"
#include "clients/data/shared_dataset.h"
#include "clients/engine/engine_name.h"
#include "clients/engine/features.h"
#include "clients/engine/precision.h"
#include "clients/models/cut.h"
#include "clients/protocol/collectives.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/reports.h"
#include "clients/tasks/evaluation_sums.h"
#include "clients/tasks/loss.h"
#include "clients/uploads/upload.h"
#include "clients/visit/formula_visit.h"
#include "clients/visit/local_training.h"
#include "clients/visit/python_clients.h"

#include <array>
#include <functional>
#include <memory>
#include <type_traits>

namespace fedhive::clients {

/// Normalization in fixed size.
struct NormalizationPlan {
    static constexpr std::size_t kMaxChannels = 16;
    std::array<double, kMaxChannels> mean{};
    std::array<double, kMaxChannels> std{};
    std::uint32_t num_means = 0;
    std::uint32_t num_stds = 0;

    /// Throws ConfigError for more than kMaxChannels entries.
    static NormalizationPlan of(const Normalization& normalization);
    Normalization get() const;
};

struct WorkerPlan {
    LocalTraining training;
    aggregation::OptimizerOptions optimizer;
    ModelSpec model;
    Cut cut;                                 // mode split
    AllReduce all_reduce = AllReduce::Tree;  // mode gradient_averaging
    bool all_examples = false;               // mode hogwild: every client has all training examples
    std::uint64_t layout_fingerprint = 0;
    aggregation::ArenaGeometry arena;
    aggregation::MemorySpace space = aggregation::MemorySpace::Host;
    aggregation::Memories memories;         // memories beside the model
    MethodText method;                      // the method of strategy.file or of a local rule
    std::uint64_t passes_of_a_step = 1;     // forward and backward: 2 with a second gradient
    int states_descriptor = -1;             // clients' records; -1: none
    int arena_descriptor = -1;              // host arena
    aggregation::IpcHandle arena_handle{};  // CUDA arena
    int data_descriptor = -1;
    DatasetMap data;
    std::uint64_t features = 0;  // inputs of the model's last layer, for formulas that read them
    NormalizationPlan normalization;
    LossPlan loss;                         // loss of local training
    SumsPlan sums;                         // sums of an evaluation
    std::uint64_t evaluation_chunk = 500;  // examples in one forward pass over a client's examples
    Reports reports;                       // of a client's visit
    Reports of_candidates;                 // the measure that a sampler asks clients for; empty: it asks for none
    std::uint64_t loss_passes = 0;         // models whose loss a client computes before it trains, for formulas
    std::uint64_t measure_passes = 0;      // forward passes over a client's examples after it has trained, for formulas
    bool mean_gradient = false;            // formulas read the mean gradient of the model that was sent
    int threads = 1;
    std::uint64_t clients_at_once = 1;     // members of a slot that are trained in one batched step
    aggregation::IpcHandle data_handle{};  // CUDA: the examples in device memory
    UploadPlan upload;
    double clip_norm = 0.0;  // limit of a local step's gradient norm; 0: none
    Precision precision = Precision::F32;
    Engine engine = Engine::Libtorch;
    Features asked;                   // features that the run needs of its engine (engine/features.h)
    bool graph = false;               // CUDA: local steps are recorded once and run again
    VisitHandle visit;                // strategy.visit: whole clients in Python
    FixedText<256> help_for_updates;  // advice in the message about an update that is not finite

    /// The sizes of the model's outputs for an example, for formulas.
    aggregation::formulas::RowSizes row_sizes() const { return {static_cast<std::size_t>(model.num_classes), features}; }
};

static_assert(std::is_trivially_copyable_v<WorkerPlan>);

/// The clients of the plan's visit, which must be given. on_terminal, while_waiting: as in PythonVisits. All references must outlive the result.
std::unique_ptr<PythonClients> make_python_clients(const WorkerPlan& plan, const SharedDataset& dataset, bool on_terminal,
                                                   std::function<void(bool moved)> while_waiting);

}  // namespace fedhive::clients
