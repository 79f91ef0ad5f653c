// The command line.
#pragma once

namespace fedhive::sim {

/// Parses the command line and runs the command; returns the exit code. Throws what the commands throw.
int run_cli(int argc, char** argv);

}  // namespace fedhive::sim
