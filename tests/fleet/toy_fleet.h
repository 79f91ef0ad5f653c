// What runs of toy trainers share: data, arena, server, strategy, and the fleet, once start() has its options.
#pragma once

#include "aggregation/memory/host_arena.h"
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "sim/fleet/fleet.h"
#include "tests/fleet/toy_trainer.h"

#include <cstdlib>

namespace fedhive::testing {

/// 12 clients of ten examples.
inline clients::SharedDataset twelve_clients() {
    return clients::SharedDataset::create(clients::draw_synthetic({120, 25, 3, 4, 1.0}, 1),
                                          clients::partition_contiguous(120, 12));
}

struct ToyFleet {
    /// What goes wrong, and for which client: see toy_trainer.h.
    explicit ToyFleet(const aggregation::ArenaGeometry& geometry, const char* fault = "", const char* client = "",
                      clients::SharedDataset data = twelve_clients())
        : dataset(std::move(data)),
          arena(geometry),
          server(arena),
          strategy(sim::make_strategy("fedavg", sim::Weighting::Uniform)) {
        setenv("TOY_FAULT", fault, 1);
        setenv("TOY_CLIENT", client, 1);
    }

    void start(const sim::FleetOptions& options, std::uint64_t batch_size = 4, std::uint64_t evaluation_chunk = 0) {
        clients::WorkerPlan plan = toy_plan(arena, dataset, batch_size);
        if (evaluation_chunk != 0) plan.evaluation_chunk = evaluation_chunk;
        fleet = std::make_unique<sim::Fleet>(options, plan, arena, dataset, make_toy_trainer);
    }

    clients::SharedDataset dataset;
    aggregation::HostArena arena;
    sim::ServerState server;
    sim::Strategy strategy;
    std::unique_ptr<sim::Fleet> fleet;
};

}  // namespace fedhive::testing
