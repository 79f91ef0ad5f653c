"""clang-tidy over the code of the floors, on all cores, with results kept by content: a file is looked at again only when it, a header of
ours that it includes, its compiler flags or .clang-tidy changed.

Most of the time goes into headers, so the files of a library are looked at together, as a unity build would compile them, small libraries with
one another, and by halves where something is found or two files do not go together. Of files that include LibTorch, whose headers take a minute, without `everything` only those
that changed are looked at.

Order: files that changed; those that include a header of ours that did; changed ones with LibTorch; all others, the last changed first.
FEDHIVE_TIDY_S limits the time of all but the first.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLOORS = ("aggregation/", "clients/", "sim/")
UNITY = re.compile(r"/Unity/unity_\d+_cxx\.cxx$")
MOST_TOGETHER = 32
DECLARES = re.compile(r"^\w[\w:<>& ]* \w+\([^(){}]*\);$", flags=re.MULTILINE)
LIBTORCH = re.compile(r"^(torch|ATen|c10)/")


def git(tree, *arguments):
    ran = subprocess.run(["git", "-C", tree.root, *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.split() if ran.returncode == 0 else []


def changed_files(tree):
    """Since the branch left the main branch; on the main branch since the last commit. Always with what is not committed."""
    head = git(tree, "rev-parse", "HEAD")
    base = []
    for main in ("origin/HEAD", "origin/main", "main"):
        base = git(tree, "merge-base", "HEAD", main)
        if base and base != head:
            break
    if not base or base == head:
        base = git(tree, "rev-parse", "HEAD~1")
    if not base:
        return set(tree.files)
    return set(git(tree, "diff", "--name-only", base[0])) | set(git(tree, "ls-files", "-o", "--exclude-standard"))


def changed_last(tree):
    """File -> how many files changed later than it did."""
    return {name: rank for rank, name in enumerate(dict.fromkeys(git(tree, "log", "-n", "2000", "--format=", "--name-only")))}


class Includes:
    """Which of our own files a file includes, directly or not, and whether LibTorch is among what they include."""

    def __init__(self, tree):
        self.tree = tree
        self.direct = {}

    def of(self, name):
        seen, waiting = {}, [name]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            if current not in self.direct:
                self.direct[current] = re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', self.tree.text(current), flags=re.MULTILINE)
            seen[current] = self.direct[current]
            waiting += [target for target in self.direct[current] if (self.tree.root / target).is_file()]
        return sorted(seen), any(LIBTORCH.match(target) for targets in seen.values() for target in targets)


def compile_flags(tree):
    """File -> flags that clang understands, from the release build, and file -> what it may be compiled with: its library, where a unity build
    has it together with others, else only itself."""
    flags, together = {}, {}
    database = tree.root / "build/release/compile_commands.json"
    for entry in json.loads(database.read_text()):
        name = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root)
        words, kept = shlex.split(entry["command"]), []
        for position, word in enumerate(words):
            before = words[position - 1] if position else ""
            if word.startswith(("-I", "-D", "-std=")) or before in ("-I", "-isystem"):
                kept += ["-isystem", word] if before == "-isystem" else [word]
        flags.update(dict.fromkeys([name, *sources(tree, name)], kept))
        together.update(dict.fromkeys(sources(tree, name), os.path.dirname(name) if UNITY.search(name) else name))
    return flags, together


def sources(tree, name):
    """The sources that this file compiles: itself, or those that a unity build includes in it."""
    if not UNITY.search(name):
        return [name]
    return [os.path.relpath(target, tree.root) for target in re.findall(r'^#include "(.*)"', (tree.root / name).read_text(), flags=re.MULTILINE)]


# Files that other builds leave out, in whole or in part. Those of a line are compiled as one, since LibTorch's headers are most of the work; the two
# tests use the same names.
CUDA_ONLY = (("clients/engine/recorded_step.cpp", "clients/trainers/libtorch_info.cpp", "tests/bench/ideal_gpu.cpp",
              "tests/clients/engine/recorded_step_test.cpp"),
             ("tests/clients/engine/recorded_rows_test.cpp",))
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")


def cuda_headers():
    """The folder of a toolkit's headers, or None."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    folder = Path(os.path.realpath(nvcc)).parent.parent / "include"
    return folder if (folder / "cuda_runtime_api.h").exists() else None


