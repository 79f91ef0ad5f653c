#include "sim/fleet/failure_policy.h"

#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

FailurePolicy policy_of(OnFailure on_failure, std::int64_t attempts = 3) {
    FailuresConfig failures;
    failures.policy = on_failure;
    failures.attempts = attempts;
    return FailurePolicy(failures);
}

clients::ClientFailure thrown_by(std::int64_t worker) {
    clients::ClientFailure failure;
    failure.kind = clients::FailureKind::Exception;
    failure.worker = worker;
    failure.message = "it broke";
    return failure;
}

}  // namespace

TEST_SUITE("FailurePolicy") {
    TEST_CASE("RetryCountsAttemptsAndTheLastOneEndsTheRun") {
        FailurePolicy policy = policy_of(OnFailure::Retry, 2);
        Attempts entry;
        policy.resolve(entry, thrown_by(3), true);
        CHECK(entry.attempt == 2);
        CHECK(entry.worker == 3);
        CHECK_FALSE(entry.dropped);
        CHECK_THROWN_MESSAGE("fleet", "2 of 2", RunAborted, policy.resolve(entry, thrown_by(3), true));
        CHECK(policy.counts().failures == 2);
        CHECK(policy.counts().retried == 1);
    }

    TEST_CASE("AForgivenAttemptIsNoneOfTheClients") {
        FailurePolicy policy = policy_of(OnFailure::Retry, 2);
        Attempts entry;
        entry.attempt = 2;
        entry.forgiven = 1;
        policy.resolve(entry, thrown_by(0), true);
        CHECK(entry.attempt == 3);
        CHECK_THROWS_AS(policy.resolve(entry, thrown_by(0), true), RunAborted);
    }

    TEST_CASE("DropLeavesAClientOutButTriesAChunkAgain") {
        FailurePolicy policy = policy_of(OnFailure::Drop);
        Attempts client;
        policy.resolve(client, thrown_by(-1), true);
        CHECK(client.dropped == clients::FailureKind::Exception);
        CHECK(client.attempt == 1);
        CHECK(client.worker == 0);
        Attempts chunk;
        policy.resolve(chunk, thrown_by(0), false);
        CHECK_FALSE(chunk.dropped);
        CHECK(chunk.attempt == 2);
        CHECK(policy.counts().dropped == 1);
        CHECK(policy.counts().retried == 1);
    }

    TEST_CASE("AbortTellsAndThrowsWithoutAnotherAttempt") {
        FailurePolicy policy = policy_of(OnFailure::Abort);
        CHECK(policy.aborts());
        std::vector<FailureAction> told;
        policy.on_failure([&](const clients::ClientFailure&, FailureAction action) { told.push_back(action); });
        Attempts entry;
        CHECK_THROWN_MESSAGE("fleet", "it broke", RunAborted, policy.resolve(entry, thrown_by(0), true));
        CHECK(entry.attempt == 1);
        CHECK(told == std::vector{FailureAction::Aborted});
    }

    TEST_CASE("TwentyDeathsInARowEndTheRunButWorkInBetweenBeginsANewOne") {
        FailurePolicy policy = policy_of(OnFailure::Retry);
        for (int i = 0; i < 19; ++i) policy.count_death(thrown_by(0));
        policy.work_goes_on();
        for (int i = 0; i < 19; ++i) policy.count_death(thrown_by(0));
        CHECK_THROWN_MESSAGE("fleet", "20 workers", RunAborted, policy.count_death(thrown_by(0)));
        CHECK(policy.counts().workers_replaced == 39);
    }
}
