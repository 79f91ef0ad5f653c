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

# 75 -> 1:15
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# One line that moves on a terminal; elsewhere a line of its own, for logs.
show_line() {
    if [ -t 1 ]; then printf '\r\033[K%s' "$1"; else say "$1"; fi
}
clear_line() {
    if [ -t 1 ]; then printf '\r\033[K'; fi
}
# Sets `every`: seconds after which something is worth saying again.
set_every() {
    if [ -t 1 ]; then every=1; else every=15; fi
}

# Reads ninja's lines and says how far the build is, how long it has taken and about how long it still will; nothing for one of two seconds.
show_progress() {
    local line status every finished=0 all=0 started=$SECONDS said=$SECONDS
    set_every
    while true; do
        status=0
        IFS= read -r -t 1 line || status=$?
        if [ "$status" = 0 ]; then
            if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}; fi
        elif [ "$status" -le 128 ]; then
            break  # the end; above 128 a second has passed without a line
        fi
        if [ $((SECONDS - started)) -ge 2 ] && [ $((SECONDS - said)) -ge "$every" ]; then
            show_line "$(progress_line "$1" "$finished" "$all" $((SECONDS - started)))"
            said=$SECONDS
        fi
    done
    clear_line
    if [ $((SECONDS - started)) -ge 5 ]; then say "Built $1 in $((SECONDS - started)) s"; fi
}

# progress_line PRESET FINISHED ALL SECONDS
progress_line() {
    local line="Building $1"
    if [ "$3" -gt 0 ]; then line+=": $2 of $3 steps"; fi
    line+=" · $(clock "$4")"
    # The first steps to end are the short ones.
    if [ "$2" -ge 3 ]; then line+=" · about $(clock $(($4 * ($3 - $2) / $2))) to go"; fi
    say "$line"
}

# ticking LABEL FOLDER COMMAND…: runs the command while a line shows how long it has taken and, unless FOLDER is empty, the size of that folder.
ticking() {
    local label=$1 folder=$2 every started=$SECONDS ticker status=0
    shift 2
    set_every
    (
        # What is in the background does not see Ctrl-C: it ends with the script.
        while sleep "$every" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
            show_line "$label · $(clock $((SECONDS - started)))${folder:+ · $(du -sm "$folder" 2>/dev/null | cut -f 1) MB here}"
        done
    ) &
    ticker=$!
    "$@" || status=$?
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    clear_line
    return "$status"
}

# configured PRESET: a build folder of this checkout, made for the LibTorch that is asked for.
configured() {
    local cache=$root/build/$1/CMakeCache.txt
    [ -e "$root/build/$1/build.ninja" ] && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache" &&
        { [ -z "${TORCH_DIR:-}" ] || grep -qE "^(TORCH_DIR:PATH=$TORCH_DIR|FEDHIVE_TORCH:[A-Z]*=OFF)\$" "$cache"; }
}

# What CMake looks for on the machine, a line each. Another compiler, toolkit, MPI or Debian package makes it look again.
machine_state() {
    local program
    for program in "${CXX:-c++}" nvcc mpicxx python3; do readlink -f "$(command -v "$program" || say "no $program")"; done
    stat -c '%n %Y' /usr/local/cuda/bin/nvcc /dev/nvidia0 /var/lib/dpkg/status "$root/.deps/torch/installed" 2>/dev/null | sort || true
    say "CMAKE_PREFIX_PATH=${CMAKE_PREFIX_PATH:-} FEDHIVE_CUDA=${FEDHIVE_CUDA:-}"
}

build_failed() {
    say "The $1 build failed. From $2:"
    awk '/FAILED:|CMake Error|error:/ { found = 1 } found && ++shown <= 60' "$2"
    return 1
}

# build PRESET [TARGET…]: configures when needed, also after something on the machine has changed, builds, says little. Returns non-zero, with the compiler's words, when that fails.
build() {
    local preset=$1 targets=() log=$root/build/$1.log
    shift
    if [ $# -gt 0 ]; then targets=(--target "$@"); fi
    mkdir -p "$root/build"
    (
        flock 9
        if ! configured "$preset"; then
            say "Configuring $preset"
            rm -f "$root/build/$preset/machine"
            if [ -e "$root/build/$preset/CMakeCache.txt" ]; then rm -rf "${root:?}/build/$preset/CMakeCache.txt" "$root/build/$preset/CMakeFiles"; fi
        fi
        # Next to nothing where all is as it was; what was given with -D by hand stays in the cache.
        if ! machine_state | cmp -s - "$root/build/$preset/machine"; then
            local options=()
            if [ "$preset" = release ] && [ -n "${FEDHIVE_CUDA:-}" ]; then options=("-DFEDHIVE_CUDA=$FEDHIVE_CUDA"); fi
            cd "$root" || exit 1
            cmake --preset "$preset" ${TORCH_DIR:+"-DTORCH_DIR=$TORCH_DIR"} "${options[@]}" >"$log" 2>&1 || build_failed "$preset" "$log" || exit 1
            machine_state >"$root/build/$preset/machine"
        fi
        cmake --build "$root/build/$preset" -j "$(build_jobs)" "${targets[@]}" 2>&1 | tee "$log" | show_progress "$preset" ||
            build_failed "$preset" "$log" || exit 1
    ) 9>"$root/build/$preset.lock"
}
