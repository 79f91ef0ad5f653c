#include "clients/worker/own_processor.h"

#include <sched.h>

namespace fedhive::clients {

bool keep_to_own_processor(std::uint32_t worker, std::uint32_t workers) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    if (workers < 2 || static_cast<std::uint32_t>(CPU_COUNT(&allowed)) != workers) return false;
    std::uint32_t before = 0;
    for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &allowed) || before++ != worker) continue;
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(processor, &own);
        return sched_setaffinity(0, sizeof own, &own) == 0;
    }
    return false;
}

}  // namespace fedhive::clients
