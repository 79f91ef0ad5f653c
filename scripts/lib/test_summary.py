"""Adds up CTest's JUnit reports: the skipped tests with their reasons, the failed ones by name, where the seconds went, and the counts as the
last line.

usage: test_summary.py [--no-skips] [--seconds FILE] [--failed NAME]… LABEL=REPORT…    exit status 1 when a test failed or none ran

With --no-skips a skipped test is a failed one; NAME is one that no report has, such as what a sanitizer wrote. FILE has a line
`LABEL PART SECONDS` for what was done by the clock, such as `asan build 95`. The seconds of cases are by the clock too, and cases run side by
side, so that those of a suite add up to more than its tests took.
"""
import argparse
import collections
import re
import sys
import xml.etree.ElementTree as xml

SLOWEST = 10


def outcome(case):
    """passed, failed or skipped, and why. A test counts as skipped only when it said so itself: one that CTest could not start failed."""
    output = case.findtext("system-out") or ""
    reason = re.search(r"\[skipped\] *(.*)", output)
    if case.get("status") == "run" and not reason:
        return "passed", ""
    if reason and "Status: FAILURE!" not in output and case.find("failure") is None:
        return "skipped", reason.group(1).strip()
    return "failed", ""


def seconds_of(case):
    try:
        return float(case.get("time") or 0)
    except ValueError:
        return 0.0


def clock_line(file):
    """"release: build 412, tests 433; asan: …" of a file of LABEL PART SECONDS."""
    parts = collections.defaultdict(list)
    try:
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                label, part, seconds = line.split()
                parts[label].append(f"{part} {float(seconds):.0f}")
    except (OSError, ValueError) as error:
        return f"not known ({error})"
    return "; ".join(f"{label}: {', '.join(parts[label])}" for label in parts)


def show_seconds(cases, clock):
    """`cases`: (seconds, label, name) of all that ran."""
    if clock:
        print(f"Seconds by the clock: {clock_line(clock)}")
    suites = collections.defaultdict(lambda: collections.defaultdict(float))
    for seconds, label, name in cases:
        suites[label][name.split(":")[0]] += seconds
    for label, of_suite in suites.items():
        most = sorted(of_suite.items(), key=lambda one: -one[1])
        print(f"Seconds of cases, {label}: " + ", ".join(f"{suite} {seconds:.0f}" for suite, seconds in most if seconds >= 0.5))
    for seconds, label, name in sorted(cases, reverse=True)[:SLOWEST]:
        print(f"  {seconds:6.1f} s  {label}: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-skips", action="store_true")
    parser.add_argument("--seconds", metavar="FILE")
    parser.add_argument("--failed", metavar="NAME", action="append", default=[])
    parser.add_argument("reports", nargs="*", metavar="LABEL=REPORT")
    given = parser.parse_args()
    names, cases = {"passed": [], "failed": given.failed, "skipped": []}, []
    for argument in given.reports:
        label, report = argument.split("=", 1)
        for case in xml.parse(report).getroot().iter("testcase"):
            result, why = outcome(case)
            names["failed" if given.no_skips and result == "skipped" else result].append(f"{label}: {case.get('name')}" + (f" ({why})" if why else ""))
            cases.append((seconds_of(case), label, case.get("name")))
    for result in ("skipped", "failed"):
        for name in names[result]:
            print(f"{result}: {name}")
    show_seconds(cases, given.seconds)
    if not names["passed"] and not names["failed"]:
        print("No test ran.")
    counts = f"{len(names['passed'])} passed, {len(names['failed'])} failed"
    print(counts + (f", {len(names['skipped'])} skipped" if names["skipped"] else ""))
    return 1 if names["failed"] or not names["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
