"""Medians, ratios, and measurements of a process from outside."""
import sys
import tempfile
import time
import unittest
from pathlib import Path

from bench import measure, sides


class Figures(unittest.TestCase):
    def test_first_round_warms_up_and_does_not_count(self):
        self.assertEqual(measure.steady([9.0, 1.0, 3.0, 2.0]), 2.0)
        self.assertEqual(measure.steady([9.0]), 9.0)

    def test_ratio_is_of_the_sides_of_one_repeat_and_above_one_where_the_side_is_faster(self):
        repeats = [{"a": {"s": 1.0}, "b": {"s": 2.0}}, {"a": {"s": 10.0}, "b": {"s": 5.0}}, {"a": {"s": 1.0}}]
        self.assertEqual(measure.ratios(repeats, "a", "b", "s"), [2.0, 0.5])

    def test_every_side_is_first_in_turn(self):
        self.assertEqual([measure.in_turn(["a", "b", "c"], repeat) for repeat in (0, 1, 5)], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])

    def test_rounds_are_read_between_other_lines(self):
        self.assertEqual(measure.rounds_of(['{"ready_s": 1}', "loading", '{"round_s": 2.0}', '{"accuracy": 0.5}', '{"round_s": 1.0}'], 2), ([2.0, 1.0], 0.5))
        with self.assertRaisesRegex(measure.Failed, "0 rounds were printed, 2 were asked for"):
            measure.rounds_of(["done"], 2)

    def test_round_lasts_until_the_next_begins_without_its_evaluation(self):
        rows = [{"started_s": start, "wall_s": 1.5, "evaluate_s": 0.5, "test_accuracy": start / 10, **{f"{phase}_s": 0.2 for phase in sides.PHASES}} for start in (0.0, 2.0, 5.0)]
        self.assertEqual(sides.round_seconds(rows), [1.5, 2.5, 1.0])
        self.assertEqual(sides.phases(rows), {**dict.fromkeys(sides.PHASES, 0.2), "rest": 1.5, "evaluate": 0.5})
        self.assertEqual(sides.phases([{**row, "test_accuracy": float("nan")} for row in rows])["evaluate"], 0.0)

    def test_training_is_split_into_what_an_average_worker_does(self):
        rows = [{"round": number, "train_s": 1.0} for number in (1.0, 2.0)]
        clients = [dict(zip(("round", "seconds", "gather_s", "update_s"), row)) for row in
                   (("1", "9", "9", "9"), ("2", "0.8", "0.1", "0.05"), ("2", "0.9", "0.3", "0.15"), ("2", "", "", ""))]
        found = sides.in_training(rows, clients, workers=2)
        for name, seconds in (("gather", 0.2), ("update", 0.1), ("steps", 0.55), ("wait", 0.15)):
            self.assertAlmostEqual(found[name], seconds)


class Processes(unittest.TestCase):
    def test_memory_of_all_processes_is_added_up(self):
        hold = "import subprocess, sys, time; held = bytearray(b'x') * (48 << 20); {} time.sleep(0.4)"
        alone = measure.run([sys.executable, "-c", hold.format("")], watch_memory=True)[2]
        child = f"subprocess.Popen([sys.executable, '-c', {hold.format('')!r}]);"
        both = measure.run([sys.executable, "-c", hold.format(child) + "; time.sleep(0.5)"], watch_memory=True)[2]
        self.assertGreater(alone, 48)
        self.assertGreater(both, alone + 48)

    def test_seconds_and_lines_come_back_and_the_environment_is_passed_on(self):
        lines, seconds, peak = measure.run([sys.executable, "-c", "import os, time; time.sleep(0.2); print(os.environ['SIDE'])"], {"SIDE": "x"})
        self.assertEqual((lines, peak), (["x"], None))
        self.assertGreater(seconds, 0.2)

    def test_failure_says_who_and_why(self):
        with self.assertRaisesRegex(measure.Failed, "exit status 3: no luck"):
            measure.run([sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(3)"])
        with self.assertRaisesRegex(measure.Failed, "/no/such/program: No such file"):
            measure.run(["/no/such/program"])

    def test_what_takes_too_long_is_killed_with_its_children(self):
        with tempfile.NamedTemporaryFile("r") as file:
            with self.assertRaisesRegex(measure.Failed, "not done within 0.5 s"):
                measure.run(["bash", "-c", f"sleep 60 & echo $! >{file.name}; wait"], deadline_s=0.5)
            child = Path(f"/proc/{file.read().strip()}/stat")
        end = time.monotonic() + 5
        while child.exists() and child.read_text().rsplit(")", 1)[1].split()[0] != "Z" and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(not child.exists() or " Z " in child.read_text())
