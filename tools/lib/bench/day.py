"""A first day on a GPU, in parts that fit into a lease: see tools/gpu-day -h.

Every part writes DIR/PART.csv row by row, so that one which is cut off leaves what it has, and says what it had no time for.
"""
import argparse
import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench import machine, measure, parts, sides, workloads
from bench.day_run import FORMS, Day, DeviceMemory, Run, config_of, doctor_of

SANITIZED = "Gpu: *"
SANITIZED_PROGRAMS = ("aggregation", "data", "direct", "protocol")
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")


def doctor(day):
    """What the machine is, and what fedhive thinks of it."""
    for key, value in doctor_of(day.programs).items():
        yield {"what": key, "value": value}
    if shutil.which("nvidia-smi"):
        fields = ["name", "driver_version", "memory.total", "clocks.max.sm", "mig.mode.current", "compute_mode", "persistence_mode"]
        asked = measure.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])[0][0].split(", ")
        for key, value in zip(fields, asked):
            yield {"what": f"nvidia-smi {key}", "value": value}


def cases(day):
    """All tests that need a GPU, one by one, since each measures free memory. One that is skipped did not run."""
    for program in sorted(day.programs.glob("test_*")):
        if not os.access(program, os.X_OK) or program.is_dir():
            continue
        listed = measure.run([program, "--list-test-cases", "--test-case=Gpu:*"])[0]
        part = program.name.removeprefix("test_")
        for name in (line for line in listed if line.startswith("Gpu:") and re.search(day.pattern, f"{part}:{line}")):
            if day.left_s() < 5:
                yield {"program": part, "case": name, "result": "left out: no time", "seconds": ""}
                continue
            started = time.monotonic()
            try:
                ran = subprocess.run([program, f"--test-case={name}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=day.left_s(), check=False)
                said, result = ran.stdout + ran.stderr, "passed" if ran.returncode == 0 else "failed"
            except subprocess.TimeoutExpired as late:
                said, result = (late.stdout or b"").decode(errors="replace"), "cut off"
            skipped = re.search(r"^\[skipped\] *(.*)", said, re.MULTILINE)
            if result == "passed" and skipped:
                result = f"skipped: {skipped[1]}"
            if result != "passed":
                logs = day.out / "cases"
                logs.mkdir(exist_ok=True)
                (logs / f"{part}-{machine.slug(name)}.log").write_text(said[-100_000:])
                print("".join(f"        {line}\n" for line in said.splitlines()[-30:]), end="")
            yield {"program": part, "case": name, "result": result, "seconds": f"{time.monotonic() - started:.1f}"}


def sanitizers(day):
    """compute-sanitizer over the cases that run emulated elsewhere; without those that share memory with a process of their own."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        yield {"tool": "compute-sanitizer", "program": "", "result": "not installed", "seconds": ""}
        return
    for name, program in itertools.product(TOOLS, SANITIZED_PROGRAMS):
        if day.left_s() < 10:
            yield {"tool": name, "program": program, "result": "left out: no time", "seconds": ""}
            continue
        started = time.monotonic()
        command = [tool, "--tool", name, "--error-exitcode", "9", day.programs / f"test_{program}", f"--test-case={SANITIZED}", "--test-case-exclude=*AnotherProcess*"]
        try:
            said = measure.run(command)[0]
            skipped = next((line for line in said if line.startswith("[skipped]")), "")
            result = f"skipped: {skipped.removeprefix('[skipped]').strip()}" if skipped else "nothing found"
        except measure.Failed as error:
            result = f"failed: {error}" if day.left_s() > 0 else "cut off"
        yield {"tool": name, "program": program, "result": result, "seconds": f"{time.monotonic() - started:.1f}"}


def bits(day):
    """model_sha256 by number of workers: one for each form and workload, or something is wrong."""
    for name in ("w2-mnist_cnn", "w3-mlp") if day.quick else ("w2-mnist_cnn", "w4", "w3-mlp"):
        workload = {**day.workload(name), "rounds": min(3, day.rounds)}
        for form_name, form in day.forms().items():
            first = None
            for workers in (0, 1, 2) if day.quick else (0, 1, 2, 4, 8):
                try:
                    with Run(day, config_of(day, workload, workers, form)) as run:
                        sha = run.end()["model_sha256"]
                except measure.Failed as error:
                    yield {"workload": name, "form": form_name, "workers": workers, "same_bits": False, "model_sha256": str(error)}
                    break
                first = first or sha
                yield {"workload": name, "form": form_name, "workers": workers, "same_bits": sha == first, "model_sha256": sha}


def killed(day):
    """Workers killed with SIGKILL at random moments, kernels in flight or not: the model must be that of the run without."""
    chance = random.Random(1)
    workload = {**day.workload("w2-mnist_cnn"), "rounds": day.rounds}
    for form_name, form in day.forms().items():
        retry = {"failures": {"policy": "retry", "attempts": 20}}
        try:
            with Run(day, config_of(day, workload, 2, form, retry)) as run:
                expected, round_s = run.end()["model_sha256"], run.round_s()
        except measure.Failed as error:
            yield {"form": form_name, "kills": 0, "same_bits": False, "failures": str(error)}
            continue
        with Run(day, config_of(day, workload, 2, form, retry)) as run:
            kills, following = 0, 1

            def strike():
                nonlocal kills, following
                if kills == 5 or run.rounds_done() < following:
                    return
                time.sleep(chance.uniform(0.0, min(0.05, round_s)))
                try:
                    os.kill(chance.choice(run.children()), signal.SIGKILL)
                except (IndexError, ProcessLookupError):  # it has ended by itself
                    return
                kills, following = kills + 1, run.rounds_done() + max(1, workload["rounds"] // 8)
            try:
                manifest = run.end(strike, min(0.05, round_s / 4))
                same, told = manifest["model_sha256"] == expected, json.dumps(manifest["failures"])
            except measure.Failed as error:
                same, told = False, str(error)
        yield {"form": form_name, "kills": kills, "same_bits": same, "failures": told}


def workers(day):
    """Seconds a round and device memory by number of workers and form of the step."""
    memory = DeviceMemory()
    for name in ("w2-mnist_cnn", "w4"):
        workload, before = day.workload(name), memory.mib()
        for form_name, form in day.forms().items():
            for count in day.workers():
                peak = 0.0

                def watch():
                    nonlocal peak
                    peak = max(peak, memory.mib() or 0.0)
                row = {"workload": name, "form": form_name, "workers": count, "rounds": workload["rounds"], "round_s": "", "device_mib": "", "note": ""}
                if day.left_s() < 10:
                    yield {**row, "note": "left out: no time"}
                    continue
                try:
                    with Run(day, config_of(day, workload, count, form)) as run:
                        run.end(watch)
                        row["round_s"] = f"{run.round_s():.6f}"
                        if before is not None:
                            row["device_mib"] = f"{peak - before:.0f}"
                except measure.Failed as error:
                    row["note"] = str(error)
                yield row


def kernels(day):
    """Mean and median against a copy of as many bytes, in turn."""
    for row in parts.aggregation(day.programs, day.device == "cuda", 2 if day.quick else 5, day.quick):
        yield {key: value if key == "case" else f"{measure.spread(value)[0]:.6g}" for key, value in row.items()}
        if day.left_s() < 20:
            yield {"case": "left out: no time"}
            return


def ideal(day):
    """fedhive in its forms beside what an expert would write by hand for the same workload, in turn, three times."""
    of_all, reference = sides.make_sides(day.programs, day.device == "cuda", [])
    for name in ("w3-mlp",) if day.quick else ("w2-mnist_cnn", "w2-cnn_m", "w3-mlp", "w4"):
        workload, repeats = day.workload(name), []
        able = [side for side in of_all if side.supports(workload) and not side.missing]
        for index in range(1 if day.quick else 3):
            if day.left_s() < 30:
                break
            repeats.append({})
            for side in measure.in_turn(able, index):
                try:
                    repeats[-1][side.name] = side.run(workload)
                except measure.Failed as error:
                    yield {"workload": name, "side": side.name, "repeats": 0, "result": f"failed: {error}" if day.left_s() > 0 else "cut off"}
        for side in able:
            rounds = [repeat[side.name]["round_s"] for repeat in repeats if side.name in repeat]
            if rounds:
                speed = measure.ratios(repeats, side.name, reference, "round_s")
                yield {"workload": name, "side": side.name, "repeats": len(rounds), "round_s": f"{measure.spread(rounds)[0]:.6f}",
                       "speed": f"{measure.spread(speed)[0]:.3f}" if speed else "", "note": f"speed: {reference} = 1"}


def best_of(day, name):
    """(form, workers) of the quickest row that the part `workers` has left."""
    try:
        with open(day.out / "workers.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["workload"] == name and row["round_s"]]
    except OSError:
        rows = []
    best = min(rows, key=lambda row: float(row["round_s"]), default={"form": "batched", "workers": "1", "round_s": ""})
    return best["form"], int(best["workers"]), float(best["round_s"] or 0.0)


def full(day):
    """W4 with the quickest form and number of workers, all its rounds, as far as the part's time goes."""
    whole = next(workload for workload in workloads.training(Path(), True) if workload["id"] == "w4")
    form, count, round_s = best_of(day, "w4")
    fitting = int(0.8 * day.left_s() / round_s) if round_s else whole["rounds"]
    workload = day.workload("w4") if day.quick else {**whole, "rounds": max(1, min(whole["rounds"], fitting))}
    started = time.monotonic()
    with Run(day, config_of(day, workload, count, FORMS[form])) as run:
        manifest = run.end()
        yield {"workload": "w4", "form": form, "workers": count, "rounds": workload["rounds"], "whole_s": f"{time.monotonic() - started:.2f}",
               "round_s": f"{run.round_s():.6f}", "model_sha256": manifest["model_sha256"]}


def mps(day):
    """The quickest number of workers with and without a daemon of the run's own."""
    if not shutil.which("nvidia-cuda-mps-control"):
        yield {"workload": "", "mps": "", "note": "nvidia-cuda-mps-control is not installed"}
        return
    for name in ("w2-mnist_cnn", "w4"):
        form, count, _ = best_of(day, name)
        for count in sorted({max(2, count), 8}):
            for switch in ("off", "on"):
                row = {"workload": name, "form": form, "workers": count, "mps": switch, "round_s": "", "note": ""}
                try:
                    with Run(day, config_of(day, day.workload(name), count, FORMS[form], {"mps": switch})) as run:
                        run.end()
                        row["round_s"] = f"{run.round_s():.6f}"
                except measure.Failed as error:
                    row["note"] = str(error)
                yield row


PARTS = {part.__name__: part for part in (doctor, cases, sanitizers, bits, killed, workers, kernels, ideal, full, mps)}
NEED_A_GPU = ("cases", "sanitizers", "mps")


def write(part, day):
    """Row after row, each on the disk before the next is measured. Returns how many of them tell of something wrong."""
    wrong, columns, file = 0, [], day.out / f"{part}.csv"
    rows = []
    measure.until = day.began + day.part_s
    try:
        for row in PARTS[part](day):
            rows.append(row)
            columns += [key for key in row if key not in columns]
            with open(file, "w", newline="") as table:
                writer = csv.DictWriter(table, columns, restval="", lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            print(f"{part}: " + ", ".join(f"{key} {value}" for key, value in row.items() if value != ""), flush=True)
            wrong += row.get("result", "").startswith(("failed", "cut off", "skipped")) or row.get("same_bits") is False
    except measure.Failed as error:
        print(f"{part}: {error}", flush=True)
        wrong += 1
    finally:
        measure.until = float("inf")
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="gpu-day", add_help=False)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path("results/gpu-day"))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--part-s", type=float, default=540.0)
    parser.add_argument("--day-s", type=float, default=1740.0)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--cases", default="", dest="pattern")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; known: {', '.join(PARTS)}")
    try:
        re.compile(given.pattern)
    except re.error as error:
        parser.error(f"--cases {given.pattern}: {error}")
    try:
        measure.run([given.programs / "fedhive", "--version"])
        if given.device == "cuda" and not (said := doctor_of(given.programs))["cuda_devices"]:
            print(f"gpu-day: fedhive finds no NVIDIA GPU here ({said['cuda']}); --device cpu tries what needs none", file=sys.stderr)
            return 2
    except (OSError, measure.Failed) as error:
        print(f"gpu-day: the programs cannot start here: {error}", file=sys.stderr)
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    manifest = given.out / "manifest.json"
    told = json.loads(manifest.read_text()) if manifest.exists() else {}
    wrong, began = 0, time.monotonic()
    for part in given.parts or [part for part in PARTS if given.device == "cuda" or part not in NEED_A_GPU]:
        left_s = given.day_s - (time.monotonic() - began)
        if left_s < 5:
            print(f"{part}: left out: no time", flush=True)
            continue
        day = Day(given.programs, given.device, given.out, min(given.part_s, left_s), given.rounds, given.quick, given.pattern)
        wrong += write(part, day)
        if "commit" not in told:
            try:
                told = machine.describe(machine.probe(given.programs / "fedhive", given.device), machine.gpu_name() if given.device == "cuda" else "", 1, "gpu-day")
            except measure.Failed as error:  # the next parts may tell why
                told["no_run"] = str(error)
        told.setdefault("parts_s", {})[part] = round(time.monotonic() - day.began, 1)
        manifest.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    print(f"{given.out}: {'nothing wrong' if wrong == 0 else f'{wrong} wrong'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
