#include "sim/sweep/interrupt_signals.h"

#include "aggregation/base/error.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace fedhive::sim {

InterruptSignals::InterruptSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
    descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) throw os_fault("signalfd");
}

InterruptSignals::~InterruptSignals() { close(descriptor_); }

int InterruptSignals::take() const {
    signalfd_siginfo info{};
    return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace fedhive::sim
