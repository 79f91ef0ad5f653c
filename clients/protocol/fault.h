// Failures on purpose, by name: what a config says of them and what a worker is told. What a worker does then is in Supervision::fire
// (clients/training/supervision.h). To add one: a FaultKind, its case there, its entry in fault.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/protocol/task.h"

#include <string>
#include <vector>

namespace fedhive::clients {

struct FaultSpec {
    std::string name;
    std::string summary;               // what happens: half a line
    FaultKind kind = FaultKind::None;  // None: it never reaches a worker
    std::vector<KeySpec> keys{};       // `at` and `seconds` go to the worker
};

/// All faults, in the order of REFERENCE.md.
const std::vector<FaultSpec>& fault_catalog();

/// What a worker is told of the fault of that name, with the values of its keys. Throws Fault where there is none of that name.
InjectedFault injected(const std::string& name, const Values& values);

}  // namespace fedhive::clients
