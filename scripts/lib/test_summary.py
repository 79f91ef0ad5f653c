"""Adds up CTest's JUnit reports: the skipped tests with their reasons, the failed ones by name, and the counts as the last line.

usage: test_summary.py [--no-skips] LABEL=REPORT…    exit status 1 when a test failed or none ran

With --no-skips a skipped test is a failed one.
"""
import re
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    """passed, failed or skipped, and why. A test counts as skipped only when it said so itself: one that CTest could not start failed."""
    output = case.findtext("system-out") or ""
    reason = re.search(r"\[skipped\] *(.*)", output)
    if case.get("status") == "run" and not reason:
        return "passed", ""
    if reason and "Status: FAILURE!" not in output and case.find("failure") is None:
        return "skipped", reason.group(1).strip()
    return "failed", ""


def main(arguments):
    names = {"passed": [], "failed": [], "skipped": []}
    no_skips = arguments[:1] == ["--no-skips"]
    for argument in arguments[1 if no_skips else 0 :]:
        label, report = argument.split("=", 1)
        for case in xml.parse(report).getroot().iter("testcase"):
            result, why = outcome(case)
            names["failed" if no_skips and result == "skipped" else result].append(f"{label}: {case.get('name')}" + (f" ({why})" if why else ""))
    for result in ("skipped", "failed"):
        for name in names[result]:
            print(f"{result}: {name}")
    if not names["passed"] and not names["failed"]:
        print("No test ran.")
    counts = f"{len(names['passed'])} passed, {len(names['failed'])} failed"
    print(counts + (f", {len(names['skipped'])} skipped" if names["skipped"] else ""))
    return 1 if names["failed"] or not names["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
