// A Python process of the fedhive package that answers one line of text at a time. Used for a rule in a file (sim/round/python_rule.h) and for
// a worker's visits (clients/visit/python_clients.h).
//
//   this process                          python3 -m MODULE FILE --serve FD FD
//     ask(line)              ─▶             reads a line
//                            ◀─             writes a line
#pragma once

#include "clients/protocol/process.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// The options to start `python3 -m MODULE ARGUMENTS` with the fedhive package. The environment variable FEDHIVE_PYTHON names another Python,
/// FEDHIVE_PYTHONPATH the package's folder. Throws ConfigError if the package is not found.
SpawnOptions python_module(const std::string& module, const std::vector<std::string>& arguments);

/// A pipe's two ends, which this process owns; the child gets one of them by its number.
class Pipe {
public:
    Pipe();
    ~Pipe();
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int read_end() const { return ends_[0]; }
    int write_end() const { return ends_[1]; }
    void close_read_end() { close_end(0); }
    void close_write_end() { close_end(1); }

private:
    void close_end(std::size_t end);

    std::array<int, 2> ends_{-1, -1};
};

struct PythonOptions {
    std::string module;                                              // "fedhive.rule"
    std::string file;                                                // the user's file
    std::vector<std::pair<std::string, std::string>> environment{};  // added to this process's own
    std::vector<int> inherited{};                                    // descriptors
    bool on_terminal =
        false;  // stdin and stdout are those of this process, for a debugger; else stdout is this process's stderr
};

class PythonProcess {
public:
    /// Starts the process. The destructor kills it, as the kernel does when the calling thread ends. Throws Fault if it cannot start.
    explicit PythonProcess(const PythonOptions& options);

    /// Writes `line`, which has no line break, and returns the process's answer. `while_waiting` is called about twenty times a second; if it
    /// throws, the process has not answered yet and must be destroyed. Throws Fault if the process ends.
    std::string ask(const std::string& line, const std::function<void()>& while_waiting);

private:
    std::string how_it_ended();

    std::string file_;
    Pipe requests_, answers_;
    std::optional<ChildProcess> child_{};
};

}  // namespace fedhive::clients
