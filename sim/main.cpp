// fedhive: one binary, its subcommands in cli.cpp. Catches to print and to return non-zero, never to go on.
#include "aggregation/base/error.h"
#include "sim/cli.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    try {
        return fedhive::sim::run_cli(argc, argv);
    } catch (const fedhive::ConfigError& error) {
        std::fprintf(stderr, "fedhive: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fedhive: %s\n", error.what());
        return 1;
    }
}
