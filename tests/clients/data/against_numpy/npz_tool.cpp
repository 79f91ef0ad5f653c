// C++ side of against_numpy.py: reads each archive as training and test file at once, and prints its contents.
//
// usage: npz_tool classes|numbers|positions|tokens FILE…        per file a line: `refused: WHY`, or the output of describe()
#include "aggregation/base/error.h"
#include "clients/data/formats/npz.h"

#include <fmt/ranges.h>

#include <cstdio>

namespace {

using namespace fedhive::clients;

/// Prints the bytes of x in hexadecimal, y, and the owners.
void describe(const Examples& part) {
    fmt::print("{:02x}|", fmt::join(part.values, ""));
    if (part.target.kind == TargetKind::Numbers)
        fmt::print("{}|", fmt::join(part.numbers, " "));
    else
        fmt::print("{}|", fmt::join(part.labels, " "));
    fmt::print("{}\n", fmt::join(part.owners, " "));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() < 2) return 2;
    const std::string& form = arguments.front();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        NpzFiles files{arguments[i], arguments[i], form == "tokens"};
        files.targets = form == "numbers"     ? TargetKind::Numbers
                        : form == "positions" ? TargetKind::ClassEach
                                              : TargetKind::Class;
        try {
            describe(read_npz(files).train);
        } catch (const fedhive::ConfigError& error) {
            fmt::print("refused: {}\n", error.what());
        }
    }
    return 0;
}
