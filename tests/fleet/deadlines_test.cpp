// What a client may take.
#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"
#include "sim/fleet/workload.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>

using namespace fedhive;
using namespace fedhive::sim;

TEST_SUITE("Deadlines") {
    TEST_CASE("DeadlineIsFixedOrLearnedFromTheSlowestStep") {
        Deadlines deadlines(std::nullopt);
        CHECK(deadlines.of_client(100) == 300.0);
        clients::ClientResult result;
        result.steps = 10;
        result.seconds = 5.0;
        deadlines.learn(result);
        CHECK(deadlines.of_client(100) == 30.0 + 20.0 * 0.5 * 100);
        CHECK(Deadlines(7.0).of_client(100) == 7.0);
    }

    TEST_CASE("ClientsThatTrainTogetherHaveTheirTimeTogether") {
        const clients::SharedDataset dataset = clients::SharedDataset::create(clients::draw_synthetic({300, 5, 3, 4, 1.0}, 1),
                                                                              clients::partition_contiguous(300, 100));
        const FleetOptions options;
        const Deadlines deadlines(7.0);
        Flight flight;
        for (std::uint32_t id = 0; id < 5; ++id) flight.clients.push_back({.client_id = id});
        clients::WorkerPlan plan;
        const std::unique_ptr<ArrivalOrder> order = make_arrival_order(options);
        const Workload workload(options, *order, plan, dataset, deadlines);
        CHECK(workload.deadline_of(flight) == 7.0);
        plan.clients_at_once = 2;
        CHECK(workload.deadline_of(flight) == 14.0);
        plan.clients_at_once = 1;
        plan.engine = clients::Engine::Direct;  // on the host one after the other
        CHECK(workload.deadline_of(flight) == 7.0);
        plan.space = aggregation::MemorySpace::Cuda;
        CHECK(workload.deadline_of(flight) == 35.0);
        for (std::uint32_t id = 5; id < 100; ++id) flight.clients.push_back({.client_id = id});
        CHECK(workload.deadline_of(flight) == 64 * 7.0);
    }
}
