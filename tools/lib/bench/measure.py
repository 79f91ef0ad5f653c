"""Runs a program and sees from outside how long it took and how much memory it held; medians, and ratios of sides that ran in turn."""
import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path

DEADLINE_S = 1800
SAMPLE_S = 0.05
until = float("inf")  # of time.monotonic(): nothing runs longer, whatever its own deadline is


class Failed(Exception):
    """A side's program did not do what it was asked for; the text says why."""


def _tree(pid):
    """The process and all below it."""
    found = [pid]
    for parent in found:  # grows on the way
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                pass
    return found


def _pss_kib(pid):
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def _start(command, environment):
    """In a session of its own, so that it can be ended with all its children."""
    try:
        return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env={**os.environ, **(environment or {})})
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None


def run(command, environment=None, watch_memory=False, deadline_s=DEADLINE_S):
    """(lines of standard output, seconds from start to exit, peak memory in MiB or None). Throws Failed."""
    started, peak = time.monotonic(), 0
    deadline_s = max(0.0, min(deadline_s, until - started))
    with _start(command, environment) as process:
        try:
            while watch_memory and process.poll() is None and time.monotonic() - started < deadline_s:
                peak = max(peak, sum(map(_pss_kib, _tree(process.pid))))
                time.sleep(SAMPLE_S)
            out, errors = process.communicate(timeout=max(0.0, deadline_s - (time.monotonic() - started)))
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise Failed(f"{command[0]}: not done within {deadline_s:.3g} s") from None
    seconds = time.monotonic() - started
    if process.returncode != 0:
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        raise Failed(f"{Path(command[0]).name}: exit status {process.returncode}: {last[0]}")
    return out.splitlines(), seconds, peak / 1024 if watch_memory else None


def rounds_of(lines, wanted):
    """What a side's program prints, a JSON object a line: ([seconds a round], last accuracy or None). Throws Failed for another number of rounds."""
    rounds, accuracy = [], None
    for line in lines:
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        if "round_s" in said:
            rounds.append(said["round_s"])
        accuracy = said.get("accuracy", accuracy)
    if len(rounds) != wanted:
        raise Failed(f"{len(rounds)} rounds were printed, {wanted} were asked for")
    return rounds, accuracy


def steady(rounds):
    """The median round without the first, which warms up."""
    return statistics.median(rounds[1:] or rounds)


def spread(values):
    """(median, lowest, highest)"""
    return statistics.median(values), min(values), max(values)


def ratios(repeats, side, against, figure):
    """Of each repeat in which both sides have run: against / side, so that 1 is as fast and 2 is twice as fast."""
    pairs = [(repeat[side], repeat[against]) for repeat in repeats if side in repeat and against in repeat]
    return [reference[figure] / own[figure] for own, reference in pairs]


def in_turn(sides, repeat):
    """The order of a repeat: each begins with another side, so that none is always measured behind the same one."""
    first = repeat % len(sides)
    return sides[first:] + sides[:first]
