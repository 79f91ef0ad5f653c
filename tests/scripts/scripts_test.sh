#!/usr/bin/env bash
# usage: scripts_test.sh CASE        runs one case; prints differences and exits non-zero on failure
set -euo pipefail
# shellcheck source=tests/scripts/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

HelpSaysHow() {
    for script in scripts/{setup,run,test,data,report,privacy} tools/{check,site,bench,gpu-archive,gpu-day}; do
        expect 0 "$root/$script" -h
        says "usage: $script"
    done
}

WrongUsageEndsWithTwo() {
    for script in scripts/{setup,test,data,report,privacy} tools/{check,site,bench,gpu-archive}; do
        expect 2 "$root/$script" --no-such-flag
        says "--no-such-flag"
        says "usage: $script"
    done
    expect 2 "$root/scripts/run"
    expect 2 "$root/scripts/data"
    expect 2 "$root/scripts/data" mnist no_such_set
    says "no_such_set"
    expect 2 "$root/tools/check" no_such_check
    expect 2 "$root/tools/check" --fuzz
    says "--fuzz wants a number of seconds"
    expect 2 "$root/tools/check" --fuzz 5 no_such_target
    says "no_such_target"
    expect 2 "$root/scripts/test" -R
    expect 2 "$root/scripts/setup" --cpu --cuda
    expect 2 "$root/scripts/setup" --cpu --cuda-link
    says "--cpu and --cuda-link exclude each other"
    expect 2 "$root/tools/gpu-archive" --out
    expect 2 "$root/scripts/report"
    expect 2 "$root/scripts/report" /no/such/folder
    says "there is no folder /no/such/folder"
}

ProgressMovesOnATerminalAndSaysWhatIsLeft() {
    # shellcheck source=scripts/lib/common.sh
    source "$root/scripts/lib/common.sh"
    [ "$(progress_line release 2 40 65)" = "Building release: 2 of 40 steps · 1:05" ] || fail "$(progress_line release 2 40 65)"
    [ "$(progress_line release 10 40 65)" = "Building release: 10 of 40 steps · 1:05 · about 3:15 to go" ] || fail "$(progress_line release 10 40 65)"
    # Readers of its output see the end at once, not only when the next line would be due.
    local began=$SECONDS
    expect 0 ticking Waiting "" true
    expect 3 ticking Waiting "" bash -c 'exit 3'
    [ $((SECONDS - began)) -lt 12 ] || fail "the end was seen after $((SECONDS - began)) s"
    # A build with a single long step, on a terminal: the line moves without output from ninja.
    cat >"$scratch/slow" <<END
source "$root/scripts/lib/common.sh"
{ echo '[1/9] first'; sleep 3.5; } | show_progress slow
ticking Waiting "$scratch" sleep 2.5
END
    expect 0 script -qec "bash $scratch/slow" /dev/null
    [[ $output =~ "Building slow: 1 of 9 steps · 0:0"[23] ]] || fail "$output"  # a busy machine may pass over a second
    [[ $output =~ "Waiting · 0:0"[23]" · 1 MB here" ]] || fail "$output"
    expect 0 bash "$scratch/slow"
    [[ $output != *steps* && $output != *Waiting* ]] || fail "nothing is worth a line in a log within seconds, but: $output"
}

BuildConfiguresAgainWhenTheMachineHasChanged() {
    mkdir -p "$scratch/bin" "$scratch/build"
    cat >"$scratch/bin/cmake" <<END
#!/bin/bash
[ "\$1" = --preset ] || exit 0
echo "\$*" >>"$scratch/configured"
mkdir -p "$scratch/build/release"
touch "$scratch/build/release/build.ninja"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$scratch" >"$scratch/build/release/CMakeCache.txt"
END
    chmod +x "$scratch/bin/cmake"
    # shellcheck disable=SC2016,SC2317  # expanded by the inner shell; called by expect
    builds() { env -u TORCH_DIR -u FEDHIVE_CUDA "$@" PATH="$scratch/bin:$PATH" bash -c 'set -euo pipefail; source "$0/scripts/lib/common.sh"; root=$1; build release' "$root" "$scratch"; }
    times() { [ "$(wc -l <"$scratch/configured")" = "$1" ] || fail "configured $(wc -l <"$scratch/configured") times, not $1"; }
    expect 0 builds && expect 0 builds && times 1
    # An MPI, then requested kernels.
    printf '#!/bin/bash\n' >"$scratch/bin/mpicxx" && chmod +x "$scratch/bin/mpicxx"
    expect 0 builds && expect 0 builds && times 2
    expect 0 builds FEDHIVE_CUDA=ON && times 3
    grep -q -- -DFEDHIVE_CUDA=ON "$scratch/configured" || fail "$(cat "$scratch/configured")"
}

