#!/usr/bin/env bash
# usage: gpu_day_test.sh CASE        runs one case of tools/gpu-day and of archives by tools/gpu-archive; exits non-zero on
# failure
set -euo pipefail
# shellcheck source=tests/scripts/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/expect.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

GpuDayWithoutAGpuTriesWhatNeedsNone() {
    [ -x "$root/build/release/fedhive" ] || { echo "[skipped] there is no release build"; exit 0; }
    expect 2 "$root/tools/gpu-day" no_such_part
    says "known: doctor"
    if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
        expect 2 "$root/tools/gpu-day" doctor
        says "fedhive finds no NVIDIA GPU here ("
    fi
    local day=$scratch/day
    expect 0 "$root/tools/gpu-day" --device cpu --quick --rounds 16 --out "$day" doctor killed
    for form in direct eager; do
        grep -qE "^$form,[2-5],True," "$day/killed.csv" || fail "$form, kills and the same bits: $(cat "$day/killed.csv")"
    done
    grep -q '^libtorch,' "$day/doctor.csv" || fail "$(cat "$day/doctor.csv")"
    grep -q '"killed"' "$day/manifest.json" || fail "$(cat "$day/manifest.json")"
    # A missing program is an error.
    make_archive
    touch "$scratch/lib/libtorch_cuda.so"
    ln -s "$root/build/release/fedhive" "$archive/bin/"
    TORCH_DIR=$scratch expect 1 "$archive/gpu-day" --device cpu --quick --out "$day" ideal
    says "side ideal loop, 1 process, repeats 0, result failed: $archive/bin/ideal_loop: No such file"
}

# An archive in the form of tools/gpu-archive, without programs; TORCH_DIR=$scratch if lib/libtorch_cuda.so exists.
make_archive() {
    archive=$scratch/archive
    mkdir -p "$scratch/lib" "$archive/bin" "$archive/python"
    cp "$root/tools/gpu-day" "$archive/"
    cp -r "$root/tools/lib/bench" "$archive/python/"
}

# stand_in NAME: writes a program of the archive from standard input.
stand_in() {
    { printf '#!/bin/sh\n'; cat; } >"$archive/bin/$1"
    chmod +x "$archive/bin/$1"
}

# shellcheck disable=SC2016  # the stand-in's variable
stand_in_fedhive() { stand_in fedhive <<<'case $* in --version) ;; *) echo "it cannot run" >&2; exit 1 ;; esac'; }

ArchivesDaySaysWhatItNeeds() {
    make_archive
    expect 0 "$archive/gpu-day" -h
    expect 1 env TORCH_DIR="$scratch" "$archive/gpu-day" --device cpu cases
    says "There is no PyTorch for CUDA in '$scratch'"
    # A program that cannot start gives one line, not forty failures.
    touch "$scratch/lib/libtorch_cuda.so"
    stand_in fedhive <<<'echo "libc.so.6: version not found" >&2; exit 1'
    expect 1 env TORCH_DIR="$scratch" "$archive/gpu-day" --device cpu cases
    says "the programs cannot start here: fedhive: exit status 1: libc.so.6: version not found"
    # Passed, failed and skipped cases are distinguished, and a skipped case did not run.
    stand_in_fedhive
    stand_in test_toy <<'STAND_IN'
case $* in
    *--list-test-cases*) printf 'Gpu: Good\nGpu: Bad\nGpu: Elsewhere\n' ;;
    *Bad) echo "it is bad"; exit 1 ;;
    *Elsewhere) echo "[skipped] there is no GPU" ;;
esac
STAND_IN
    cd "$scratch"
    expect 2 env TORCH_DIR="$scratch" "$archive/gpu-day" --device cpu --cases '(' cases
    expect 1 env TORCH_DIR="$scratch" "$archive/gpu-day" --device cpu cases
    says "program toy, case Gpu: Good, result passed"
    says "program toy, case Gpu: Bad, result failed"
    says "        it is bad"
    says "program toy, case Gpu: Elsewhere, result skipped: there is no GPU"
    says "2 wrong"
    grep -q '"no_run": "fedhive: exit status 1: it cannot run"' results/gpu-day/manifest.json || fail "$(cat results/gpu-day/manifest.json)"
    expect 0 env TORCH_DIR="$scratch" "$archive/gpu-day" --device cpu --cases '^toy:.*Good' cases
    says "nothing wrong"
}

DaySanitizesFourProgramsWithEachTool() {
    make_archive
    touch "$scratch/lib/libtorch_cuda.so"
    stand_in_fedhive
    stand_in compute-sanitizer <<'STAND_IN'
echo "$*" >>"$(dirname "$0")/../asked"
case $* in
    *racecheck*test_data*) echo "a hazard" >&2; exit 9 ;;
    *memcheck*test_protocol*) echo "[skipped] there is no GPU" ;;
esac
STAND_IN
    cd "$scratch"
    PATH=$archive/bin:$PATH TORCH_DIR=$scratch expect 1 "$archive/gpu-day" --device cpu sanitizers
    says "tool racecheck, program data, result failed: compute-sanitizer: exit status 9: a hazard"
    says "tool memcheck, program protocol, result skipped: there is no GPU"
    says "2 wrong"
    [ "$(grep -c 'nothing found' results/gpu-day/sanitizers.csv)" = 14 ] || fail "$(cat results/gpu-day/sanitizers.csv)"
    for tool in memcheck racecheck synccheck initcheck; do
        for program in aggregation data direct protocol; do
            grep -q -- "--tool $tool .*/test_$program --test-case=Gpu: \* --test-case-exclude=\*AnotherProcess\*" "$archive/asked" ||
                fail "$tool, $program: $(cat "$archive/asked")"
        done
    done
    PATH=$archive/bin:$PATH TORCH_DIR=$scratch expect 0 "$archive/gpu-day" --device cpu --part-s 9 sanitizers
    says "tool initcheck, program protocol, result left out: no time"
    [ "$(wc -l <"$archive/asked")" = 16 ] || fail "asked without time: $(cat "$archive/asked")"
}

