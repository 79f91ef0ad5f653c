// A sweep as it goes on: on a terminal a table that is redrawn in place, in a pipe a line for each change. Of `fedhive sweep` itself and of
// `fedhive watch`.
#pragma once

#include "sim/screen/sweep_view.h"
#include "sim/screen/terminal.h"

#include <filesystem>
#include <map>
#include <string>

namespace fedhive::sim {

class SweepScreen {
public:
    /// The terminal must outlive it.
    SweepScreen(const std::filesystem::path& folder, Terminal& terminal) : sweep_(folder), terminal_(terminal) {}

    /// Reads the folder and shows what is new.
    void show();

    /// The line that stays: how it ended, and what to do next.
    void show_end();

    const SweepView& sweep() const { return sweep_; }

private:
    void say_changes();
    std::string end() const;

    SweepView sweep_;
    Terminal& terminal_;
    std::map<std::string, std::string> statuses_;  // by run, as said
};

}  // namespace fedhive::sim
