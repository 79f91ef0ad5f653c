// Shows a running sweep: on a terminal a table redrawn in place, in a pipe a line for each change. For `fedhive sweep` and
// `fedhive watch`.
#pragma once

#include "sim/screen/sweep_view.h"
#include "sim/screen/terminal.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace fedhive::sim {

class SweepScreen {
public:
    /// The terminal must outlive this.
    SweepScreen(const std::filesystem::path& folder, Terminal& terminal) : sweep_(folder), terminal_(terminal) {}

    /// Reads the folder and shows changes.
    void show();

    /// Shows the final line: how the sweep ended, and what to do next.
    void show_end();

    const SweepView& sweep() const { return sweep_; }

private:
    void say_changes();
    std::string end() const;

    SweepView sweep_;
    Terminal& terminal_;
    std::map<std::string, std::optional<RunState>> statuses_;  // by run, as last shown
};

}  // namespace fedhive::sim