# The wrapper of Debian's openmpi-bin without libopenmpi-dev.
AnMpiWithoutItsHeadersIsNone() {
    printf '#!/bin/bash\necho g++ -I/usr/include -I%s/none -lmpi\n' "$scratch" >"$scratch/mpicxx" && chmod +x "$scratch/mpicxx"
    expect 0 cmake -DFEDHIVE_MPI=AUTO -DMPI_CXX_COMPILER="$scratch/mpicxx" -P "$root/cmake/Mpi.cmake"
    says "MPI: its headers are missing (Debian: libopenmpi-dev)"
    expect 1 cmake -DFEDHIVE_MPI=ON -DMPI_CXX_COMPILER="$scratch/mpicxx" -P "$root/cmake/Mpi.cmake"
    says "libopenmpi-dev"
}

# $PATH is not changed: the case checks only the advice about it.
LinkPutsTheProgramWhereTheShellFindsIt() {
    scripts_elsewhere
    local project=$scratch/project bin=$scratch/bin
    local setup=$project/scripts/setup program=$project/build/release/fedhive
    mkdir -p "$(dirname "$program")"
    printf '#!/bin/sh\necho started "$@"\n' >"$program"
    chmod +x "$program"
    FEDHIVE_BIN=$bin expect 0 "$setup" --link
    says "$bin/fedhive now links to $program."
    says "$bin is not on PATH"
    expect 0 "$bin/fedhive" run x
    says "started run x"
    FEDHIVE_BIN=$bin PATH=$PATH:$bin expect 0 "$setup" --link
    says "links to $program already"
    says "$bin is on PATH"
    HOME=$scratch/home expect 0 env -u FEDHIVE_BIN "$setup" --link
    [ -x "$scratch/home/.local/bin/fedhive" ] || fail "no link in ~/.local/bin"
    # A file by somebody else.
    rm "$bin/fedhive"
    echo theirs >"$bin/fedhive"
    FEDHIVE_BIN=$bin expect 1 "$setup" --link
    says "$bin/fedhive is no link of this checkout, so it stays"
    [ "$(cat "$bin/fedhive")" = theirs ] || fail "the other file was changed"
    ln -sf /elsewhere/fedhive "$bin/fedhive"
    FEDHIVE_BIN=$bin expect 1 "$setup" --link
    says "links to /elsewhere/fedhive"
    [ "$(readlink "$bin/fedhive")" = /elsewhere/fedhive ] || fail "the other link was changed"
}

# A copy of the scripts, so that data/ of the checkout stays unchanged.
scripts_elsewhere() {
    mkdir "$scratch/project"
    cp -r "$root/scripts" "$root/tools" "$scratch/project/"
}

DataRefusesADamagedFile() {
    scripts_elsewhere
    mkdir -p "$scratch/given/tinyshakespeare" "$scratch/given/mnist"
    echo "To be, or not to be" >"$scratch/given/tinyshakespeare/input.txt"
    FEDHIVE_DATA=$scratch/given expect 1 "$scratch/project/scripts/data" tinyshakespeare
    says "input.txt is damaged"
    head -c 1000 /dev/zero | gzip | head -c 20 >"$scratch/given/mnist/train-images-idx3-ubyte.gz"
    FEDHIVE_DATA=$scratch/given expect 1 "$scratch/project/scripts/data" mnist
    says "train-images-idx3-ubyte.gz is damaged"
    FEDHIVE_DATA=$scratch/given expect 1 "$scratch/project/scripts/data" cifar10
    says "is there"
    FEDHIVE_DATA=$scratch/nowhere expect 1 "$scratch/project/scripts/data" mnist
    says "is not a folder"
    [ -z "$(ls -A "$scratch/project/data")" ] || fail "left behind: $(ls -A "$scratch/project/data")"
}

