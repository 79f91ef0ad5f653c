# shellcheck shell=bash
# What the scripts share: where the project is, how they speak, how they build. Sourced, never run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# The comment at the top of the script is its help.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }
usage_error() {
    { say "$1"; say; usage; } >&2
    exit 2
}

# As many compilers at once as cores and memory allow; one with LibTorch takes 1.5 GB.
build_jobs() {
    local cores memory_kb
    cores=$(nproc)
    memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null) || memory_kb=
    local by_memory=$((${memory_kb:-3000000} / 1500000))
    if [ "$by_memory" -lt 1 ]; then by_memory=1; fi
    if [ "$by_memory" -lt "$cores" ]; then cores=$by_memory; fi
    say "$cores"
}

# Reads ninja's lines: one that moves on a terminal, one every 15 s elsewhere, none at all for a build of a second.
show_progress() {
    local line shown=0 started=$SECONDS said=$SECONDS
    while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        if [ -t 1 ]; then
            if [ "$SECONDS" -gt "$started" ]; then printf '\r\033[KBuilding %s: %s of %s' "$1" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"; shown=1; fi
        elif [ $((SECONDS - said)) -ge 15 ]; then
            say "Building $1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
            said=$SECONDS
        fi
    done
    if [ "$shown" = 1 ]; then printf '\r\033[K'; fi
    if [ $((SECONDS - started)) -ge 5 ]; then say "Built $1 in $((SECONDS - started)) s"; fi
}

# configured PRESET: a build folder of this checkout, made for the LibTorch that is asked for.
configured() {
    local cache=$root/build/$1/CMakeCache.txt
    [ -e "$root/build/$1/build.ninja" ] && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" &&
        { [ -z "${TORCH_DIR:-}" ] || grep -qE "^(TORCH_DIR:PATH=$TORCH_DIR|FEDHIVE_TORCH:[A-Z]*=OFF)\$" "$cache"; }
}

build_failed() {
    say "The $1 build failed. From $2:"
    awk '/FAILED:|CMake Error|error:/ { found = 1 } found && ++shown <= 60' "$2"
    return 1
}

# build PRESET [TARGET…]: configures when needed, builds, says little. Returns non-zero, with the compiler's words, when that fails.
build() {
    local preset=$1 targets=() log=$root/build/$1.log
    shift
    if [ $# -gt 0 ]; then targets=(--target "$@"); fi
    mkdir -p "$root/build"
    (
        flock 9
        if ! configured "$preset"; then
            say "Configuring $preset"
            if [ -e "$root/build/$preset/CMakeCache.txt" ]; then rm -rf "${root:?}/build/$preset/CMakeCache.txt" "$root/build/$preset/CMakeFiles"; fi
            cd "$root" || exit 1
            cmake --preset "$preset" ${TORCH_DIR:+"-DTORCH_DIR=$TORCH_DIR"} >"$log" 2>&1 || build_failed "$preset" "$log" || exit 1
        fi
        cmake --build "$root/build/$preset" -j "$(build_jobs)" "${targets[@]}" 2>&1 | tee "$log" | show_progress "$preset" ||
            build_failed "$preset" "$log" || exit 1
    ) 9>"$root/build/$preset.lock"
}
