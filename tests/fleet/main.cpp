// The test program is its own worker, as fedhive is.
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/fleet/toy_trainer.h"

#include <doctest/doctest.h>

#include <cstring>

int main(int argc, char** argv) {
    if (argc == 8 && std::strcmp(argv[1], "worker") == 0)
        return fedhive::clients::run_worker(std::atoi(argv[3]), static_cast<std::uint32_t>(std::atoi(argv[5])),
                                            std::atoi(argv[7]), fedhive::testing::make_toy_trainer);
    return doctest::Context(argc, argv).run();
}
