"""The real programs, measured for a moment, and tools/bench as a user calls it."""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

import support


def bench(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(support.ROOT / "tools/lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "bench", "--build", support.BUILD, *arguments], capture_output=True, text=True, timeout=280, check=False,
                          env=environment)


class EarlierCalls(support.TemporaryFolder):
    def test_their_commands_and_the_busiest_moment_stay_with_their_figures(self):
        from bench.__main__ import with_earlier_calls
        file = self.folder / "manifest.json"
        now = {"commit": "abc", "commands": ["b"], "busy_before": 0.1}
        self.assertEqual(with_earlier_calls(file, now), now)
        file.write_text(json.dumps({"commit": "abc", "commands": ["a", "b"], "busy_before": 0.7}))
        self.assertEqual(with_earlier_calls(file, now), {"commit": "abc", "commands": ["a", "b"], "busy_before": 0.7})
        self.assertEqual(with_earlier_calls(file, {**now, "commands": ["c"], "busy_before": 1.0}),
                         {"commit": "abc", "commands": ["a", "b", "c"], "busy_before": 1.0})
        self.assertEqual(with_earlier_calls(file, {**now, "commit": "def"}), {**now, "commit": "def"})


class FewerRounds(support.TemporaryFolder):
    def test_they_are_measured_anew_and_stand_beside_other_workloads(self):
        from bench import runner
        from bench.store import Store

        class Side:
            name, note, missing = "fedhive", "", ""

            def __init__(self):
                self.rounds = []

            def supports(self, _workload):
                return True

            def run(self, workload, watch_memory=False):
                self.rounds.append(workload["rounds"])
                return {"round_s": 1.0, "peak_mib": 1.0 if watch_memory else None}

        side, program = Side(), {"commit": "abc"}
        for name, rounds in (("w1", 10), ("w1", 10), ("w4", 20), ("w4", 4)):
            runner.training({"id": name, "rounds": rounds}, [side], Store(self.folder, program), 1)
        self.assertEqual(side.rounds, [2, 10, 2, 20, 2, 4])  # memory in two separate rounds; w1 once
        kept = Store(self.folder, program).everything(["w1", "w4"])
        self.assertEqual({name: found["workload"]["rounds"] for name, found in kept.items()}, {"w1": 10, "w4": 4})


class Groups(support.TemporaryFolder):
    def test_a_workload_without_its_model_is_one_of_each_model(self):
        from bench.__main__ import measure_all
        from bench.store import Store

        class Side:
            name, note, missing = "fedhive", "", ""

            def supports(self, _workload):
                return True

            def run(self, _workload, watch_memory=False):
                return {"round_s": 1.0, "peak_mib": 1.0 if watch_memory else None}

        given = argparse.Namespace(gpu=False, quick=True, rounds=None, repeats=1, workloads=["w3", "w2-cnn_m"], build=None)
        found = [each["workload"]["id"] for each in measure_all(given, Store(self.folder, {"commit": "abc"}), [Side()])]
        self.assertEqual(found, ["w2-cnn_m", "w3-lr", "w3-mlp", "w3-step"])


class AsCalled(unittest.TestCase):
    def test_a_command_names_the_workloads_it_was_given(self):
        from bench.__main__ import command_of
        given = argparse.Namespace(gpu=False, peers=True, quick=False, repeats=3, rounds=None, workloads=["W1", "W3-lr"])
        self.assertEqual(command_of(given), "fedhive bench --peers --repeats 3 W1 W3-lr")
        given.rounds = 20
        self.assertEqual(command_of(given), "fedhive bench --peers --repeats 3 --rounds 20 W1 W3-lr")


class Busy(unittest.TestCase):
    def test_another_program_at_work_is_seen(self):
        from bench import machine
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
            try:
                self.assertGreater(machine.busy_cores(), 0.5)
            finally:
                other.kill()


class Command(support.TemporaryFolder):
    def table(self):
        with open(self.folder / "table.csv", newline="") as file:
            return {(row["workload"], row["side"], row["figure"]): float(row["median"]) for row in csv.DictReader(file)}

    def test_barrier_and_aggregation_are_measured_by_themselves(self):
        done = bench("W6", "w5", "--quick", "--repeats", "1", "--out", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.table()
        for workers in ("1 worker", "2 workers", "16 workers"):
            self.assertGreater(table["w6", workers, "awake_us"], 0)
            self.assertGreaterEqual(table["w6", workers, "asleep_99_us"], table["w6", workers, "asleep_us"])
        self.assertGreater(table["w5", "median, P = 21,840, K = 32", "rule_s"], table["w5", "mean, P = 21,840, K = 10", "rule_s"])
        self.assertEqual({key[1] for key in table if key[0] == "w5"}, {f"{rule}, P = 21,840, K = {k}" for rule in ("mean", "median", "trimmed_mean") for k in (10, 32)})

    def test_sides_run_and_a_second_call_measures_nothing_again(self):
        done = bench("W3-lr", "--quick", "--repeats", "1", "--out", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("table.md", done.stdout)
        table, text = self.table(), (self.folder / "table.md").read_text()
        for side in ("fedhive", "ideal loop, 1 process", "ideal loop, 2 processes"):
            for figure in ("round_s", "whole_s", "speed", "peak_mib"):
                self.assertGreater(table["w3-lr", side, figure], 0)
            self.assertIn(f"| {side} |", text)
        self.assertEqual(table["w3-lr", "ideal loop, 2 processes", "speed"], 1)
        self.assertIn("| fedhive batched |", text)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        self.assertEqual((manifest["repeats"], manifest["workers"], manifest["commands"]), (1, 2, ["fedhive bench --quick --repeats 1 w3-lr"]))
        again = bench("w3-LR", "--quick", "--repeats", "1", "--out", self.folder)
        self.assertEqual((again.returncode, again.stdout), (0, f"{self.folder}/table.md\n"))
        self.assertEqual(self.table(), table)

    def test_two_processes_of_the_ideal_loop_give_a_line_a_round(self):
        for processes in (1, 2, 3):
            work = {"model": "mnist_cnn", "shape": [1, 28, 28], "classes": 10, "clients": 3, "examples": [7, 1, 12], "cohort": 2, "rounds": 4, "batch_size": 5,
                    "local_epochs": 2, "lr": 0.05, "momentum": 0.5, "dropout": True}
            (self.folder / "w.json").write_text(json.dumps(work))
            done = subprocess.run([support.BUILD / "ideal_loop", str(processes), self.folder / "w.json"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([*map(list, map(json.loads, done.stdout.splitlines()))], [["round_s"]] * 4)

    def test_wrong_usage_ends_with_two_before_anything_is_built(self):
        for arguments, said in ((("W9",), "no workload w9; known: w1, w2"), (("--repeats", "0"), "--repeats: 0 is out of range"), (("--nope",), "--nope")):
            done = subprocess.run([support.ROOT / "tools/bench", *arguments], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
            self.assertIn("usage: tools/bench", done.stderr)

    def test_fedhive_bench_is_the_script(self):
        done = subprocess.run([support.BUILD / "fedhive", "bench", "-h"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("usage: tools/bench [--gpu]", done.stdout)

    def test_program_without_its_checkout_says_what_it_misses(self):
        shutil.copy(support.BUILD / "fedhive", self.folder)
        for command, script in (("bench", "tools/bench"), ("report", "scripts/report")):
            done = subprocess.run([self.folder / "fedhive", command], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"no {script} in a folder above {self.folder}/fedhive", done.stderr)

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "[skipped] there is a GPU")
    def test_without_a_gpu_gpu_ends_with_two_and_says_so(self):
        for command in (bench, lambda *arguments: subprocess.run([support.ROOT / "tools/bench", *arguments], capture_output=True, text=True, check=False)):
            done = command("--gpu", "W6", "--quick", "--out", self.folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--gpu: there is no NVIDIA GPU here", done.stderr)
        self.assertFalse((self.folder / "table.md").exists())
