# shellcheck shell=bash
# The other simulators that `fedhive bench --peers` measures, for Python, in .deps/peers. A part of scripts/setup, which sources it.
#
# PyTorch is not installed a second time where .deps/torch (or $TORCH_DIR) is made for the same Python: .deps/peers refers to it. Without its
# CUDA libraries, PyTorch cannot be imported; .deps/peers/stubs holds empty libraries of their names, which are only ever loaded.
#
# Names in lower case that are not set here are those of scripts/setup.
# shellcheck disable=SC2154

deps_peers=$root/.deps/peers
peers_packages=(pfl==0.6.0 'flwr[simulation]==1.41.0' numpy==2.4.6 filelock==4.2.11 typing-extensions==4.16.0 sympy==1.14.0 networkx==3.6.1
    jinja2==3.1.6 fsspec==2026.9.0)

# The first Python that pfl-research runs with; nothing where there is none.
find_peers_python() {
    local name
    for name in python3 python3.12 python3.11 python3.10; do
        "$name" -c 'import sys; print(sys.executable); sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null && return
    done
    return 1
}

# peers_record PYTHON: what .deps/peers/installed says when all of it is there.
peers_record() { printf '%s\n' "$1" "torch==$torch_version" "${peers_packages[@]}"; }

have_peers() {
    [ -e "$deps_peers/torch/__init__.py" ] && cmp -s <(peers_record "$peers_python") "$deps_peers/installed"
}

# A PyTorch made for $peers_python, of those that C++ uses.
find_peers_torch() {
    local folder extension
    extension=$("$peers_python" -c 'import importlib.machinery as m; print(m.EXTENSION_SUFFIXES[0])')
    for folder in "$deps_torch/torch" "${TORCH_DIR:-}" "$(python_torch)"; do
        if [ -n "$folder" ] && [ -e "$folder/_C$extension" ]; then say "$folder"; return; fi
    done
    return 1
}

# Links the contents of PyTorch's folder, so that Python searches .deps/peers alone for modules.
link_torch() {
    local entry
    for entry in "$1"/torch "$1"/torchgen "$1"/functorch "$1"/torch-*.dist-info; do
        if [ -e "$entry" ]; then ln -sfnr "$entry" "$deps_peers/${entry##*/}"; fi
    done
}

# An empty library for each that PyTorch names and is not there, and one with the functions that the loader wants to see at once.
make_stubs() {
    local lib=$deps_peers/torch/lib stubs=$deps_peers/stubs name
    mkdir -p "$stubs"
    readelf -W --dyn-syms "$lib"/libtorch_{cuda,python,nvshmem}.so |
        awk '$7 == "UND" && $8 ~ /^(cu|nccl|nvshmem)/ && $8 !~ /@libcudart/ { sub(/@.*/, "", $8); print "void " $8 "(void) { __builtin_trap(); }" }' |
        sort -u | "${CXX:-g++}" -shared -x c - -o "$stubs/libabsent.so"
    readelf -d "$lib"/libtorch_{cuda,python,nvshmem}.so | sed -n 's/.*NEEDED.*\[\(lib\(cu\|nccl\|nvshmem\)[^]]*\)\]/\1/p' | sort -u |
        while read -r name; do
            case $name in libcudart* | libcupti*) continue ;; esac
            "${CXX:-g++}" -shared -x c /dev/null -o "$stubs/$name" -Wl,-soname,"$name" -Wl,--no-as-needed -L"$stubs" -labsent -Wl,-rpath,"\$ORIGIN"
        done
}

peers_can_import_torch() {
    LD_LIBRARY_PATH=$deps_peers/stubs PYTHONPATH=$deps_peers "$peers_python" -c 'import torch' >>"$log" 2>&1
}

install_peers() {
    # shellcheck disable=SC2034  # install_wheels reads it
    local torch_folder wheel_python=$peers_python
    say "Installing pfl-research and Flower into .deps/peers, 130 MB to fetch, 570 MB on disk: ${peers_packages[*]}"
    if ! install_wheels "$deps_peers" "${peers_packages[@]}"; then
        tail -n 5 "$log" >&2
        die "They could not be installed (all of it: $log). Where Python's package registry cannot be reached, fetch them elsewhere, on a machine with the same version of Python, with
    $peers_python -m pip download --only-binary :all: --dest FOLDER ${peers_packages[*]}
copy FOLDER here, and install from it: PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER scripts/setup --peers"
    fi
    if torch_folder=$(find_peers_torch); then
        link_torch "$(dirname "$torch_folder")"
    else
        say "The LibTorch that is here was made for another Python; PyTorch $torch_version comes along, 540 MB to fetch, 1.2 GB on disk."
        install_wheels "$root/.deps/peers-torch" --no-deps "torch==$torch_version" "${cuda_wheels[@]}" ||
            die "PyTorch could not be installed (see $log)."
        link_torch "$root/.deps/peers-torch"
    fi
    if ! compgen -G "$deps_peers/torch/../nvidia/nvshmem/lib/*.so*" >/dev/null; then make_stubs; fi
    peers_can_import_torch || die "$peers_python cannot import PyTorch from $deps_peers (see $log)."
    peers_record "$peers_python" >"$deps_peers/installed"
}

bring_peers() {
    peers_python=$(find_peers_python) ||
        die "pfl-research needs Python 3.10, 3.11 or 3.12; python3 is $(python3 -c 'import platform; print(platform.python_version())'). Please install one of them."
    once "$deps_peers" have_peers install_peers
}