def cuda_syntax(tree):
    """The files of CUDA_ONLY as a build with training on CUDA would compile them."""
    headers = cuda_headers()
    if headers is None:
        print("cuda: no headers of a CUDA toolkit here, so nothing was looked at", flush=True)
        return []
    flags = compile_flags(tree)[0].get(CUDA_ONLY[0][0])
    if flags is None:
        return ["build/release does not compile " + CUDA_ONLY[0][0]]
    compiler = os.environ.get("CXX", "g++")
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    command = [compiler, "-fsyntax-only", "-x", "c++", *WARNINGS, *flags, "-DFEDHIVE_WITH_CUDA", "-DFEDHIVE_TORCH_CUDA",
               '-DFEDHIVE_TORCH_VERSION=""', "-isystem", str(headers), "-"]
    kept = tree.root / "build/check/cuda"
    kept.mkdir(parents=True, exist_ok=True)
    found, includes = [], Includes(tree)
    for files in CUDA_ONLY:
        key = hashlib.sha256(version + "\0".join(command).encode())
        for name in sorted({header for name in files for header in includes.of(name)[0]}):
            key.update(name.encode() + b"\0" + (tree.root / name).read_bytes())
        mark = kept / key.hexdigest()
        if mark.exists():
            continue
        ran = subprocess.run(command, cwd=tree.root, input="".join(f'#include "{name}"\n' for name in files), capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            mark.touch()
            continue
        errors = [line.replace(str(tree.root) + "/", "") for line in ran.stderr.splitlines() if "error:" in line]
        found += errors or [ran.stderr.strip()]
    return found


def parts_of(jobs, together, kind_of):
    """The jobs (file, mark) in parts that are looked at as one, of about MOST_TOGETHER files: a library, or several of one kind."""
    groups = {}
    for job in jobs:
        groups.setdefault((kind_of(job), together[job[0]]), []).append(job)
    parts = []
    for kind in dict.fromkeys(kind for kind, _ in groups):
        alone = [files for (one, library), files in groups.items() if one == kind and library == files[0][0]]
        pieces = [files[first:first + MOST_TOGETHER] for (one, library), files in groups.items() if one == kind and library != files[0][0]
                  for first in range(0, len(files), MOST_TOGETHER)]
        bins = [[] for _ in range(-(-sum(map(len, pieces)) // MOST_TOGETHER))]
        single = set()  # parts with a library of one file: two of them may define the same, as late_libtorch and linked_libtorch do
        for files in sorted(pieces, key=len, reverse=True):  # the largest first, each to where least is: the parts are of about one size
            place = min(range(len(bins)), key=lambda at: (len(files) == 1 and at in single, len(bins[at])))
            bins[place].extend(files)
            single.update([place] if len(files) == 1 else [])
        parts += alone + [files for files in bins if files]
    return parts


def findings(tree, everything):
    if not (tree.root / "build/release/compile_commands.json").exists():
        return ["build/release is not configured"]
    (flags, together), includes = compile_flags(tree), Includes(tree)
    kept = tree.root / "build/check/tidy"
    kept.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy-14", "--version"], capture_output=True, check=True).stdout
    common = hashlib.sha256(version + (tree.root / ".clang-tidy").read_bytes())
    changed, ranks = changed_files(tree), changed_last(tree)
    quick, slow, touched, found = [], [], set(), []  # touched: files that include what changed
    for name in tree.ending(".cpp"):
        if not name.startswith(FLOORS):
            continue
        if name not in flags:
            continue  # not part of this build, such as a back end that is switched off
        headers, libtorch = includes.of(name)
        key = common.copy()
        key.update("\0".join(flags[name]).encode())
        for header in headers:
            key.update(header.encode() + b"\0" + (tree.root / header).read_bytes())
        mark = kept / key.hexdigest()
        if mark.exists():
            continue
        if not libtorch:
            quick.append((name, mark))
            if ".clang-tidy" in changed or not changed.isdisjoint(headers):
                touched.add(name)
        elif everything or name in changed:
            slow.append((name, mark))
    if quick or slow:
        print(f"clang-tidy: {len(touched)} files that changed or include what did, {len(slow)} with LibTorch, {len(quick) - len(touched)} others", flush=True)

    seconds = float(os.environ.get("FEDHIVE_TIDY_S", "inf"))
    deadline, left_out, done = time.monotonic() + seconds, [], []

    def lint(name, *options, flags_of=None):
        command = ["clang-tidy-14", "--quiet", *options, name, "--", "-x", "c++", "-Wno-unknown-pragmas", *flags[flags_of or name]]
        ran = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
        return ran, ran.returncode == 0 and "warning:" not in ran.stdout

    def look(name):
        ran, clean = lint(name)
        if clean:
            return True
        # Code that does not compile makes the checks report nonsense about everything after it.
        errors = [line for line in ran.stdout.splitlines() if "[clang-diagnostic-error" in line]
        found.append("\n".join(errors).replace(str(tree.root) + "/", "") or ran.stdout.replace(str(tree.root) + "/", "").strip() or ran.stderr.strip())
        return False

    def clean_together(names):
        # A file that declares what others define (a catalogue) comes first: after them its declarations would be called redundant.
        names = sorted(names, key=lambda name: not DECLARES.search(tree.text(name)))
        ours = f"{re.escape(str(tree.root))}/({'|'.join(FLOORS)})"
        with tempfile.NamedTemporaryFile("w", suffix=".cxx", dir=kept) as file:
            file.writelines(f'#include "{tree.root / name}"\n' for name in names)
            file.flush()
            return lint(file.name, "--checks=-bugprone-suspicious-include", f"--header-filter={ours}", flags_of=names[0])[1]

    def urgency(files):
        """Of files that are looked at together: 0 may not be left out."""
        if files[0] in slow:
            return 2
        return 0 if files[0][0] in changed else 1 if files[0][0] in touched else 3

    def look_in_time(files):
        if urgency(files) and time.monotonic() > deadline:
            left_out.extend(name for name, _ in files)
        else:
            look_at(files)

    def look_at(files):
        started, names = time.monotonic(), [name for name, _ in files]
        clean = look(names[0]) if len(files) == 1 else clean_together(names)
        for _, mark in files if clean else []:
            mark.touch()
        if clean or len(files) == 1:
            done.extend(names)
            told = names[0] + (f" and {len(files) - 1} beside it" if len(files) > 1 else "")
            print(f"  {len(done)} of {len(quick) + len(slow)}: {told} ({time.monotonic() - started:.0f} s)", flush=True)
        else:
            look_at(files[:len(files) // 2])
            look_at(files[len(files) // 2:])

    def order(files):
        last = min(ranks.get(name, len(ranks)) for name, _ in files) if urgency(files) == 3 and deadline != float("inf") else 0
        return urgency(files), last, -len(files)

    parts = parts_of(quick + slow, together, kind_of=lambda job: (urgency([job]), tuple(flags[job[0]])))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(look_in_time, sorted(parts, key=order)))
    if left_out:
        left_out.sort()
        told = ", ".join(left_out[:8]) + (f" and {len(left_out) - 8} others" if len(left_out) > 8 else "")
        print(f"clang-tidy: no time left for {told}; tools/check tidy looks at them", flush=True)
    return sorted(found)
