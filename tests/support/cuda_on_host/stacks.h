// Stacks that one thread of the host changes between. The address sanitizer, where it is in the build, is told of each change: what it marks and
// what it clears is on the stack that it takes to be in use.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>

namespace cuda_on_host {

/// What goes on later where it was left: a stack of its own, or the host's.
struct Place {
    ucontext_t first = {};  // where it begins, until `left`
    bool left = false;
    std::jmp_buf at = {};         // without the signal mask, which costs two system calls a change
    const void* stack = nullptr;  // its lowest address; of the host's, known once it was left
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;  // the sanitizer's
};

/// A stack of its own on which `run` begins when somebody goes there; `run` calls arrive_from first and never returns. What was left on
/// this stack is forgotten.
void begin(Place& place, std::byte* stack, std::size_t bytes, void (*run)());
void arrive_from(Place& host);

/// Goes on there, and returns when somebody goes to `here`.
void go(Place& here, Place& there);

/// Goes on there for good. Not declared to: before such calls the sanitizer takes all marks off the stack.
void leave_for(Place& there);

}  // namespace cuda_on_host