DayEndsWhenItsTimeIsOver() {
    make_archive
    touch "$scratch/lib/libtorch_cuda.so"
    stand_in_fedhive
    # shellcheck disable=SC2016  # the stand-in's variable
    stand_in test_toy <<<'case $* in *--list-test-cases*) echo "Gpu: Slow" ;; *) exec sleep 60 ;; esac'
    cd "$scratch"
    local began=$SECONDS
    TORCH_DIR=$scratch expect 1 "$archive/gpu-day" --device cpu --day-s 6 cases sanitizers doctor
    [ $((SECONDS - began)) -lt 30 ] || fail "it took $((SECONDS - began)) s"
    says "program toy, case Gpu: Slow, result cut off"
    says "sanitizers: left out: no time"
    says "doctor: left out: no time"
    says "1 wrong"
    [ ! -e results/gpu-day/sanitizers.csv ] || fail "a part that was left out left something"
}

# The archive must have the programs that tests/CMakeLists.txt builds from sources with such cases (except the emulated
# runtime's own), and those of the day's parts, with or without a GPU. round_overhead belongs to a part
# that the day does not have.
ArchiveHasEveryProgramThatTheDayRuns() {
    local name folders folder packed found=0
    packed=$(sed -n 's/^programs=(\(.*\))$/\1/p' "$root/tools/gpu-archive")
    while read -r name folders; do
        for folder in ${folders//;/ }; do
            grep -qs 'TEST_CASE("Gpu: ' "$root/tests/$folder"/*_test.cpp || continue
            found=$((found + 1))
            [[ " $packed " == *" test_$name "* ]] || fail "test_$name has cases for a GPU (tests/$folder) and is not packed: $packed"
        done
    done < <(sed -nE 's/^ *fedhive_tests\(([a-z_]+) "?([^" ]+)"? .*/\1 \2/p' "$root/tests/CMakeLists.txt" | sed 's/[$]{process_tests}/process/')
    [ "$found" -ge 7 ] || fail "of all programs only $found have such cases"
    while read -r name; do
        found=$((found + 1))
        [[ " $packed " == *" $name "* ]] || fail "$name is run by a part of the day and is not packed: $packed"
    done < <(sed -nE 's/.*\[build \/ "([a-z_]+)",.*/\1/p' "$root"/tools/lib/bench/{parts,sides}.py | grep -v round_overhead)
    [ "$found" -ge 10 ] || fail "parts of the day run fewer programs than there are"
}

# As on a machine with a GPU, by the programs of a build with the emulated one.
DayRunsOnTheEmulatedGpu() {
    local build=${FEDHIVE_BUILD:-$root/build/asan} program
    [ -x "$build/fedhive_plain" ] || { echo "[skipped] there is no build with the emulated GPU"; exit 0; }
    make_archive
    touch "$scratch/lib/libtorch_cuda.so"
    ln -s "$build/fedhive_plain" "$archive/bin/fedhive"
    for program in "$build"/test_*; do
        if [ -f "$program" ] && [ -x "$program" ]; then ln -s "$program" "$archive/bin/"; fi
    done
    cd "$scratch"
    TORCH_DIR=$scratch expect 0 "$archive/gpu-day" --quick --rounds 8 --cases '^(aggregation:Gpu: Me|data:|direct:Gpu: Grad)' doctor cases bits killed workers mps
    says "what cuda_devices, value 1"
    says "program aggregation, case Gpu: MeanConforms, result passed"
    says "program direct, case Gpu: GradientAndEvaluationHaveTheBitsOfOneThread, result passed"
    says "nothing wrong"
    cd results/gpu-day
    [ "$(grep -c ',passed,' cases.csv)" -ge 5 ] || fail "$(cat cases.csv)"
    for name in w2-mnist_cnn w3-mlp; do
        [ "$(grep -cE "^$name,direct,[012],True,[0-9a-f]{64}$" bits.csv)" = 3 ] || fail "$(cat bits.csv)"
    done
    grep -qE '^direct,[1-5],True,' killed.csv || fail "$(cat killed.csv)"
    [ "$(grep -cE '^w2-mnist_cnn,direct,[12],3,[0-9.]+,' workers.csv)" = 2 ] || fail "$(cat workers.csv)"
    grep -qE '^w4,direct,2,3,,,.*cnn_m needs .* but this GPU has' workers.csv || fail "$(cat workers.csv)"
    ! grep -qE 'eager|recorded|batched' ./*.csv || fail "forms that these programs have not: $(cat ./*.csv)"
    grep -q '"device": "cuda"' manifest.json || fail "$(cat manifest.json)"
}

case ${1:-} in
    GpuDayWithoutAGpuTriesWhatNeedsNone | ArchivesDaySaysWhatItNeeds | ArchiveHasEveryProgramThatTheDayRuns | DaySanitizesFourProgramsWithEachTool | \
        DayEndsWhenItsTimeIsOver | DayRunsOnTheEmulatedGpu) "$1" ;;
    *) echo "usage: gpu_day_test.sh CASE"; exit 2 ;;
esac
