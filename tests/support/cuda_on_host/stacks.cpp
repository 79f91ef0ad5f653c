#include "tests/support/cuda_on_host/stacks.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <dlfcn.h>

#include <cstdlib>

namespace cuda_on_host {

namespace {

using Swap = int (*)(ucontext_t*, const ucontext_t*);

/// The C library's own. The sanitizer puts another in front, which takes all marks off both stacks at each change.
int swap_contexts(ucontext_t& here, const ucontext_t& there) {
    static const Swap swap = reinterpret_cast<Swap>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "swapcontext"));
    return swap(&here, &there);
}

#ifdef __SANITIZE_ADDRESS__
void clear_marks(const std::byte* stack, std::size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
void about_to_go(void** fake_stack, const Place& there) {
    __sanitizer_start_switch_fiber(fake_stack, there.stack, there.stack_bytes);
}
void have_come(const Place& here, const void** stack, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(here.fake_stack, stack, bytes);
}
#else
void clear_marks(const std::byte* /*stack*/, std::size_t /*bytes*/) {}
void about_to_go(void** /*fake_stack*/, const Place& /*there*/) {}
void have_come(const Place& /*here*/, const void** /*stack*/, std::size_t* /*bytes*/) {}
#endif

}  // namespace

void begin(Place& place, std::byte* stack, std::size_t bytes, void (*run)()) {
    clear_marks(stack, bytes);
    place = {};
    place.stack = stack;
    place.stack_bytes = bytes;
    getcontext(&place.context);
    place.context.uc_stack.ss_sp = stack;
    place.context.uc_stack.ss_size = bytes;
    place.context.uc_link = nullptr;
    makecontext(&place.context, run, 0);
}

void arrive_from(Place& host) { have_come({}, &host.stack, &host.stack_bytes); }

void go(Place& here, Place& there) {
    about_to_go(&here.fake_stack, there);
    swap_contexts(here.context, there.context);
    have_come(here, nullptr, nullptr);
}

void leave_for(Place& there) {
    about_to_go(nullptr, there);
    setcontext(&there.context);
    std::abort();
}

}  // namespace cuda_on_host
