// The test program is its own worker, as fedhive is.
#define DOCTEST_CONFIG_IMPLEMENT
#include "clients/worker/worker.h"
#include "tests/fleet/mps_owner.h"
#include "tests/fleet/toy_trainer.h"

#include <doctest/doctest.h>

#include <cstring>

int main(int argc, char** argv) {
    if (argc == 8 && std::strcmp(argv[1], "worker") == 0)
        return fedhive::clients::run_worker(std::atoi(argv[3]), static_cast<std::uint32_t>(std::atoi(argv[5])),
                                            std::atoi(argv[7]), fedhive::testing::make_toy_trainer);
    if (argc == 10 && std::strcmp(argv[1], "mps-keeper") == 0)
        return fedhive::sim::mps_keeper_command(argv[3], std::atoi(argv[5]), std::atoi(argv[7]), std::atoi(argv[9]));
    if (argc == 3 && std::strcmp(argv[1], "mps-owner") == 0) return fedhive::testing::own_a_daemon(argv[2]);
    return doctest::Context(argc, argv).run();
}
