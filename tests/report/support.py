"""Shared by the tests: a temporary folder with made-up runs."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import make_runs

ROOT = Path(__file__).resolve().parents[2]


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, name="run", *arguments, **changes):
        make_runs.make_run(self.folder / name, *arguments, **changes)
        return self.folder / name

    def make_sweep(self, name="sweep", **changes):
        make_runs.make_sweep(self.folder / name, **changes)
        return self.folder / name

    def make_methods(self, accuracies, name="sweep", seeds=(1, 2), cases=True):
        """Writes a sweep over strategies and alpha: {(method, alpha): accuracy of each seed in the last of two rounds}. FedAdam has a
        server rate of 0.5, and SCAFFOLD uniform weights."""
        folder, runs = self.folder / name, []
        for (method, alpha), values in accuracies.items():
            for seed, accuracy in zip(seeds, values):
                own = {"strategy": method.lower(), "server_lr": 0.5 if method == "FedAdam" else 1,
                       "weighting": "uniform" if method == "SCAFFOLD" else "examples"}
                run = f"{method}+alpha-{alpha}+seed-{seed}" if cases else f"strategy-{own['strategy']}+alpha-{alpha}+seed-{seed}"
                make_runs.make_run(folder / "runs" / run, rounds=2, seed=seed, alpha=alpha, **own)
                rows = [f"{number},{value},{1 - value},0.5,1,1,1" for number, value in ((1, accuracy / 2), (2, accuracy))]
                (folder / "runs" / run / "rounds.csv").write_text(
                    "\n".join(["round,test_accuracy,test_loss,train_loss,wall_s,bytes_down,bytes_up", *rows]) + "\n")
                settings = {"strategy.name": own["strategy"], "strategy.server_lr": str(own["server_lr"]), "data.partition.alpha": str(alpha)}
                runs.append({"id": run, "status": "finished", "seed": seed, "rounds": 2, "settings": settings, "case": method if cases else ""})
        (folder / "sweep.json").write_text(json.dumps({"name": "methods", "keys": list(runs[0]["settings"]), "runs": runs, "jobs": 1}))
        return folder
