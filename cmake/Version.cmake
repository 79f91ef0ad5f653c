# Writes version.h when the version or the commit has changed; run at every build, so that a manifest never names an old commit.
# Changes in results/ do not count: a table that was just written does not change the program.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCE_DIR}" status --porcelain --untracked-files=no -- . :!results OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
elseif(changes)
  set(commit "${commit}-dirty")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// Written by the build.
#pragma once

namespace fedhive::sim {

inline constexpr const char* kVersion = \"@VERSION@\";
inline constexpr const char* kCommit = \"@commit@\";

}  // namespace fedhive::sim
" @ONLY)
