#include "tests/support/cuda_on_host/stacks.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <dlfcn.h>

namespace cuda_on_host {

namespace {

using Jump = void (*)(std::jmp_buf, int);

/// Uses the C library's longjmp: the sanitizer's replacement clears all marks of the stack that is left.
void resume(Place& there) {
    static const Jump jump = reinterpret_cast<Jump>(dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "_longjmp"));
    if (there.left)
        jump(there.at, 1);
    else
        setcontext(&there.first);
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
    getcontext(&place.first);
    place.first.uc_stack.ss_sp = stack;
    place.first.uc_stack.ss_size = bytes;
    place.first.uc_link = nullptr;
    makecontext(&place.first, run, 0);
}

void arrive_from(Place& host) { have_come({}, &host.stack, &host.stack_bytes); }

void go(Place& here, Place& there) {
    about_to_go(&here.fake_stack, there);
    here.left = true;
    if (_setjmp(here.at) == 0) resume(there);
    have_come(here, nullptr, nullptr);
}

void leave_for(Place& there) {
    about_to_go(nullptr, there);
    resume(there);
}

}  // namespace cuda_on_host
