"""Which keys would make one config faster here: `fedhive bench --advise CONFIG`.

Runs the config as it is and with one key changed, in turns, a few rounds each, so that a disturbance hits all of them alike; then the best
change of each key together. Prints medians and ratios, and the lines to write into the file. Nothing of the config's own folder is touched.
"""
import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 4  # the first one is left out
WORTH = 1.03  # smaller gains are noise
PHASES = ("pull_down_s", "train_s", "barrier_s", "aggregate_s", "server_step_s")


@dataclass
class Candidate:
    """Some keys with other values."""

    settings: dict[str, str]
    bits: bool  # may change last bits of the result

    @property
    def name(self) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.settings.items())


def call(fedhive: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(fedhive), *arguments], capture_output=True, text=True, check=False)


def known_keys(fedhive: Path) -> set[str]:
    """The keys of this build, from its reference: rows of the tables under `## section`."""
    keys, section = set(), ""
    for line in call(fedhive, "reference").stdout.splitlines():
        if heading := re.match(r"#+ (.+)", line):
            section = "" if heading[1] == "Top level" else heading[1].strip("`") + "."
        elif row := re.match(r"\| `([a-z_]+)` \|", line):
            keys.add(section + row[1])
    return keys


def values_of(resolved: str) -> dict[str, str]:
    """The resolved config as keys with dots; what stands in braces is not taken apart."""
    values, section = {}, ""
    for line in resolved.splitlines():
        if inner := re.match(r" +([a-z_]+): *(\S.*)", line):
            values[f"{section}.{inner[1]}"] = inner[2]
        elif outer := re.match(r"([a-z_]+):(.*)", line):
            section, value = outer[1], outer[2].strip()
            if value.startswith("{"):
                values |= {f"{section}.{key}": text for key, text in re.findall(r"([a-z_]+): ([^,{}\[\]]+)", value)}
            elif value:
                values[section] = value
    return values


