"""Advice on one config, with a stand-in for fedhive whose rounds take known times."""
import argparse
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/lib"))
from bench import advise  # noqa: E402

STAND_IN = Path(__file__).resolve().parent / "stand_in.py"


class Advise(unittest.TestCase):
    @classmethod
    def advice(cls, keys: str) -> tuple[int, str, list[str]]:
        """Returns exit status, output, and the calls of the stand-in."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--repeats", type=int, default=2)
        parser.add_argument("--rounds", type=int)
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "journal"
            with mock.patch.dict(os.environ, STAND_IN_KEYS=keys, STAND_IN_JOURNAL=str(journal)), \
                    mock.patch("os.sched_getaffinity", return_value={0, 1, 2, 3}), contextlib.redirect_stdout(said):
                status = advise.main(Path("x.yaml"), STAND_IN, parser.parse_args([]))
            return status, said.getvalue(), journal.read_text().splitlines()

    @classmethod
    def setUpClass(cls):
        cls.status, cls.text, cls.calls = cls.advice("training.clients_at_once")

    def test_fastest_change_of_each_key_is_tried_together_and_written_out(self):
        text = self.text
        self.assertEqual(self.status, 0)
        # A round takes 1 s of training (the first round is left out) plus half of 0.4 s of evaluation; together 1 s / 2 / 2
        # plus half of 0.2 s.
        self.assertRegex(text, r"1200\.00 ms +1\.00× +same +the config as it is")
        self.assertRegex(text, r"350\.00 ms +3\.43× +may differ +.*threads=4.*training\.clients_at_once=16.*chunk_size=1000")
        self.assertIn("3.43 × faster", text)
        self.assertIn("threads: 4    # may change last bits", text)
        self.assertIn("training:\n  clients_at_once: 16    # may change last bits", text)
        self.assertIn("evaluation:\n  chunk_size: 1000    # may change last bits", text)

    def test_run_is_short_and_does_not_stop_before(self):
        runs = [call for call in self.calls if call.startswith("run")]
        self.assertTrue(all("stop.test_accuracy=null" in call and "rounds=4" in call for call in runs))

    def test_candidates_are_run_in_turns(self):
        runs = [call.split("--set stop.test_accuracy=null")[1] for call in self.calls if call.startswith("run")]
        first = runs[: runs.index("", 1)]  # the unchanged config comes first in every turn
        self.assertGreater(len(first), 5)
        self.assertEqual(first[:5], runs[len(first) : len(first) + 5])

    def test_what_is_unknown_refused_or_failing_is_left_out_with_a_line(self):
        refused = "left out: training.clients_at_once=64, training.clients_per_slot=64: x.yaml:3: training.clients_per_slot"
        self.assertIn(refused, self.text)
        self.assertIn("left out: evaluation.chunk_size=2000: fedhive: no memory", self.text)
        _, text, _ = self.advice("")
        self.assertEqual(text.count("left out: training.clients_at_once, which this build does not know"), 1)

    def test_gpu_keys_are_for_a_gpu_and_a_slot_holds_the_clients_at_once(self):
        names = [one.name for one in advise.candidates({"training.clients_per_slot": "4"}, 2, False)]
        self.assertIn("training.clients_at_once=4", names)
        self.assertIn("training.clients_at_once=16, training.clients_per_slot=16", names)
        self.assertFalse([name for name in names if "graph" in name or "precision" in name or "mps" in name])
        names = [one.name for one in advise.candidates({}, 2, True)]
        self.assertIn("training.graph=true", names)
        self.assertIn("training.precision=bf16", names)
        self.assertNotIn("threads=1", [one.name for one in advise.candidates({"threads": "1"}, 2, False)])

    def test_small_gains_change_nothing(self):
        tried = [advise.Candidate({}, False), advise.Candidate({"workers": "2"}, False), advise.Candidate({"threads": "2"}, True)]
        self.assertIsNone(advise.together(tried, [1.0, 0.98, 0.5]))
        both = advise.together(tried, [1.0, 0.9, 0.5])
        self.assertEqual((both.settings, both.bits), ({"workers": "2", "threads": "2"}, True))
        self.assertNotIn("#", advise.lines_to_write(advise.Candidate({"workers": "2"}, True), advise.SAME_BITS))


if __name__ == "__main__":
    unittest.main()
