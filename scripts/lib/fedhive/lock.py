"""The holder of the lock of a run or a sweep: the file .lock of its folder, which the program locks while it writes there."""
import os
from pathlib import Path


def lock_holder(folder, table=Path("/proc/locks")):
    """The process that holds the flock on folder/.lock; 0 if there is none, None if this system cannot tell."""
    try:
        there = os.stat(Path(folder) / ".lock")
    except OSError:
        return 0
    try:
        lines = table.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        words = line.split()
        if "FLOCK" in words and "->" not in words and words[5].rsplit(":", 1)[-1] == str(there.st_ino):
            return int(words[4])
    return 0
