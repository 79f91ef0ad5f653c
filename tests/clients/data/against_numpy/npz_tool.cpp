// Our side of against_numpy.py: reads archives, each as training and test file at once, and says what is in them.
//
// usage: npz_tool classes|numbers|positions|tokens FILE…        for each a line: `refused: WHY`, or what describe() says
#include "aggregation/base/error.h"
#include "clients/data/formats/npz.h"

#include <fmt/ranges.h>

#include <cstdio>

namespace {

using namespace fedhive::clients;

/// The bytes of x, in hexadecimal digits; y; the owners.
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
