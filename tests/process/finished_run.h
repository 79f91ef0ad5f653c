// A finished run, to be resumed from various states of its folder.
#pragma once

#include "sim/run/run_files.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <map>

namespace fedhive::testing {

/// A run of three rounds, with a checkpoint after each.
struct Finished : FedhiveRun {
    explicit Finished(const std::vector<std::string>& more = {}) : FedhiveRun(small_config(), with_checkpoints(more)) {
        REQUIRE(end() == "exited with status 0");
    }
    static std::vector<std::string> with_checkpoints(std::vector<std::string> options) {
        options.insert(options.end(), {"--set", "checkpoint.every=1"});
        return options;
    }

    std::string resume(const std::vector<std::string>& more,
                       const std::vector<std::pair<std::string, std::string>>& environment = {}) {
        std::filesystem::remove(folder() / "output");
        std::vector<std::string> arguments{"run", "--resume", out().string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        start(std::move(arguments), environment);
        return end();
    }

    /// Expects that a resume ends with status 2 and prints all of `texts`, and that the folder is unchanged.
    void refuses(const std::vector<std::string>& more, const std::vector<std::string>& texts,
                 const std::vector<std::pair<std::string, std::string>>& environment = {}) {
        const std::string before = fingerprint();
        CHECK_MESSAGE(resume(more, environment) == "exited with status 2", output());
        for (const std::string& text : texts) CHECK_MESSAGE(output().find(text) != std::string::npos, text << "\n" << output());
        CHECK(fingerprint() == before);
    }

    bool said(const std::string& text) const { return output().find(text) != std::string::npos; }

    std::string fingerprint() const {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(out()))
            if (entry.is_regular_file()) files[entry.path().string()] = read_text(entry.path());
        return nlohmann::json(files).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    }

    void replace_in(const char* file, const std::string& from, const std::string& to) const {
        std::string text = read_text(out() / file);
        REQUIRE(text.find(from) != std::string::npos);
        text.replace(text.find(from), from.size(), to);
        std::ofstream(out() / file) << text;
    }

    void damage_checkpoint(std::int64_t round) const {
        const std::filesystem::path file = sim::checkpoint_path(out(), round);
        std::string content = read_text(file);
        content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
        std::ofstream(file, std::ios::binary) << content;
    }
};

/// SHA-256 of the model of an undisturbed run.
inline std::string sha_of(const std::vector<std::string>& more) {
    FedhiveRun run(small_config(), more);
    REQUIRE(run.end() == "exited with status 0");
    return run.manifest()["model_sha256"];
}

}  // namespace fedhive::testing