def candidates(values: dict[str, str], cores: int, gpu: bool) -> list[Candidate]:
    """One change each. A slot has to hold the clients that are trained at once."""
    found = []
    per_slot = values.get("training.clients_per_slot", "auto")
    found += [Candidate({"workers": str(n)}, False) for n in sorted({1, max(1, cores // 2), cores, 2 * cores if gpu else cores})]
    found += [Candidate({"threads": str(n)}, True) for n in (1, 2, 4) if n <= max(1, cores)]
    for at_once in (1, 4, 16, 64):
        settings = {"training.clients_at_once": str(at_once)}
        if per_slot != "auto" and at_once > int(per_slot):
            settings["training.clients_per_slot"] = str(at_once)
        found.append(Candidate(settings, True))
    found += [Candidate({"evaluation.chunk_size": str(n)}, True) for n in (250, 500, 1000, 2000)]
    if gpu:
        found += [Candidate({"training.graph": value}, True) for value in ("true", "false")]
        found += [Candidate({"training.precision": value}, True) for value in ("f32", "tf32", "bf16")]
        found += [Candidate({"mps": value}, False) for value in ("on", "off")]
    return [one for one in found if any(values.get(key) != value for key, value in one.settings.items())]


def possible(fedhive: Path, config: Path, all_of_them: list[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Those that this build knows and this config allows; a line about each of the others."""
    keys, kept, left_out, unknown = known_keys(fedhive), [], [], []
    for one in all_of_them:
        if missing := [key for key in one.settings if key not in keys]:
            unknown += [key for key in missing if key not in unknown]
            continue
        answer = call(fedhive, "validate", str(config), *as_options(one.settings))
        if answer.returncode == 0:
            kept.append(one)
        else:
            left_out.append(f"left out: {one.name}: {answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else 'refused'}")
    return kept, [f"left out: {key}, which this build does not know" for key in unknown] + left_out


def as_options(settings: dict[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def round_seconds(table: Path, every: int) -> float:
    """The median of a round, with its share of an evaluation."""
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))[1:]
    rounds = [sum(float(row[phase]) for phase in PHASES) for row in rows]
    evaluations = [float(row["evaluate_s"]) for row in rows]
    return statistics.median(rounds) + statistics.median(evaluations) / every


class Bench:
    def __init__(self, config: Path, fedhive: Path, values: dict[str, str], rounds: int):
        self.config, self.fedhive = config, fedhive
        self.every = int(values.get("evaluation.every", "1"))
        self.fixed = {"rounds": str(rounds), "evaluation.every": "1"}
        if "stop.test_accuracy" in values:
            self.fixed["stop.test_accuracy"] = "null"

    def run(self, settings: dict[str, str]) -> float:
        with tempfile.TemporaryDirectory(prefix="fedhive-advise-") as folder:
            out = Path(folder) / "run"
            answer = call(self.fedhive, "run", str(self.config), "--quiet", "--out", str(out), *as_options(self.fixed | settings))
            if answer.returncode != 0:
                raise RuntimeError(answer.stderr.strip() or f"fedhive ended with status {answer.returncode}")
            return round_seconds(out / "rounds.csv", self.every)

    def medians(self, all_of_them: list[Candidate], repeats: int) -> tuple[list[float | None], list[str]]:
        """In turns; None and a line for one that failed."""
        seen: list[list[float] | None] = [[] for _ in all_of_them]
        failed = []
        for _ in range(repeats):
            for i, one in enumerate(all_of_them):
                if seen[i] is None:
                    continue
                try:
                    seen[i].append(self.run(one.settings))
                except RuntimeError as error:
                    if i == 0:
                        raise
                    seen[i] = None
                    failed.append(f"left out: {one.name}: {str(error).splitlines()[-1]}")
        return [None if times is None else statistics.median(times) for times in seen], failed


def together(all_of_them: list[Candidate], seconds: list[float | None]) -> Candidate | None:
    """The fastest change of each key that is worth it; None where fewer than two keys have one. `all_of_them`: the config as it is first."""
    best: dict[str, tuple[float, Candidate]] = {}
    for one, time in zip(all_of_them[1:], seconds[1:]):
        key = next(iter(one.settings))
        if time is not None and seconds[0] / time >= WORTH and (key not in best or time < best[key][0]):
            best[key] = (time, one)
    if len(best) < 2:
        return None
    settings = {key: value for _, one in best.values() for key, value in one.settings.items()}
    return Candidate(settings, any(one.bits for _, one in best.values()))


def table(all_of_them: list[Candidate], seconds: list[float | None]) -> str:
    lines = [f"{'round':>10}  {'ratio':>6}  {'last bits':9}  setting"]
    order = sorted((i for i, time in enumerate(seconds) if time is not None), key=lambda i: seconds[i])
    for i in order:
        one = all_of_them[i]
        name = one.name or "the config as it is"
        bits = "may differ" if one.bits else "same"
        lines.append(f"{1000 * seconds[i]:7.2f} ms  {seconds[0] / seconds[i]:5.2f}×  {bits:10} {name}")
    return "\n".join(lines)


def lines_to_write(one: Candidate, bits: dict[str, bool]) -> str:
    """As they stand in a config, sections together."""
    sections: dict[str, list[str]] = {}
    for key, value in sorted(one.settings.items()):
        section, _, name = key.rpartition(".")
        comment = "    # may change last bits" if bits.get(key, one.bits) else ""
        sections.setdefault(section, []).append(f"{'  ' if section else ''}{name}: {value}{comment}")
    return "\n".join("\n".join(([f"{section}:"] if section else []) + lines) for section, lines in sorted(sections.items()))


# Keys that never change a result, whatever they are changed with.
SAME_BITS = {"workers": False, "mps": False, "training.clients_per_slot": False}


def main(config: Path, fedhive: Path, options: argparse.Namespace) -> int:
    shown = call(fedhive, "show-config", str(config))
    if shown.returncode != 0:
        print(shown.stderr.strip(), file=sys.stderr)
        return 2
    values = values_of(shown.stdout)
    gpu = bool(getattr(options, "gpu", False)) and values.get("device") != "cpu"
    kept, left_out = possible(fedhive, config, candidates(values, len(os.sched_getaffinity(0)), gpu))
    bench = Bench(config, fedhive, values, max(3, options.rounds or ROUNDS))
    tried = [Candidate({}, False), *kept]
    try:
        seconds, failed = bench.medians(tried, max(1, options.repeats))
        if combined := together(tried, seconds):
            again, more = bench.medians([tried[0], combined], max(1, options.repeats))
            failed += more
            tried.append(combined)
            # In units of the first race: the second one had its own config as it is.
            seconds.append(None if again[1] is None else again[1] / again[0] * seconds[0])
    except RuntimeError as error:
        print(f"fedhive bench --advise: {config} does not run: {error}", file=sys.stderr)
        return 1
    print(table(tried, seconds))
    for line in left_out + failed:
        print(line)
    fastest = min((i for i, time in enumerate(seconds) if time is not None), key=lambda i: seconds[i])
    if seconds[0] / seconds[fastest] < WORTH:
        print("\nNothing is faster by more than noise: leave the config as it is.")
    else:
        print(f"\n{seconds[0] / seconds[fastest]:.2f} × faster, measured here, with these lines in {config}:\n")
        print(lines_to_write(tried[fastest], SAME_BITS))
    return 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("config", type=Path)
    arguments.add_argument("--fedhive", type=Path, default=Path(__file__).resolve().parents[3] / "build/release/fedhive")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--rounds", type=int, help=f"rounds of each short run, the first is left out; default {ROUNDS}")
    arguments.add_argument("--gpu", action="store_true")
    given = arguments.parse_args()
    sys.exit(main(given.config, given.fedhive, given))
