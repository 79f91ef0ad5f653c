// fedhive: one binary, its subcommands in cli.cpp. Catches to print and to return non-zero, never to go on.
#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/cli.h"

#include <fcntl.h>

#include <csignal>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    // Without these three, shared memory would get their numbers, and what is printed would go into it.
    for (int descriptor = 0; descriptor <= 2; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return 1;
    // A reader that goes away (`| head`) does not end an experiment.
    signal(SIGPIPE, SIG_IGN);
    try {
        return fedhive::sim::run_cli(argc, argv);
    } catch (const fedhive::ConfigError& error) {
        std::fprintf(stderr, "fedhive: %s\n", error.what());
        return 2;
    } catch (const fedhive::clients::Interrupted&) {
        std::fprintf(stderr, "fedhive: interrupted\n");
        return 130;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fedhive: %s\n", error.what());
        return 1;
    }
}
