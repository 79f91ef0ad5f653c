"""Starts the program fedhive and waits for it. It never outlives Python: it is told to end when Python is interrupted or dies."""
from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple, Optional, Sequence

_PR_SET_PDEATHSIG = 1
_PATIENCE_S = (30, 10)  # after SIGINT, after SIGTERM
_BUILT = Path(__file__).resolve().parents[3] / "build/release/fedhive"


class Ended(NamedTuple):
    """How the program ended: its exit status (negative: the signal), and what it printed."""
    status: int
    output: str
    errors: str


def find() -> Path:
    """Returns the program: $FEDHIVE_PROGRAM, else build/release/fedhive of the checkout, else fedhive on the PATH.

    Raises FileNotFoundError if there is none.
    """
    named = os.environ.get("FEDHIVE_PROGRAM")
    if named:
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named).absolute()
        raise FileNotFoundError(f"FEDHIVE_PROGRAM={named} is not a program")
    if os.access(_BUILT, os.X_OK):
        return _BUILT
    on_path = shutil.which("fedhive")
    if on_path is None:
        raise FileNotFoundError(f"there is no program fedhive: {_BUILT} is not built, and the PATH has none; build it with scripts/run, "
                                "or set FEDHIVE_PROGRAM to its path")
    return Path(on_path)


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
                            preexec_fn=in_child)


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
