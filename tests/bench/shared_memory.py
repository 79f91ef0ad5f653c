"""Finds the processes that hold a run's memory. The memory is anonymous (memfd) and has no name that could remain; only a
process with it open or mapped can."""
import os
from pathlib import Path


def segments_of(pid):
    """Inodes of the anonymous segments that a process has open or mapped; empty if it is gone."""
    try:
        held = {os.stat(link).st_ino for link in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith("/memfd:")}
        return held | {int(line.split()[4]) for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if " /memfd:" in line}
    except OSError:
        return set()


def holders_of(segments):
    """Processes that hold one of these."""
    return [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and segments & segments_of(int(process.name))]
