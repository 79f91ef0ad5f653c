#include "clients/protocol/fault.h"

namespace fedhive::clients {

namespace {

/// When a fault happens in a client's training.
enum class FaultMoment { Training, Update };
constexpr auto all_words(FaultMoment) { return std::array{"training", "update"}; }

KeySpec at() {
    return {.name = "at",
            .default_value = FaultMoment::Training,
            .choices = words_of<FaultMoment>(),
            .doc = "training: after the first local step; update: after the update is written, before it is handed over."};
}

KeySpec seconds() { return {.name = "seconds", .default_value = 1.0, .range = between(0, 1e6), .doc = "Length of the pause."}; }

}  // namespace

const std::vector<FaultSpec>& fault_catalog() {
    static const std::vector<FaultSpec> catalog = {
        {.name = "kill", .summary = "kills the worker with SIGKILL", .kind = FaultKind::Kill, .keys = {at()}},
        {.name = "hang", .summary = "the worker stops answering", .kind = FaultKind::Hang, .keys = {at()}},
        {.name = "throw", .summary = "an exception", .kind = FaultKind::Throw, .keys = {at()}},
        {.name = "nan", .summary = "puts a NaN into the update", .kind = FaultKind::Nan},
        {.name = "slow", .summary = "a pause", .kind = FaultKind::Slow, .keys = {at(), seconds()}},
        {.name = "oom", .summary = "lets an allocation fail", .kind = FaultKind::OutOfMemory, .keys = {at()}},
        {.name = "drop", .summary = "the client does not take part"}};
    return catalog;
}

InjectedFault injected(const std::string& name, const Values& values) {
    const FaultSpec& spec = entry_of(fault_catalog(), name, "fault");
    const Values complete = completed(values, spec.keys);
    InjectedFault fault{.kind = spec.kind};
    if (complete.find("at") != nullptr) fault.at_update = complete.choice<FaultMoment>("at") == FaultMoment::Update ? 1 : 0;
    fault.seconds = complete.number_or("seconds", 0.0);
    return fault;
}

}  // namespace fedhive::clients
