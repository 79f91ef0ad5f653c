"""W5 and W6: one part of a round by itself. Each gives rows of {"case", …figures}, a list a figure, one number a repeat."""
import json
import re

from bench import measure, workloads

BARRIER = re.compile(r"(awake|asleep) +\d+ rounds: min ([\d.]+) us, median ([\d.]+) us, 99 % ([\d.]+) us")


def aggregation(build, gpu, repeats, quickly):
    """A rule over K updates of P floats, and a copy of as many bytes, in turn."""
    for rule, floats, clients in workloads.aggregations(gpu, quickly):
        lines, _, _ = measure.run([build / "aggregation_speed", "cuda" if gpu else "cpu", rule, floats, clients, repeats])
        pairs = [json.loads(line) for line in lines]
        moved = 4 * floats * (clients + 1)
        yield {"case": f"{rule}, P = {floats:,}, K = {clients}", "rule_s": [pair["rule_s"] for pair in pairs],
               "gb_per_s": [moved / pair["rule_s"] / 1e9 for pair in pairs], "copy_gb_per_s": [moved / pair["copy_s"] / 1e9 for pair in pairs],
               "of_copy": [pair["copy_s"] / pair["rule_s"] for pair in pairs]}


def barrier(build, repeats, quickly):
    """Rounds of empty tasks by real workers, back to back and after pauses."""
    for workers, rounds in workloads.barriers(quickly):
        row = {"case": f"{workers} worker{'' if workers == 1 else 's'}", "awake_us": [], "awake_99_us": [], "asleep_us": [], "asleep_99_us": []}
        for _ in range(repeats):
            lines, _, _ = measure.run([build / "round_overhead", workers, rounds])
            for state, _, median, most in BARRIER.findall("\n".join(lines)):
                row[f"{state}_us"].append(float(median))
                row[f"{state}_99_us"].append(float(most))
        yield row
