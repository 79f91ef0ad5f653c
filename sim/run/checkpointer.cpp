#include "sim/run/checkpointer.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "aggregation/memory/cuda_arena.h"
#include "clients/trainers/libtorch_info.h"
#include "sim/config/load_config.h"
#include "sim/plan/engine_choice.h"
#include "sim/plan/model_spec.h"
#include "sim/ranks/bring_states.h"
#include "sim/record/durable_file.h"
#include "sim/run/run_files.h"

#include <unistd.h>

#include <algorithm>
#include <set>

namespace fedhive::sim {

namespace {

/// `checkpoint.every: auto`: at most 1 / kCostsApart of the time, and not more often than kShortest_ns.
constexpr std::int64_t kCostsApart = 50;
constexpr std::int64_t kShortest_ns = 1'000'000'000;

}  // namespace

BitsEnvironment environment_of(const Experiment& run) {
    const clients::LibtorchInfo torch = clients::libtorch_info();
    BitsEnvironment environment{.libtorch = torch.version,
                                .cpu_capability = torch.cpu_capability,
                                .device = "cpu",
                                .gpu = "",
                                .engine = word_of(run.worker_plan.engine),
                                .model_form = form_of(run.model.spec)};
    if (run.resources.space == aggregation::MemorySpace::Host) {
        if (run.worker_plan.engine == clients::Engine::Libtorch) environment.cpu_vendor = torch.cpu_vendor;
        return environment;
    }
    const aggregation::CudaVersions cuda = aggregation::cuda_versions();
    environment.device = "cuda";
    environment.gpu = fmt::format("sm_{} under driver {}", cuda.architecture, cuda.driver);
    return environment;
}

CheckpointOfRun checkpoint_of(const Experiment& run, const Progress& progress, const TablePositions& tables) {
    Checkpoint checkpoint{.round = run.server.state.round,
                          .version = run.server.state.version,
                          .config = to_yaml(run.config),
                          .environment = environment_of(run),
                          .data_fingerprint = run.data.fingerprint,
                          .layout_fingerprint = run.model.layout.fingerprint(),
                          .record = record_text(run.model.memories),
                          .tables = tables,
                          .progress = progress,
                          .now_s = run.server.state.now_s,
                          .in_flight = run.server.state.in_flight,
                          .sampler = run.server.state.sampler,
                          .weights = run.server.weighing.state(),
                          .clip_norm = run.server.state.clip_norm};
    if (const auto& sent = run.server.state.sent; sent && sent->by_changes()) {
        checkpoint.sent_round = sent->round;
        checkpoint.heard = sent->heard;
    }
    CheckpointOfRun result;
    std::vector<NamedVector> vectors;
    const auto add = [&](const std::string& name, aggregation::ConstParamSpan values) {
        vectors.push_back({name, result.on_host.emplace_back(values)});
    };
    add("model", run.server.state.region());
    for (const aggregation::Moment& moment : run.server.moments()) add(std::string("server.") + moment.name, moment.values);
    std::set<std::uint64_t> added{run.server.state.version};
    for (const InFlight& client : run.server.state.in_flight)
        if (added.insert(client.version).second)
            add(base_name(client.version), run.resources.arena->global(client.global_index));
    vectors.push_back({"frozen", result.on_host.emplace_back(run.resources.arena->frozen()), &run.model.frozen});
    aggregation::synchronize(run.resources.space);
    result.pieces = encode_checkpoint(checkpoint, run.model.region, vectors, run.server.client_states);
    return result;
}

Checkpointer::Checkpointer(Experiment& run, RunFolder* folder, const Reporter& reporter, std::optional<std::int64_t> newest)
    : run_(run), folder_(folder), reporter_(reporter), newest_(newest) {}

void Checkpointer::round_ended(const ServerState& server) { write_if_agreed(folder_ != nullptr && due(server.round)); }

void Checkpointer::write_if_older() {
    write_if_agreed(folder_ != nullptr && run_.server.state.round > 0 && newest_ != run_.server.state.round);
}

/// With several ranks, the state of clients is stored by the ranks that train them, so all must agree to collect it. After the
/// loss of a rank its state is gone, and no checkpoint is written.
void Checkpointer::write_if_agreed(bool wanted) {
    Ranks& ranks = run_.ranks;
    if (!ranks.is_alone() && run_.server.client_states.floats() > 0) {
        if (ranks.is_broken() || ranks.all_gather(wanted ? "due" : "", {})[0].empty()) return;
        bring_states(run_.server.client_states, ranks);
    }
    if (wanted) write();
}

bool Checkpointer::due(std::int64_t round) const {
    if (run_.config.checkpoint.every) return round % *run_.config.checkpoint.every == 0;
    return written_ns_ == 0 || now_ns() - written_ns_ >= std::max(kShortest_ns, kCostsApart * cost_ns_);
}

void Checkpointer::write() {
    const std::int64_t start_ns = now_ns();
    // Tables first: a checkpoint must not point beyond what is on the disk.
    const TablePositions tables = folder_->sync_tables();
    const CheckpointOfRun checkpoint = checkpoint_of(run_, reporter_.progress(), tables);
    write_file(checkpoint_path(folder_->path(), run_.server.state.round), [&](const WritePart& write_part) {
        write_part(checkpoint.pieces.head);
        for (const std::string_view piece : checkpoint.pieces.data) {
            write_part(piece);
            run_.server.client_states.release_pages(piece);
        }
    });
    newest_ = run_.server.state.round;
    remove_others();
    written_ns_ = now_ns();
    cost_ns_ = written_ns_ - start_ns;
}

void Checkpointer::remove_others() const {
    // Checkpoints of later rounds are damaged ones, from which the run was not resumed.
    std::int64_t kept = 0;
    const std::vector<std::int64_t> rounds = checkpoint_rounds(folder_->path());
    for (std::size_t i = rounds.size(); i-- > 0;) {
        const std::int64_t round = rounds[i];
        const bool is_first = round == 0 && !run_.config.model.init.empty();
        if (round <= *newest_ && kept++ < run_.config.checkpoint.keep) continue;
        // A failure is harmless here; a full disk will be reported elsewhere.
        if (!is_first) unlink(checkpoint_path(folder_->path(), round).c_str());
    }
}

}  // namespace fedhive::sim
