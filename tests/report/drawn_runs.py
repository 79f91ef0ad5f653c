"""Runs in memory with numbers that can be computed by hand, and helpers that inspect figures."""
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lib"))
from report.figures import style  # noqa: E402
from report.load import Report  # noqa: E402
from report.run import Run  # noqa: E402

SECONDS = {"pull_down_s": 0.25, "train_s": 2.0, "barrier_s": 0.125, "aggregate_s": 0.5, "server_step_s": 0.125, "evaluate_s": 1.0}  # 4.0
T_TWO_OF_THREE = 4.302652729911275  # Student's t, 97.5 %, two degrees of freedom: from a printed table


def rounds_table(accuracies, **columns):
    n = len(accuracies)
    table = pd.DataFrame({"round": range(1, n + 1), "failed": [0] * n, "test_accuracy": accuracies, "test_loss": [1 - x for x in accuracies],
                          "train_loss": [2 - x for x in accuracies], "bytes_down": [6e6] * n, "bytes_up": [4e6] * n,
                          "wall_s": [4.0] * n, "virtual_s": [10.0 * (i + 1) for i in range(n)], "started_s": [4.0 * i for i in range(n)],
                          **{name: [value] * n for name, value in SECONDS.items()}})
    return table.assign(**columns)


def clients_table(rows):
    """Rows of (round, client_id, worker, started_s, seconds, train_loss, staleness, failure)."""
    return pd.DataFrame(rows, columns=["round", "client_id", "worker", "started_s", "seconds", "train_loss", "staleness", "failure"])


def two_clients(rounds):
    """Client 0 on worker 0 and client 1 on worker 1, one second each per round of four."""
    return clients_table([(r + 1, k, k, 4.0 * r + 0.5, 1.0, 1.0 + k, 0, "") for r in range(rounds) for k in (0, 1)])


def run(accuracies=(0.5, 0.75), seed=1, group="g", status="finished", settings=None, clients=None, shares=None, manifest=None, **columns):
    rounds = rounds_table(list(accuracies), **columns) if len(accuracies) else pd.DataFrame(columns=["round", "test_accuracy", "wall_s"])
    return Run(path=Path("/nowhere"), label=f"{group},seed={seed}", config={}, manifest={"workers": 2, "num_clients": 2, **(manifest or {})},
               rounds=rounds, clients=clients if clients is not None else two_clients(len(rounds)), events=[],
               partition=shares if shares is not None else pd.DataFrame(), status=status, problems=[], settings=settings or {}, seed=seed,
               group=group)


def report(*runs, axes=()):
    return Report("a report", list(runs), None, list(axes))


def drawn(module, of):
    with style.rc():
        return {drawing.name: drawing for drawing in module.draw(of)}


def by_gid(figure, start):
    return [artist for artist in figure.findobj(lambda artist: str(artist.get_gid() or "").startswith(start))]


def line_data(figure, gid):
    (line,) = by_gid(figure, gid)
    return [list(map(float, values)) for values in line.get_data()]
