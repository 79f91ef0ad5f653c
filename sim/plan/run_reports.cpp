#include "sim/plan/run_reports.h"

#include "clients/tasks/learning_task.h"
#include "clients/tasks/measures.h"
#include "clients/uploads/upload.h"
#include "sim/round/sampling.h"

namespace fedhive::sim {

std::vector<clients::ReportSpec> report_specs(const RunConfig& run) {
    std::vector<clients::ReportSpec> specs;
    for (const std::string& measure : run.measures())
        specs.push_back(clients::report_of_measure(clients::learning_task(run.task), measure));
    if (run.strategy.parts.method != nullptr)
        for (const ReportDoc& report : run.strategy.parts.method->reports)
            specs.push_back({report.name, "", report.doc.empty() ? "reported by strategy.file" : report.doc});
    const StrategyParts& parts = run.strategy.parts;
    if (parts.visit != nullptr && !parts.visits_by_method())
        for (const ReportDoc& report : parts.visit->reports)
            specs.push_back({report.name, "", report.doc.empty() ? "reported by strategy.visit" : report.doc});
    if (run.adapts_clip()) specs.push_back(clients::report_of_clip());
    return specs;
}

clients::Reports reports_of(const RunConfig& run) {
    clients::Reports reports;
    for (const clients::ReportSpec& spec : report_specs(run)) reports.add(spec.name);
    return reports;
}

clients::Reports asked_of_candidates(const RunConfig& run) {
    clients::Reports asked;
    if (most_measured(run, 1) > 0)
        asked.add(clients::report_of_measure(clients::learning_task(run.task), sampler_spec(run.sampling.name).measure).name);
    return asked;
}

}  // namespace fedhive::sim
