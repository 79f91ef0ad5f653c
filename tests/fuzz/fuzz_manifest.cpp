// Readers of a run's manifest.json, in a sweep and in the screen: both must find the same end of the run.
#include "sim/screen/run_view.h"
#include "sim/sweep/run_result.h"
#include "sim/sweep/sweep_folder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_folder.h"

using namespace fedhive;

FEDHIVE_FUZZ_TARGET(manifest)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFolder folder({"manifest.json"});
    folder.file("manifest.json").set({reinterpret_cast<const char*>(data), size});
    sim::RunView view(folder.path());
    view.refresh();
    const sim::RunRemains remains = sim::remains_of(folder.path());
    fuzz::expect(remains.finished() == (view.state() == sim::RunState::Finished), "one end of a run");
    fuzz::expect(remains.paused_after() >= 0, "a round to have paused after");
    const sim::RunResult result = sim::read_result(folder.path(), sim::MetricTarget{&clients::metric_catalog().front(), 0.5});
    fuzz::expect(result.rounds == 0, "no rounds where there is no table");
    return 0;
}
