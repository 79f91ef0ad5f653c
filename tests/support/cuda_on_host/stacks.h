// Stacks that one host thread switches between. Each switch is announced to the address sanitizer, which otherwise marks and
// clears the wrong stack.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>

namespace cuda_on_host {

/// A suspended context: a stack of its own, or the host's.
struct Place {
    ucontext_t first = {};  // its beginning, until `left`
    bool left = false;
    std::jmp_buf at = {};         // without the signal mask, which costs two system calls per switch
    const void* stack = nullptr;  // its lowest address; the host's is known once it was left
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // the sanitizer's
};

/// Prepares a stack on which `run` begins at the first switch to it; `run` calls arrive_from first and never returns. Earlier
/// contents are discarded.
void begin(Place& place, std::byte* stack, std::size_t bytes, void (*run)());
void arrive_from(Place& host);

/// Switches to `there`; returns at a switch to `here`.
void go(Place& here, Place& there);

/// Switches to `there` for good. Not declared noreturn: before such calls the sanitizer clears all marks of the stack.
void leave_for(Place& there);

}  // namespace cuda_on_host
