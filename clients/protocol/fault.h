// Injected faults by name: their config keys, and the plain data that a worker gets. Supervision::fire (clients/worker/supervision.h) executes
// them. To add one: add a FaultKind, its case in fire(), and its entry in fault.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/protocol/task.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct FaultSpec {
    std::string name;
    std::string summary;               // what happens: half a line
    FaultKind kind = FaultKind::None;  // None: the fault does not reach a worker
    std::vector<KeySpec> keys{};       // the worker gets `at` and `seconds`
};

/// All faults, in the order of REFERENCE.md.
const std::vector<FaultSpec>& fault_catalog();

/// The worker's data of the fault `name` with the values of its keys. Throws Fault for an unknown name.
InjectedFault injected(const std::string& name, const Values& values);

}  // namespace fedhive::clients
