"""Starts the program fedhive and waits for it. It never outlives Python: it is told to end when Python is interrupted or dies."""
from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple, Optional, Sequence

_PR_SET_PDEATHSIG = 1
_PATIENCE_S = (30, 10)  # after SIGINT, after SIGTERM
_PACKAGED = Path(__file__).resolve().parent / "bin/fedhive"  # as pip installs it
_BUILT = Path(__file__).resolve().parents[3] / "build/release/fedhive"


class Ended(NamedTuple):
    """The program's exit status (negative: the signal) and its output."""
    status: int
    output: str
    errors: str


def find(on_path: bool = True) -> Path:
    """Returns the program: $FEDHIVE_PROGRAM, else the one in this package, else build/release/fedhive of the checkout, else fedhive on the PATH.

    on_path: False leaves out the PATH, where this package's own command may be. Raises FileNotFoundError if there is none.
    """
    named = os.environ.get("FEDHIVE_PROGRAM")
    if named:
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named).absolute()
        raise FileNotFoundError(f"FEDHIVE_PROGRAM={named} is not a program")
    for path in (_PACKAGED, _BUILT):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("fedhive") if on_path else None
    if found is None:
        raise FileNotFoundError(f"there is no program fedhive: {_BUILT} is not built{', and the PATH has none' if on_path else ''}; build it with "
                                "scripts/run, or set FEDHIVE_PROGRAM to its path")
    return Path(found)


def environment() -> dict[str, str]:
    """Returns the environment of the program: method files are read by this Python, and the LibTorch of an installed program is this Python's.

    The variables FEDHIVE_PYTHON and FEDHIVE_TORCH stay if they are set.
    """
    variables = dict(os.environ)
    if sys.executable:
        variables.setdefault("FEDHIVE_PYTHON", sys.executable)
    try:
        torch = importlib.util.find_spec("torch")  # does not import it
    except ValueError:  # a stand-in among sys.modules
        torch = None
    if torch is not None and torch.submodule_search_locations:
        variables.setdefault("FEDHIVE_TORCH", list(torch.submodule_search_locations)[0])
    return variables


def call(arguments: Sequence[str], follow: Optional[Callable[[str], None]] = None) -> Ended:
    """Runs the program with these arguments until it ends. `follow` gets each line that it prints, and Ended.output is then the last one.

    Whatever is raised meanwhile, KeyboardInterrupt or an error of `follow`, stops the program first.
    """
    last, process = "", None
    with tempfile.TemporaryFile() as errors:
        try:
            process = _start([str(find()), *arguments], errors)
            if follow is None:
                last = process.stdout.read()
            else:
                for line in process.stdout:
                    last = line.rstrip("\n")
                    follow(last)
            status = process.wait()
        finally:
            if process is not None:
                _stop(process)
                process.stdout.close()
        errors.seek(0)
        return Ended(status, last, errors.read().decode(errors="replace"))


def _start(command: list[str], errors) -> subprocess.Popen:
    """Starts the command in a process group of its own, so that Ctrl-C in a terminal reaches Python alone, which passes it on once."""
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def in_child() -> None:
        os.setpgid(0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # Python died before prctl
            os._exit(1)

    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", errors="replace",
                            env=environment(), preexec_fn=in_child)


def _stop(process: subprocess.Popen) -> None:
    """Ends the program if it has not ended: SIGINT, which keeps whole rows and a checkpoint; then SIGTERM, then SIGKILL to its whole group.

    A further Ctrl-C goes on to the next signal at once.
    """
    for number, seconds in zip((signal.SIGINT, signal.SIGTERM, signal.SIGKILL), (*_PATIENCE_S, None)):
        if process.poll() is not None:
            return
        try:
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            process.communicate(timeout=seconds)  # reads on: a full pipe would hold the program
        except (subprocess.TimeoutExpired, KeyboardInterrupt, ProcessLookupError):
            continue
