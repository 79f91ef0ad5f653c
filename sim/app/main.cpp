// fedhive: one binary, its subcommands in cli.cpp. Catches to print and to return non-zero, never to go on.
#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/app/cli.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

namespace {

/// Prints the message; further lines, for further mistakes, are indented. It may include names and values from files and the
/// command line.
void complain(std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.insert(++at, "         ");
    fedhive::sim::Terminal(STDERR_FILENO).say(fedhive::sim::escaped("fedhive: " + text));
}

/// Exits without destructors: LibTorch's static objects take a tenth of a second in every process of a run, and nothing of ours
/// needs them any more.
int leave(int status) {
#ifndef FEDHIVE_SANITIZED  // a sanitizer reports at the end
    std::fflush(nullptr);
    _exit(status);
#endif
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    // Keep descriptors 0 to 2 open: else shared memory could get their numbers, and output would be written into it.
    for (int descriptor = 0; descriptor <= 2; ++descriptor)
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return 1;
    // A reader that goes away (`| head`) does not end an experiment. A limit on file sizes (ulimit -f) ends it with a message
    // that names the file.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    try {
        return leave(fedhive::sim::run_cli(argc, argv));
    } catch (const fedhive::ConfigError& error) {
        complain(error.what());
        return leave(2);
    } catch (const fedhive::clients::Interrupted&) {
        complain("interrupted");
        return leave(130);
    } catch (const std::exception& error) {
        complain(error.what());
        return leave(1);
    }
}
