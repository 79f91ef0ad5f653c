// Readers of sweep.json, in a continued sweep and in the screen: what the first accepts is written and must read back the same.
#include "aggregation/base/error.h"
#include "sim/screen/sweep_view.h"
#include "sim/sweep/sweep_record.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_folder.h"

using namespace fedhive;

FEDHIVE_FUZZ_TARGET(sweep_record)(const std::uint8_t* data, std::size_t size) {
    static const fuzz::MemoryFolder folder({"sweep.json"});
    folder.file("sweep.json").set({reinterpret_cast<const char*>(data), size});
    sim::SweepView view(folder.path());
    view.refresh();
    fuzz::expect(view.fraction() >= 0.0 && view.fraction() <= 1.0, "a part of the work, whatever the file says");
    sim::SweepRecord sweep;
    try {
        sweep = sim::read_sweep(folder.path());
    } catch (const ConfigError&) {
        return 0;
    }
    fuzz::expect(view.runs().size() == sweep.runs.size(), "whoever watches sees the runs that a resume finds");
    const auto dump = [](const sim::SweepRecord& record) {
        return to_json(record).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    };
    const std::string text = dump(sweep);
    folder.file("sweep.json").set(text);
    fuzz::expect(dump(sim::read_sweep(folder.path())) == text, "a record, read again, is the same");
    return 0;
}
