#include "sim/app/all_ranks.h"

#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/machine/nvml.h"
#include "sim/ranks/launch.h"
#include "sim/screen/screen_text.h"
#include "sim/screen/terminal.h"

#include <unistd.h>

#include <exception>
#include <optional>

namespace fedhive::sim {

namespace {

/// The exit code for the exception being handled.
int code_of_exception() {
    try {
        throw;
    } catch (const ConfigError&) {
        return 2;
    } catch (const clients::Interrupted&) {
        return 130;
    } catch (const std::exception&) {
        return 1;
    }
}

std::string message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const clients::Interrupted&) {
        return "interrupted";
    } catch (const std::exception& exception) {
        return exception.what();
    }
}

int in_these_ranks(Ranks& ranks, const std::function<int(Ranks& ranks)>& work) {
    std::exception_ptr error;
    int code = 0;
    try {
        code = work(ranks);
    } catch (const std::exception&) {
        ranks.announce();
        code = code_of_exception();
        error = std::current_exception();
    }
    if (!ranks.leave()) {
        if (error && ranks.writes()) Terminal(STDERR_FILENO).say(escaped("fedhive: " + message_of(error)));
        ranks.abort(code == 0 ? 1 : code);
    }
    // Only rank 0's status counts: another rank's non-zero status would make mpirun end rank 0 before it has printed the
    // reason.
    if (!ranks.writes()) return 0;
    if (error) std::rethrow_exception(error);
    return code;
}

}  // namespace

int in_all_ranks(const std::string& command, const std::function<int(Ranks& ranks)>& work) {
    try {
        return in_these_ranks(join_ranks(command, [] { return nvml_devices(); }), work);
    } catch (const ConfigError&) {
        const std::optional<Launch> launch = find_launch();
        if (launch && launch->rank != 0) return 2;  // only rank 0 prints the message
        throw;
    }
}

}  // namespace fedhive::sim
