"""Each side's program on a workload of a second: it succeeds and prints the bench's lines."""
import json
import os
import subprocess
from pathlib import Path

import peers
from support import TemporaryFolder

ROOT = Path(__file__).resolve().parents[2]


class Programs(TemporaryFolder):
    def lines_of(self, name, **changes):
        side = next(side for side in peers.sides(ROOT) if side.name.startswith(name))
        path = self.workload_file(evaluate_every=2, num_test=20, **changes)
        ran = subprocess.run(side.command(path), env={**os.environ, **side.environment()}, capture_output=True, text=True, timeout=280)
        self.assertEqual(ran.returncode, 0, ran.stderr[-2000:])
        return [json.loads(line) for line in ran.stdout.splitlines()]

    def check(self, name, **changes):
        lines = self.lines_of(name, **changes)
        self.assertEqual([list(line) for line in lines], [["ready_s"], ["round_s"], ["round_s"], ["accuracy"]])
        self.assertTrue(all(value > 0 for line in lines[:3] for value in line.values()))
        self.assertTrue(0 <= lines[3]["accuracy"] <= 1)

    def test_pfl(self):
        self.check("pfl")
        self.check("pfl", examples=[4] * 4, momentum=0.5)

    def test_flower(self):
        self.check("Flower")

    def test_multiprocessing(self):
        self.check("torch.multiprocessing")