# A set's name, and the names of formats that read it; the backticks are Markdown's.
# shellcheck disable=SC2016
DataSaysWhoReadsWhat() {
    local formats set pattern
    formats=$(sed -n 's/^| `format` | \(.*\) | \*\*required.*/\1/p' "$root/configs/REFERENCE.md")
    [[ $formats == *'`idx`'* ]] || fail "no formats found in configs/REFERENCE.md: $formats"
    while read -r set pattern; do
        expect 0 python3 -c "import sys; sys.path.insert(0, '$root/scripts/lib'); import datasets; print(datasets.who_reads('$set'))"
        if [[ $formats =~ $pattern ]]; then
            says "data.format: "
        else
            says "no data.format of fedhive reads it yet"
        fi
        local told=${output#*data.format: }
        if [ "$told" != "$output" ]; then [[ $formats == *"\`$told\`"* ]] || fail "$set is said to be read by '$told', which is no format"; fi
        output=$(grep "^#   $set " "$root/scripts/data")
        if [[ $formats =~ $pattern ]]; then says "data.format: "; else says "no data.format"; fi
    done <<<'mnist `idx`
fashion_mnist `idx`
emnist_digits `idx`
emnist_balanced `idx`
emnist_letters `idx`
cifar10 `cifar10`
cifar100 `cifar100`
tinyshakespeare `text'
}

DataReplacesADamagedCopy() {
    local given=${FEDHIVE_DATA:-}
    if [ -z "$given" ] || [ ! -e "$given/tinyshakespeare/input.txt" ]; then
        echo "[skipped] FEDHIVE_DATA holds no tinyshakespeare/input.txt"
        return
    fi
    scripts_elsewhere
    local copy=$scratch/project/data/tinyshakespeare/input.txt
    expect 0 "$scratch/project/scripts/data" tinyshakespeare
    says "checksums right"
    says "a config reads it with data.format: text"
    expect 0 "$scratch/project/scripts/data" tinyshakespeare
    says "there and intact"
    chmod u+w "$copy"
    echo "more" >>"$copy"
    expect 0 "$scratch/project/scripts/data" tinyshakespeare
    says "making it anew"
    cmp -s "$copy" "$given/tinyshakespeare/input.txt" || fail "the copy was not replaced"
}

# plant FILE CONTENT
plant() {
    mkdir -p "$scratch/tree/$(dirname "$1")"
    printf '%b\n' "$2" >"$scratch/tree/$1"
}
checks() { python3 "$root/tools/lib/checks.py" --root "$scratch/tree" "$@"; }

PrivacyWithoutDpAccountingSaysHowToInstallIt() {
    mkdir -p "$scratch/checkout"
    cp -r "$root/scripts" "$scratch/checkout"
    expect 0 "$scratch/checkout/scripts/privacy" 1 0.1 30 1e-5
    says "need dp-accounting: scripts/setup --privacy"
    does_not_say "PLD"
}

PrivacyAsksDpAccounting() {
    if [ ! -d "$root/.deps/privacy" ]; then
        echo "[skipped] dp-accounting is not there; scripts/setup --privacy installs it"
        return
    fi
    expect 0 "$root/scripts/privacy" 1 0.1 30 0.0016666
    says "epsilon      2.3802  by PLD, under the same assumptions (dp-accounting "
    says "epsilon      27.1538  by RDP for cohorts of a fixed size; neighbours: a client replaced (dp-accounting "
}

FloorsFindWhatWasPlanted() {
    plant sim/run/round_loop.h "#pragma once"
    plant aggregation/math/mean.h '#pragma once\n#include <vector>\n// std::cout << "a comment may say so"'
    plant clients/protocol/task.h '#include "aggregation/math/mean.h"'
    expect 0 checks floors
    says "ok floors"
    plant aggregation/math/mean.cpp '#include "sim/run/round_loop.h"'
    plant aggregation/math/median.cpp '#include "aggregation/memory/arena.h"'
    plant clients/protocol/task.cpp '#include <torch/torch.h>'
    plant clients/data/formats/idx.cpp '#include "task.h"\n#include <yaml-cpp/yaml.h>'
    plant sim/fleet/fleet.cpp 'void f() { std::cerr << 1; }'
    plant sim/run/reporter.cpp 'void g() { std::cerr << 1; }'
    plant sim/config/run_config.h '#include "sim/run/round_loop.h"'
    plant sim/sweep/summary.h '#include "sim/fleet/fleet.h"'
    plant sim/fleet/fleet.h '#include "sim/config/run_config.h"'
    plant sim/attic/thing.h '#pragma once'
    plant clients/loose.h '#pragma once'
    plant clients/engine/step.cpp '#include <torch/torch.h>\n#include <ATen/core/Tensor.h>'
    plant tests/clients/step_test.cpp '#include <torch/torch.h>\n#include <torch/serialize.h>'
    expect 1 checks floors
    says "aggregation/math/mean.cpp:1: aggregation may not include sim/run/round_loop.h"
    says "aggregation/math/median.cpp:1: aggregation/memory/arena.h: aggregation/math sees spans"
    says "clients/protocol/task.cpp:1: torch/torch.h"
    says "clients/engine/step.cpp:1: torch/torch.h: takes long to compile"
    does_not_say "clients/engine/step.cpp:2"
    says "tests/clients/step_test.cpp:1: torch/torch.h: takes long to compile"
    does_not_say "tests/clients/step_test.cpp:2"
    says 'clients/data/formats/idx.cpp:1: "task.h"'
    says "clients/data/formats/idx.cpp:2: yaml-cpp/yaml.h"
    says "sim/fleet/fleet.cpp:1: prints"
    says "sim/config/run_config.h:1: sim/run/round_loop.h: run lies above config"
    says "sim/sweep/summary.h:1: sim/fleet/fleet.h: fleet and state and sweep stand side by side"
    does_not_say "sim/fleet/fleet.h:1"
    says "sim/attic/thing.h: in no room"
    says "clients/loose.h: in no room"
    [[ $output != *reporter.cpp* ]] || fail "the reporter may print: $output"
    says "0 passed, 1 failed"
}

LinksFindWhatWasPlanted() {
    # shellcheck disable=SC2016  # the backticks are Markdown
    plant README.md '# One `two`, three\n[a](#one-two-three) [b](docs/b.md#here) [c](https://example.org/x)\n```\n[d](nowhere)\n```'
    plant docs/b.md '## Here\n[up](../README.md)'
    expect 0 checks links
    plant docs/c.md '[a](gone.md)\n[b](b.md#gone)'
    expect 1 checks links
    says "docs/c.md:1: gone.md: no such file"
    says "docs/c.md:2: b.md#gone: no such heading"
}

LengthFindsWhatWasPlanted() {
    local lines
    lines=$(printf 'line\\n%.0s' {1..200})
    plant README.md "$(printf 'line\\n%.0s' {1..120})last"
    plant docs/README.md "$lines$lines$lines"
    plant sim/run/long.cpp "$lines${lines}last"
    expect 1 checks length
    says "README.md: 121 lines; 120 at most"
    says "sim/run/long.cpp: 401 lines; 400 at most"
    does_not_say "docs/README.md"
    sed -i 1d "$scratch/tree/README.md" "$scratch/tree/sim/run/long.cpp"
    expect 0 checks length
}

# A stand-in for clang-tidy complains about each file that contains or includes "bad". d declares what another file defines.
TidyLooksAtLibrariesAtOnceAndByHalvesWhereItFindsSomething() {
    local unity=build/release/sim/CMakeFiles/x.dir/Unity/unity_0_cxx.cxx small=build/release/sim/CMakeFiles/y.dir/Unity/unity_0_cxx.cxx name
    plant .clang-tidy ""
    for name in a b c; do plant sim/run/$name.cpp "int $name;"; done
    plant sim/run/d.cpp "Mode of_a();\\nint d;"
    plant $unity "$(for name in a b c d; do printf '#include "%s"\\n' "$scratch/tree/sim/run/$name.cpp"; done)"
    plant sim/run/e.cpp "int e;"
    plant $small "#include \"$scratch/tree/sim/run/e.cpp\""
    plant build/release/compile_commands.json "[$(for name in $unity $small; do
        echo "{\"directory\": \"$scratch/tree\", \"file\": \"$name\", \"command\": \"c++ -c $name\"}"; done | paste -sd ,)]"
    mkdir "$scratch/bin"
    cat >"$scratch/bin/clang-tidy-14" <<'STAND_IN'
#!/bin/bash
for word in "$@"; do case $word in --version) exit 0 ;; *.cpp | *.cxx) file=$word ;; --) break ;; esac; done
mapfile -t files < <(sed -n 's/^#include "\(.*\)"/\1/p' "$file")
[ ${#files[@]} -gt 0 ] || files=("$file")
echo "${files[*]##*/}" >>calls
! grep -l bad "${files[@]}" | sed 's/$/:1:1: warning: it is bad [check]/' | grep .
STAND_IN
    chmod +x "$scratch/bin/clang-tidy-14"
    PATH=$scratch/bin:$PATH expect 0 checks tidy
    [ "$(cat "$scratch/tree/calls")" = "d.cpp a.cpp b.cpp c.cpp e.cpp" ] || fail "looked at: $(cat "$scratch/tree/calls")"
    rm "$scratch/tree/calls"
    plant sim/run/a.cpp "int changed;"
    plant sim/run/b.cpp "int changed;"
    plant sim/run/c.cpp "int bad;"
    PATH=$scratch/bin:$PATH expect 1 checks tidy
    says "sim/run/c.cpp:1:1: warning: it is bad"
    [ "$(paste -sd / "$scratch/tree/calls")" = "a.cpp b.cpp c.cpp/a.cpp/b.cpp c.cpp/b.cpp/c.cpp" ] || fail "looked at: $(cat "$scratch/tree/calls")"
    rm "$scratch/tree/calls"
    PATH=$scratch/bin:$PATH expect 1 checks tidy
    [ "$(cat "$scratch/tree/calls")" = c.cpp ] || fail "looked at again: $(cat "$scratch/tree/calls")"
}

# Without time for more: what changed or includes what did, then what changed last.
TidyWithoutTimeLooksAtWhatChanged() {
    local name
    plant .clang-tidy ""
    for name in a b c; do plant sim/run/$name.cpp "int $name;"; done
    plant sim/run/d.h "int d;"
    plant sim/run/e.cpp '#include "sim/run/d.h"'
    plant build/release/compile_commands.json "[$(for name in a b c e; do
        echo "{\"directory\": \"$scratch/tree\", \"file\": \"sim/run/$name.cpp\", \"command\": \"c++ -c sim/run/$name.cpp\"}"; done | paste -sd ,)]"
    commit() { git -C "$scratch/tree" -c user.name=n -c user.email=e add -- "$@" && git -C "$scratch/tree" -c user.name=n -c user.email=e commit -qm x; }
    git -C "$scratch/tree" init -qb main
    commit sim .clang-tidy
    plant sim/run/b.cpp "int later;"
    commit sim
    plant sim/run/c.cpp "int last;"
    plant sim/run/d.h "int last;"
    commit sim
    mkdir "$scratch/bin"
    stand_in() {
        # shellcheck disable=SC2016  # for the stand-in, not for this shell
        printf '#!/bin/bash\n[ "$1" = --version ] || echo "${2##*/}" >>calls\n%s\n' "$1" >"$scratch/bin/clang-tidy-14"
        chmod +x "$scratch/bin/clang-tidy-14"
        rm -rf "$scratch/tree/calls" "$scratch/tree/build/check"
    }
    stand_in ""
    PATH=$scratch/bin:$PATH FEDHIVE_TIDY_S=0 expect 0 checks tidy
    says "2 files that changed or include what did, 0 with LibTorch, 2 others"
    says "no time left for sim/run/a.cpp, sim/run/b.cpp, sim/run/e.cpp; tools/check tidy looks at them"
    [ "$(sort "$scratch/tree/calls" | paste -sd ' ')" = c.cpp ] || fail "looked at: $(cat "$scratch/tree/calls")"
    # On one processor, so that one of the others begins in time.
    stand_in "sleep 2"
    local one
    one=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    PATH=$scratch/bin:$PATH FEDHIVE_TIDY_S=5 expect 0 taskset -c "$one" python3 "$root/tools/lib/checks.py" --root "$scratch/tree" tidy
    says "no time left for sim/run/a.cpp; tools/check tidy looks at them"
    [ "$(sed -n 3p "$scratch/tree/calls")" = b.cpp ] || fail "looked at: $(cat "$scratch/tree/calls")"
    PATH=$scratch/bin:$PATH FEDHIVE_TIDY_S=99 expect 0 checks tidy
    [ "$(tail -n 1 "$scratch/tree/calls")" = a.cpp ] || fail "looked at: $(cat "$scratch/tree/calls")"
}

# A stand-in for scripts/setup shows whether it was called.
ChecksInstallNothingThatTheyDoNotNeed() {
    scripts_elsewhere
    local project=$scratch/project
    rm "$project/tools/README.md"  # its links lead to missing files
    printf '#!/bin/sh\necho "installs $*"\nexit 1\n' >"$project/scripts/setup"
    expect 0 "$project/tools/check" figures links words length floors
    does_not_say "installs"
    says "5 passed, 0 failed"
    expect 1 "$project/tools/check" links shell
    says "installs --dev --quiet"
    expect 1 "$project/tools/check" reference
    says "installs --quiet"
    expect 1 "$project/tools/check"
    says "installs --dev --quiet"
}

SummaryCountsAndNamesTests() {
    cat >"$scratch/junit.xml" <<'XML'
<?xml version="1.0"?><testsuite name="x" tests="4">
  <testcase name="unit: good" status="run" time="1.25"><system-out>fine</system-out></testcase><testcase name="unit: bad" status="fail" time="30.5"><failure message=""/><system-out>oh</system-out></testcase>
  <testcase name="away" status="notrun"><skipped message="SKIP"/><system-out>[skipped] no GPU here</system-out></testcase><testcase name="lost" status="notrun"><skipped message="Unable to find executable"/><system-out/></testcase>
</testsuite>
XML
    printf 'release build 61\nrelease tests 32\nasan build 40\n' >"$scratch/seconds"
    expect 1 python3 "$root/scripts/lib/test_summary.py" --seconds "$scratch/seconds" "release=$scratch/junit.xml"
    says "skipped: release: away (no GPU here)"
    says "failed: release: unit: bad"
    says "Seconds by the clock: release: build 61, tests 32; asan: build 40"
    says "Seconds of cases, release: unit 32"
    says "30.5 s  release: unit: bad
     1.2 s  release: unit: good"
    says "failed: release: lost"
    [ "$(tail -n 1 <<<"$output")" = "1 passed, 2 failed, 1 skipped" ] || fail "the last line is not the counts: $output"
    expect 1 python3 "$root/scripts/lib/test_summary.py" --failed "tsan: race.log.7" "release=$scratch/junit.xml"
    says "failed: tsan: race.log.7"
    [ "$(tail -n 1 <<<"$output")" = "1 passed, 3 failed, 1 skipped" ] || fail "what a sanitizer found is not counted: $output"
    echo '<testsuite name="x" tests="0"/>' >"$scratch/junit.xml"
    expect 1 python3 "$root/scripts/lib/test_summary.py" "release=$scratch/junit.xml"
    says "0 passed, 0 failed"
}
if [[ ${1:-} == [A-Z]* ]] && declare -F "$1" >/dev/null; then "$1"; else echo "usage: scripts_test.sh CASE" && exit 2; fi
