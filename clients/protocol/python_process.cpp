#include "clients/protocol/python_process.h"

#include "aggregation/base/error.h"
#include "aggregation/base/home_folder.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace fedhive::clients {

namespace fs = std::filesystem;

namespace {

constexpr int kLookMs = 50;

/// The folder of the Python package: where FEDHIVE_PYTHONPATH says, the one with the program in it, or that of the program's checkout.
std::string python_path() {
    if (const char* given = std::getenv("FEDHIVE_PYTHONPATH"); given != nullptr) return given;
    if (const fs::path package = package_folder(); !package.empty()) return package.parent_path().string();
    for (fs::path folder = program_folder(); folder != folder.root_path(); folder = folder.parent_path())
        if (fs::exists(folder / "scripts/lib/fedhive/method.py")) return (folder / "scripts/lib").string();
    throw ConfigError(
        fmt::format("no scripts/lib/fedhive above {}; set FEDHIVE_PYTHONPATH to its folder", program_folder().string()));
}

/// Bytecode goes to the cache, never beside sources. Without it, compiling the module takes longer than tracing a file.
std::pair<std::string, std::string> compiled_modules() {
    if (std::getenv("PYTHONPYCACHEPREFIX") != nullptr) return {"PYTHONPYCACHEPREFIX", std::getenv("PYTHONPYCACHEPREFIX")};
    if (const fs::path cache = cache_folder(); !cache.empty()) return {"PYTHONPYCACHEPREFIX", (cache / "pycache").string()};
    return {"PYTHONDONTWRITEBYTECODE", "1"};
}

}  // namespace

SpawnOptions python_module(const std::string& module, const std::vector<std::string>& arguments) {
    const char* given = std::getenv("FEDHIVE_PYTHON");
    SpawnOptions options;
    options.executable = "/usr/bin/env";
    options.arguments = {given != nullptr ? given : "python3", "-m", module};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    const char* own = std::getenv("PYTHONPATH");  // modules of the user's
    options.environment = {{"PYTHONPATH", python_path() + (own != nullptr ? fmt::format(":{}", own) : "")}, compiled_modules()};
    return options;
}

Pipe::Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw os_fault("pipe");
}

Pipe::~Pipe() {
    close_end(0);
    close_end(1);
}

void Pipe::close_end(std::size_t end) {
    if (ends_.at(end) >= 0) close(std::exchange(ends_.at(end), -1));
}

PythonProcess::PythonProcess(const PythonOptions& options) : file_(options.file) {
    SpawnOptions spawn = python_module(
        options.module, {options.file, "--serve", std::to_string(requests_.read_end()), std::to_string(answers_.write_end())});
    spawn.environment.insert(spawn.environment.end(), options.environment.begin(), options.environment.end());
    spawn.inherited = options.inherited;
    spawn.inherited.insert(spawn.inherited.end(), {requests_.read_end(), answers_.write_end()});
    spawn.to_stderr = true;
    spawn.on_terminal = options.on_terminal;
    spawn.own_group = !options.on_terminal;
    child_.emplace(spawn);
    requests_.close_read_end();
    answers_.close_write_end();
}

std::string PythonProcess::ask(const std::string& line, const std::function<void()>& while_waiting) {
    const std::string request = line + "\n";
    for (std::size_t at = 0; at < request.size();) {
        const ssize_t written = write(requests_.write_end(), request.data() + at, request.size() - at);
        if (written < 0 && errno != EINTR) throw Fault(how_it_ended());
        if (written > 0) at += static_cast<std::size_t>(written);
    }
    std::string answer;
    std::array<char, 4096> some{};
    while (answer.empty() || answer.back() != '\n') {
        pollfd one{answers_.read_end(), POLLIN, 0};
        if (poll(&one, 1, kLookMs) > 0) {
            const ssize_t count = read(one.fd, some.data(), some.size());
            if (count == 0) throw Fault(how_it_ended());
            if (count > 0) answer.append(some.data(), static_cast<std::size_t>(count));
        } else {
            while_waiting();
        }
    }
    return answer;
}

std::string PythonProcess::how_it_ended() {
    child_->wait_for(5.0);
    const auto end = child_->end();
    return fmt::format("the Python process of {} {}", file_, end ? end->text : "does not answer");
}

}  // namespace fedhive::clients
