"""Measures what tools/bench was asked for; see tools/bench -h, which builds the programs and calls this.

usage: python3 -m bench [--gpu] [--peers] [--repeats N] [--rounds N] [--out DIR] [--quick] [--again] [W…]
       python3 -m bench --advise CONFIG | --layers CONFIG [--set KEY=VALUE]
"""
import argparse
import importlib
import importlib.util
import json
import shlex
import sys
from pathlib import Path

from bench import machine, measure, page, runner, sides, tables, workloads
from bench.store import Store

ROOT = Path(__file__).resolve().parents[3]


def optional(name):
    """A module of this package that a checkout may lack; None without it."""
    return importlib.import_module(f"bench.{name}") if importlib.util.find_spec(f"bench.{name}") else None


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench", add_help=False)
    parser.add_argument("workloads", nargs="*", metavar="W", type=str.lower)
    for name in ("gpu", "peers", "quick", "again"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help=argparse.SUPPRESS)  # where the programs are
    parser.add_argument("--targets", action="store_true", help=argparse.SUPPRESS)  # of the build; for tools/bench
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--advise", type=Path, metavar="CONFIG")
    parser.add_argument("--layers", type=Path, metavar="CONFIG")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    known = list(dict.fromkeys(workloads.NAMES + [workload["id"] for workload in workloads.training(ROOT)]))
    if unknown := [name for name in given.workloads if name not in known]:
        parser.error(f"there is no workload {unknown[0]}; known: {', '.join(known)}, in capitals or not")
    if given.repeats < 1:
        parser.error(f"argument --repeats: {given.repeats} is out of range; allowed: 1 or more")
    if given.rounds is not None and given.rounds < 2:
        parser.error(f"argument --rounds: {given.rounds} is out of range; allowed: 2 or more, since the first one warms up")
    if given.set and not given.layers:
        parser.error("argument --set: goes with --layers alone")
    for name in ("peers", "advise", "layers"):
        if getattr(given, name) and not optional(name):
            parser.error(f"argument --{name}: this checkout has no tools/lib/bench/{name}.py")
    return given


def targets(given):
    """What tools/bench is to build."""
    if given.layers:
        return ["fedhive", "layer_speed"]
    return ["fedhive"] if given.advise else ["fedhive", "round_overhead", "aggregation_speed", "ideal_gpu" if given.gpu else "ideal_loop"]


def command_of(given):
    """The command that repeats the bench, without output paths."""
    flags = [f"--{name}" for name in ("gpu", "peers", "quick") if getattr(given, name)]
    rounds = [] if given.rounds is None else ["--rounds", str(given.rounds)]
    return shlex.join(["fedhive", "bench", *flags, "--repeats", str(given.repeats), *rounds, *given.workloads])


def measure_all(given, store, sides_of):
    """The workloads that were asked for, one after the other; yields after each."""
    wanted = given.workloads or workloads.NAMES
    for workload in workloads.training(ROOT, given.gpu):
        if workload["id"] not in wanted and workload["id"].split("-")[0] not in wanted:
            continue
        workload = workloads.quick(workload) if given.quick else workload
        workload = {**workload, "rounds": min(workload["rounds"], given.rounds or workload["rounds"])}
        if workload["data"] == "mnist" and not Path(workload["root"], "train-images-idx3-ubyte").exists():
            print(f"{workload['id']}: left out: there is no MNIST in {workload['root']}; scripts/data mnist fetches it", flush=True)
            continue
        yield runner.training(workload, sides_of, store, given.repeats)
    for name in workloads.PARTS:
        if name in wanted:
            yield runner.part(name, given.build, store, given.gpu, given.repeats, given.quick)


def write(folder, manifest, found, reference, quick):
    """After every workload, so that a bench that is stopped leaves a table of what it has."""
    (folder / "table.md").write_text(page.render(manifest, found, reference, quick), encoding="utf-8")
    tables.write_csv(folder / "table.csv", [row for name, each in found.items() for row in tables.csv_rows(name, each, reference)])
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def with_earlier_calls(file, manifest):
    """The manifest of this call and of those before it whose figures are in the same tables."""
    earlier = json.loads(file.read_text()) if file.exists() else {}
    if earlier.get("commit") != manifest["commit"]:
        return manifest
    commands = [*earlier["commands"], *(command for command in manifest["commands"] if command not in earlier["commands"])]
    return {**manifest, "commands": commands, "busy_before": max(earlier["busy_before"], manifest["busy_before"])}


def bench(given):
    program = machine.probe(given.build / "fedhive", "cuda" if given.gpu else "cpu")
    manifest = machine.describe(program, machine.gpu_name() if given.gpu else "", given.repeats, command_of(given))
    out = given.out or ROOT / ("results/runs/bench-quick" if given.quick else f"results/bench/{machine.folder_name(manifest)}")
    out.mkdir(parents=True, exist_ok=True)
    if not given.again:
        manifest = with_earlier_calls(out / "manifest.json", manifest)
    store = Store(out, {"commit": manifest["commit"], "libtorch": manifest["libtorch"], "device": manifest["device"], "quick": given.quick}, given.again)
    peers = optional("peers").sides(ROOT) if given.peers else []
    all_sides, reference = sides.make_sides(given.build, given.gpu, peers)
    names = [workload["id"] for workload in workloads.training(ROOT, given.gpu)] + list(workloads.PARTS)
    failed = 0
    for found in measure_all(given, store, all_sides):
        failed += runner.failures(found)
        write(out, manifest, store.everything(names), reference, given.quick)
    if (out / "table.md").exists():
        print(out / "table.md")
    return 1 if failed else 0


def main():
    given = arguments()
    if given.gpu and not machine.has_gpu():
        print("tools/bench: --gpu: there is no NVIDIA GPU here (no /dev/nvidia0); leave it out to measure on the CPU", file=sys.stderr)
        return 2
    if given.targets:
        print(*targets(given))
        return 0
    if given.advise:
        return optional("advise").main(given.advise, given.build / "fedhive", given)
    if given.layers:
        return optional("layers").main(given.layers, given)
    try:
        return bench(given)
    except measure.Failed as error:
        print(f"tools/bench: {error}", file=sys.stderr)
        return 2 if given.gpu else 1
    except KeyboardInterrupt:
        return 130  # what was measured is kept
    except OSError as error:
        print(f"{error.filename}: {error.strerror}. --out names another folder for the tables.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
