#include "sim/fleet/workload.h"

#include "clients/data/formats/synthetic.h"
#include "clients/data/partitions/schemes.h"

#include <doctest/doctest.h>

#include <memory>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// 40 examples, ten per client; two local epochs of batches of four.
struct FourClients {
    FourClients()
        : dataset(clients::SharedDataset::create(clients::draw_synthetic({40, 8, 2, 3, 1.0}, 1),
                                                 clients::partition_contiguous(40, 4))) {
        plan.training = {1, 2, 4};
        options.mode.in_flight = options.mode.quorum = 3;
        options.model_bytes = 1000;
        options.update_bytes = 600;
        options.activation_bytes = 7;
        flight.clients.push_back({.client_id = 1});
    }

    clients::SharedDataset dataset;
    clients::WorkerPlan plan;
    FleetOptions options;
    Deadlines deadlines{2.0};
    Flight flight;
    std::unique_ptr<ArrivalOrder> order;

    /// Of the present options.
    Workload workload() {
        order = make_arrival_order(options);
        return {options, *order, plan, dataset, deadlines};
    }
};

}  // namespace

TEST_SUITE("Workload") {
    TEST_CASE("AClientGoesThroughItsOwnExamplesAShareOrAllInEachEpoch") {
        FourClients four;
        CHECK(four.workload().num_examples(1) == 10);
        CHECK(four.workload().work_of(four.flight, 1).examples == 20);
        four.options.mode.pass = PassExamples::Share;  // of three replicas
        CHECK(four.workload().work_of(four.flight, 1).examples == 28);
        four.options.mode.pass = PassExamples::All;
        CHECK(four.workload().work_of(four.flight, 1).examples == 80);
        CHECK(four.workload().num_examples(1) == 10);
    }

    TEST_CASE("WhereEveryStepArrivesByItselfATaskIsABatchAndTheLastOfAnEpochIsWhatIsLeft") {
        FourClients four;
        four.options.mode.by_steps = true;
        CHECK(four.workload().steps_of(1) == 6);
        std::vector<std::uint64_t> batches;
        for (four.flight.steps_left = 6; four.flight.steps_left-- > 0;)
            batches.push_back(four.workload().work_of(four.flight, 1).examples);
        CHECK(batches == std::vector<std::uint64_t>{4, 4, 2, 4, 4, 2});
    }

    TEST_CASE("StepsOfATaskAreItsBatches") {
        FourClients four;
        CHECK(four.workload().work_of(four.flight, 1).steps == 5);
        four.options.mode.by_steps = true;
        CHECK(four.workload().work_of(four.flight, 1).steps == 1);
    }

    TEST_CASE("TrafficIsTheModes") {
        FourClients four;
        CHECK(four.workload().traffic_of(four.flight, 1).down == 1000);
        CHECK(four.workload().traffic_of(four.flight, 1).up == 600);
        four.options.mode.traffic = [](const Trip& trip) {
            return Traffic{trip.steps * trip.model_bytes, trip.examples * trip.activation_bytes + trip.in_flight};
        };
        CHECK(four.workload().traffic_of(four.flight, 1).down == 5000);
        CHECK(four.workload().traffic_of(four.flight, 1).up == 143);
    }

    TEST_CASE("WhatAClientMeasuresTakesAThirdOfTheTimeAndItsReportsComeUp") {
        FourClients four;
        four.plan.reports.add("other");
        CHECK(four.workload().work_of(four.flight, 1).in_time == 20);
        four.plan.reports.add("sent_loss");
        four.options.report_bytes = four.plan.reports.bytes();
        CHECK(four.workload().work_of(four.flight, 1).examples == 20);
        CHECK(four.workload().work_of(four.flight, 1).in_time == 24);
        CHECK(four.workload().work_of(four.flight, 1).steps == 6);
        CHECK(four.workload().traffic_of(four.flight, 1).down == 1000);
        CHECK(four.workload().traffic_of(four.flight, 1).up == 616);
        four.options.round_trip_s = [](std::uint32_t, std::uint64_t examples, const Traffic&) {
            return static_cast<double>(examples);
        };
        CHECK(four.workload().longest_trip_s(four.flight) == 24.0);
        FourClients gradients;
        gradients.plan.reports.add("sent_gradient_norm");
        CHECK(gradients.workload().work_of(gradients.flight, 1).in_time == 30);
        gradients.plan.reports.add("sent_loss");
        CHECK(gradients.workload().work_of(gradients.flight, 1).in_time == 34);
        gradients.plan.of_candidates.add("sent_gradient_norm");
        CHECK(gradients.workload().examples_of_candidate(1) == 10);
        FourClients method;
        method.plan.mean_gradient = true;
        CHECK(method.workload().work_of(method.flight, 1).examples == 30);
        four.deadlines = Deadlines(std::nullopt);
        four.deadlines.learn({.steps = 1, .seconds = 1.0});
        CHECK(four.workload().deadline_of(four.flight) == 30.0 + 20.0 * 6.0);
    }

    TEST_CASE("TheSlowestOfASlotsClientsSaysHowLongItIsOnItsWay") {
        FourClients four;
        four.flight.clients.push_back({.client_id = 3});
        CHECK(four.workload().longest_trip_s(four.flight) == 0.0);
        four.options.round_trip_s = [](std::uint32_t client, std::uint64_t examples, const Traffic& traffic) {
            return client == 3 ? static_cast<double>(examples + traffic.up) : 1.0;
        };
        CHECK(four.workload().longest_trip_s(four.flight) == 620.0);
    }

    TEST_CASE("ThoseWithTheMostExamplesBeginUnlessTheOrderOfArrivalHasAMeaning") {
        FourClients four;
        four.flight.arrives_s = 5.0;
        CHECK(four.workload().due_of(four.flight) == DueKey::largest_first(20));
        four.options.mode.quorum = 2;  // the first to arrive decide, and they are not known before
        CHECK(four.workload().due_of(four.flight) == DueKey::as_put());
        four.options.mode.late_join = true;
        CHECK(four.workload().due_of(four.flight) == DueKey::earliest_first(5.0));
    }

    TEST_CASE("ThoseWhoTrainAtOnceHaveTheirTimeTogether") {
        FourClients four;
        CHECK(four.workload().deadline_of(four.flight) == 2.0);
        four.plan.clients_at_once = 4;
        four.flight.clients.push_back({.client_id = 3});
        CHECK(four.workload().deadline_of(four.flight) == 4.0);
    }
}
