// The life of a worker process, as the coordinator sees it.
//
//              spawn                    bell, task claimed
//   (nothing) ──────▶ Starting ──────▶ Waiting ───────────▶ Working
//                        │    ready       ▲                    │
//                        │                └────────────────────┘ board empty
//                        │                │
//                        │ cannot start   │ bell, shutdown flag
//                        ▼                ▼
//                     Broken           Stopped         (dead is no state: the pidfd tells it)
//
// Only the worker writes its state, for messages and pictures. The task's own state word (control_block.h) tells whether a task
// is done, the pidfd whether the process lives.
#pragma once

#include <cstdint>

namespace fedhive::clients {

enum class WorkerState : std::uint32_t { Starting, Waiting, Working, Broken, Stopped };

/// "starting", "waiting", … as in messages.
constexpr const char* to_string(WorkerState state) {
    switch (state) {
        case WorkerState::Starting:
            return "starting";
        case WorkerState::Waiting:
            return "waiting";
        case WorkerState::Working:
            return "working";
        case WorkerState::Broken:
            return "broken";
        case WorkerState::Stopped:
            return "stopped";
    }
    return "in an unknown state";
}

}  // namespace fedhive::clients
