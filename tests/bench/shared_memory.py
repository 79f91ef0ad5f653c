"""Who holds the memory of a run. It is anonymous (memfd), so nothing of it has a name that could be left behind: what can be left is a process
that still has it open or mapped."""
import os
from pathlib import Path


def segments_of(pid):
    """Inodes of the anonymous segments that a process holds or has mapped; none when it is gone."""
    try:
        held = {os.stat(link).st_ino for link in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(link).startswith("/memfd:")}
        return held | {int(line.split()[4]) for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if " /memfd:" in line}
    except OSError:
        return set()


def holders_of(segments):
    """Processes that hold one of these."""
    return [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and segments & segments_of(int(process.name))]
