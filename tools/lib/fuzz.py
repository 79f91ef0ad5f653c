"""Runs fuzz targets that are built (see tools/check -h and tests/fuzz/README.md), one after the other.

usage: fuzz.py SECONDS TARGET…
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/fuzz"
BUILD = ROOT / "build/fuzz"
SYMBOLIZER = Path("/usr/lib/llvm-14/bin/llvm-symbolizer")
MEMORY_MB = 2048
SECONDS_AN_INPUT = 20


def command(target, seconds):
    """libFuzzer reads all folders named, and writes what is new into the first. Kept findings come with them, so one that is not mended fails at once."""
    folders = [BUILD / "grown" / target, BUILD / "findings" / target, HERE / "corpus" / target, HERE / "regressions" / target]
    for folder in folders[:2]:
        folder.mkdir(parents=True, exist_ok=True)
    dictionary = HERE / f"{target}.dict"
    return [BUILD / f"fuzz_{target}", *(folder for folder in folders if folder.is_dir()), f"-max_total_time={seconds}",
            f"-artifact_prefix={folders[1]}/", f"-rss_limit_mb={MEMORY_MB}", f"-timeout={SECONDS_AN_INPUT}", "-print_final_stats=1",
            *([f"-dict={dictionary}"] if dictionary.exists() else [])]


def environment():
    result = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", TMPDIR=str(BUILD / "tmp"))
    (BUILD / "tmp").mkdir(exist_ok=True)
    if SYMBOLIZER.exists():
        result["ASAN_SYMBOLIZER_PATH"] = str(SYMBOLIZER)
    return result


def last(pattern, text):
    found = re.findall(pattern, text)
    return found[-1] if found else "?"


def run(target, seconds):
    """Prints one line, or what was found. Returns whether all is well."""
    log = BUILD / f"fuzz_{target}.log"
    with open(log, "w", encoding="utf-8", errors="replace") as file:
        ran = subprocess.run(command(target, seconds), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment(), check=False)
    text = log.read_text(encoding="utf-8", errors="replace")
    figures = (f"{last(r'number_of_executed_units: *([0-9]+)', text)} executions in {last(r'Done [0-9]+ runs in ([0-9]+) second', text)} s, "
               f"coverage {last(r'cov: ([0-9]+)', text)}, peak {last(r'peak_rss_mb: *([0-9]+)', text)} MB")
    if ran.returncode == 0:
        print(f"ok {target}: {figures}", flush=True)
        return True
    print(f"failed {target}: {figures}; all of it: {log}")
    kept = last(r"Test unit written to (\S+)", text)
    # What a target expected, a sanitizer's summary, or libFuzzer's own word on time and memory.
    for line in re.findall(r"^(?:expected: |SUMMARY: |==\d+== ?ERROR: |terminate called|  what\(\)).*", text, flags=re.MULTILINE):
        print("  " + line)
    print(f"  the input: {kept}; again: build/fuzz/fuzz_{target} FILE", flush=True)
    return False


def main():
    seconds, targets = int(sys.argv[1]), sys.argv[2:]
    passed = sum(run(target, seconds) for target in targets)
    print(f"{passed} passed, {len(targets) - passed} failed")
    return 0 if passed == len(targets) else 1


if __name__ == "__main__":
    sys.exit(main())
