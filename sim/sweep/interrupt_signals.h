// SIGINT, SIGTERM and SIGHUP as a descriptor to poll. Call clients::block_interrupts() before.
#pragma once

namespace fedhive::sim {

class InterruptSignals {
public:
    InterruptSignals();
    ~InterruptSignals();
    InterruptSignals(const InterruptSignals&) = delete;
    InterruptSignals& operator=(const InterruptSignals&) = delete;

    int descriptor() const { return descriptor_; }
    /// The number of a signal that has come, each once; 0 if there is none.
    int take() const;

private:
    int descriptor_ = -1;
};

}  // namespace fedhive::sim
