#include "sim/doctor.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

TEST_SUITE("Doctor") {
    TEST_CASE("EachFactNamesItsCauseFirst") {
        const auto first = [](const IpcFacts& facts) { return likely_ipc_causes(facts).front(); };
        IpcFacts facts;
        facts.kernel_release = "6.1.0-amd64";
        CHECK(first(facts).find("driver") != std::string::npos);
        facts.own_pid_namespace = true;
        CHECK(first(facts).find("PID namespace") != std::string::npos);
        facts.mps_other_user = true;
        CHECK(first(facts).find("CUDA_MPS_PIPE_DIRECTORY") != std::string::npos);
        facts.mig_devices = true;
        CHECK(first(facts).find("MIG") != std::string::npos);
        facts.kernel_release = "5.15.133.1-microsoft-standard-WSL2";
        CHECK(first(facts).find("WSL2") != std::string::npos);
        CHECK(likely_ipc_causes(facts).size() == 4);
    }
}
