"""Writes made-up run and sweep folders in the form of results/README.md, of any size, to test reports.

usage: make_runs.py FOLDER [--rates N] [--partitions N] [--seeds N] [--rounds N] [--clients N] [--broken] [--bare]
       a sweep over client rates and partitions; --broken: some of its runs failed, were killed, stopped, or never began;
       --bare: in an older version's form, without started_s and partition.csv
"""
import argparse
import itertools
import json
import math
import random
from pathlib import Path

ROUNDS = ("round,version,cohort,accepted,failed,train_loss,test_loss,test_accuracy,bytes_down,bytes_up,staleness_mean,wall_s,pull_down_s,"
          "train_s,barrier_s,aggregate_s,server_step_s,evaluate_s,left_behind,in_flight,virtual_s")
CLIENTS = ("round,client_id,worker,slot,num_examples,steps,train_loss,update_norm,update_hash,seconds,failure,sent_round,staleness")
NUM_PARAMETERS = 21840
WORKERS = 2

CONFIG = """name: {name}
seed: {seed}
rounds: {rounds}
device: cpu
workers: {workers}
threads: 1
clock: {clock}

data:
    format: glyphs
    num_train: {examples}
    num_test: 1000
    normalize: {{mean: [0.1138], std: [0.2068]}}
    partition: {partition}

model: {{name: mnist_cnn, dropout: false}}

training:
    cohort: {clients}
    local_epochs: 2
    batch_size: 32
    clients_per_slot: 1
    optimizer: {{name: sgd, lr: {lr}, momentum: 0.5, weight_decay: 0, nesterov: false}}

strategy: {{name: {strategy}, weighting: {weighting}, server_lr: {server_lr}}}
mode: {{name: {mode}}}
evaluation: {{every: {every}, chunk_size: 500}}
stop: {{test_accuracy: 0.9999}}
failures: {{policy: drop, attempts: 3, min_updates: 1, deadline_s: 300}}
checkpoint: {{every: auto, keep: 2}}
"""
DEFAULTS = {"name": "made_up", "seed": 1, "rounds": 10, "workers": WORKERS, "clock": "virtual", "clients": 4, "lr": 0.05, "alpha": None,
            "mode": "synchronous", "every": 1, "examples": 6000, "strategy": "fedavg", "weighting": "examples", "server_lr": 1}


def partition_sizes(draw, clients, examples, alpha):
    """Number of examples per client and label; skewed for small alpha."""
    shares = [[draw.gammavariate(alpha or 50.0, 1.0) for _ in range(10)] for _ in range(clients)]
    sums = [sum(share[label] for share in shares) for label in range(10)]
    return [[max(1, round(examples / 10 * share[label] / sums[label])) for label in range(10)] for share in shares]


def client_rows(draw, config, round_number, sizes, start_s, loss, bare):
    """Returns a round's rows, and (accepted, failed, seconds of the slowest worker)."""
    rows, at, failed = [], [start_s] * config["workers"], 0
    for client, counts in enumerate(sizes):
        worker, examples = client % config["workers"], sum(counts)
        head = f"{round_number},{client},{worker},{client},{examples}"
        if draw.random() < 0.03:
            failed += 1
            rows.append(f"{head},,,,,,{draw.choice(['dropped', 'late', 'exception'])},{round_number},0" + ("" if bare else ","))
            continue
        seconds = examples * draw.uniform(0.9, 1.1) * 2e-4
        stale = draw.randrange(3) if config["mode"] == "async" else 0
        rows.append(f"{head},{2 * math.ceil(examples / 32)},{loss * draw.uniform(0.8, 1.2):.17g},{draw.uniform(0.5, 2):.17g},"
                    f"{draw.getrandbits(64):016x},{seconds:.6f},,{max(1, round_number - stale)},{stale}" + ("" if bare else f",{at[worker]:.6f}"))
        at[worker] += seconds
    return rows, (len(sizes) - failed, failed, max(at) - start_s)


def tables(draw, config, sizes, done, bare):
    """(lines of rounds.csv, lines of clients.csv, total seconds, last test loss and accuracy)."""
    rounds, clients, now = [ROUNDS + ("" if bare else ",started_s")], [CLIENTS + ("" if bare else ",started_s")], 0.4
    rate = float(config["lr"])
    speed, best = 0.6 * rate / 0.05 / (1 + (rate / 0.15) ** 2), 0.985 if config["alpha"] is None else 0.90
    tested = (math.nan, math.nan)
    for number in range(1, done + 1):
        progress = 1 - math.exp(-speed * number)
        accuracy = 0.1 + (best - 0.1) * progress * draw.uniform(0.985, 1.0)
        loss = 2.3 * (1 - progress) + 0.06 * draw.uniform(0.9, 1.2)
        rows, (accepted, failed, train_s) = client_rows(draw, config, number, sizes, now, loss, bare)
        clients += rows
        phases = [0.0002, train_s, 0.0001, 0.0004, 0.00003, 0.02]
        evaluated = number % config["every"] == 0 or number == done
        if evaluated:
            tested = (loss * 0.9, accuracy)
        stale = 1.0 if config["mode"] == "async" else 0
        virtual = f"{number * 1.3092:.17g}" if config["clock"] == "virtual" else ""
        size = 4 * NUM_PARAMETERS * len(sizes)
        row = [number, number, len(sizes), accepted, failed, f"{loss:.17g}", f"{tested[0]:.17g}" if evaluated else "",
               f"{accuracy:.4f}" if evaluated else "", size, size, stale, f"{sum(phases):.6f}", *(f"{phase:.6f}" for phase in phases), 0, 0,
               virtual]
        rounds.append(",".join(map(str, row)) + ("" if bare else f",{now:.6f}"))
        now += sum(phases)
    return rounds, clients, now, tested


def manifest_of(config, exit_status, done, wall_s, tested):
    over = exit_status != "running"
    found = {"schema": 1, "name": config["name"], "exit_status": exit_status, "started": "2026-11-21T04:05:06Z",
             "finished": "2026-11-21T04:06:07Z" if over else None, "fedhive": "0.1.0", "commit": "14a1a11d45ab", "libtorch": "2.11.0",
             "cpu_capability": "AVX512", "cpu": "AMD EPYC", "cores": 2, "device": "cpu", "cuda": "runtime none · driver none · no device",
             "workers": config["workers"], "threads": 1, "seed": config["seed"], "strategy": "fedavg", "mode": config["mode"],
             "num_clients": config["clients"], "num_parameters": NUM_PARAMETERS, "layout_fingerprint": "601f8d0712740d50",
             "data_fingerprint": "a2e19dc4fb69775e", "version": done, "model_sha256": "c4" * 32 if over else None,
             "test_loss": tested[0], "test_accuracy": tested[1],
             "wall_s": {"total": wall_s, "pull_down": 0.0, "train": wall_s, "barrier": 0.0, "aggregate": 0.0, "server_step": 0.0,
                        "evaluate": 0.02 * done}, "round": done, "in_flight": 0, "resumed": 0, "other_bits": [],
             "failures": {"failures": 0, "retried": 0, "dropped": 0, "workers_replaced": 0, "deaths_in_a_row": 0}}
    if done == 0:
        del found["test_loss"], found["test_accuracy"]
    return found


def event_lines(config, exit_status, clients):
    events = [{"event": "started", "rounds": config["rounds"], "workers": config["workers"]}]
    for row in clients[1:]:
        cells = row.split(",")
        if cells[10]:
            events.append({"event": "failure", "kind": cells[10], "worker": int(cells[2]), "client": int(cells[1]), "round": int(cells[0]),
                           "attempt": 1, "action": "dropped", "message": f"client {cells[1]} was dropped"})
    if exit_status == "finished":
        events.append({"event": "finished", "version": config["rounds"]})
    elif exit_status != "running":
        events.append({"event": "stopped", "exit_status": exit_status})
    return "".join(json.dumps({"time": "2026-11-21T04:05:06Z", **event}) + "\n" for event in events)


def make_run(folder, exit_status="finished", done=None, torn=False, bare=False, **changes):
    """Writes a run. `exit_status` of the manifest; None: no manifest; `done`: finished rounds; `torn`: last lines are cut."""
    config = DEFAULTS | changes
    done = config["rounds"] if done is None else done
    draw = random.Random(f"{config['seed']} {config['lr']} {config['alpha']}")
    sizes = partition_sizes(draw, config["clients"], config["examples"], config["alpha"])
    rounds, clients, wall_s, tested = tables(draw, config, sizes, done, bare)
    folder = Path(folder)
    folder.mkdir(parents=True)
    scheme = "iid" if config["alpha"] is None else f"dirichlet, alpha: {config['alpha']}"
    text = CONFIG.format(**config, partition=f"{{scheme: {scheme}, clients: {config['clients']}}}")
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    for name, lines in (("rounds.csv", rounds), ("clients.csv", clients)):
        content = "\n".join(lines) + "\n"
        (folder / name).write_text(content[:-9] if torn else content, encoding="utf-8")
    (folder / "events.jsonl").write_text(event_lines(config, exit_status or "running", clients), encoding="utf-8")
    if not bare:
        header = "client_id,num_examples," + ",".join(f"label_{label}" for label in range(10))
        rows = [f"{client},{sum(counts)}," + ",".join(map(str, counts)) for client, counts in enumerate(sizes)]
        (folder / "partition.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    if exit_status is not None:
        manifest = manifest_of(config, exit_status, done, wall_s, tested)
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return text


SUMMARY = ("seed,rounds,version,final_test_loss,final_test_accuracy,best_test_accuracy,best_round,rounds_to_target,failed,bytes_down,bytes_up,"
           "virtual_s,model_sha256,wall_s,cpu_s,peak_bytes,workers,attempts,failures,reason")


def summary_row(sweep, run, folder):
    """A row of summary.csv from the run's rounds.csv, as far as it exists."""
    file = folder / "runs" / run["id"] / "rounds.csv"
    lines = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else [[]]
    rows = [dict(zip(lines[0], line)) for line in lines[1:] if len(line) == len(lines[0])]
    tested = [row for row in rows if row["test_accuracy"]]
    best = max(tested, key=lambda row: float(row["test_accuracy"]), default={})
    last = tested[-1] if tested else {}
    reached = next((row["round"] for row in tested if float(row["test_accuracy"]) >= sweep["target_accuracy"]), "")
    sums = [sum(int(row[name]) for row in rows) for name in ("failed", "bytes_down", "bytes_up")]
    cells = [f'"{run["id"]}"', run["status"], *run["settings"].values(), run["seed"], len(rows), len(rows), last.get("test_loss", ""),
             last.get("test_accuracy", ""), best.get("test_accuracy", ""), best.get("round", ""), reached, *sums,
             rows[-1]["virtual_s"] if rows else "", "c4" * 32, run["wall_s"], run["cpu_s"], run["peak_bytes"], run["workers"],
             run["attempts"], sums[0], f'"{run["reason"]}"']
    return ",".join(map(str, cells))


# Possible states of a sweep's run: (state in sweep.json, the manifest's exit_status, share of finished rounds, torn, reason).
FATES = {
    "finished": ("finished", "finished", 1.0, False, ""),
    "stopped": ("stopped", "paused after round 3", 0.3, False, "rank 7 of 9 after round 3"),
    "failed": ("failed", "failed: client 2: the update has a value that is not finite", 0.5, False, "the update has a value that is not finite"),
    "killed": ("running", "running", 0.6, True, ""),
    "interrupted": ("waiting", "interrupted by SIGINT", 0.4, False, ""),
    "paused": ("paused", "paused after round 2", 0.2, False, ""),
    "waiting": ("waiting", None, 0.0, False, ""),
}


def make_sweep(folder, rates=(0.01, 0.05, 0.1), alphas=(None, 0.3), seeds=2, fates=None, target=0.9, bare=False, **changes):
    """A sweep over client rates and partitions; `fates`: states of its runs in turn, keys of FATES; default: all finished."""
    folder = Path(folder)
    (folder / "configs").mkdir(parents=True)
    fates = itertools.cycle(fates or ["finished"])
    keys = ["training.optimizer.lr", "data.partition.scheme", "data.partition.alpha"]
    runs = []
    for lr, alpha, seed in itertools.product(rates, alphas, range(1, seeds + 1)):
        settings = dict(zip(keys, (str(lr), "iid" if alpha is None else "dirichlet", "" if alpha is None else str(alpha))))
        run_id = "+".join([f"{key.rsplit('.', 1)[-1]}-{value}" for key, value in settings.items() if value] + [f"seed-{seed}"])
        status, exit_status, share, torn, reason = FATES[next(fates)]
        config = DEFAULTS | {"name": "made_up_sweep"} | changes | {"lr": lr, "alpha": alpha, "seed": seed}
        run_folder, done = folder / "runs" / run_id, max(1, int(share * config["rounds"]))
        if exit_status is None:
            scheme = "iid" if alpha is None else f"dirichlet, alpha: {alpha}"
            text = CONFIG.format(**config, partition=f"{{scheme: {scheme}, clients: {config['clients']}}}")
        else:
            text = make_run(run_folder, exit_status, done, torn, bare, **config)
        (folder / "configs" / f"{run_id}.yaml").write_text(text, encoding="utf-8")
        runs.append({"id": run_id, "status": status, "reason": reason, "seed": seed, "settings": settings, "config_hash": "ab" * 32,
                     "rounds": config["rounds"], "workers": config["workers"], "attempts": int(exit_status is not None), "wall_s": 3.5 * share,
                     "cpu_s": 6.1 * share, "peak_bytes": 400_000_000, "estimate_s": 7.0})
    sweep = {"schema": 1, "kind": "sweep", "name": "made_up_sweep", "file": "/made/up/sweep.yaml", "fedhive": "0.1.0",
             "commit": "14a1a11d45ab", "started": "2026-11-21T04:05:06Z", "finished": "2026-11-21T04:25:06Z", "exit_status": "finished",
             "keys": keys, "target_accuracy": target, "early_stopping": {"rule": "none", "first_round": 1, "factor": 3}, "jobs": 2, "cores": 2,
             "wall_s": 1200.0, "runs": runs, "gone": []}
    (folder / "sweep.json").write_text(json.dumps(sweep, indent=1) + "\n", encoding="utf-8")
    header = ",".join(["run,status", *keys, SUMMARY])
    (folder / "summary.csv").write_text("\n".join([header, *(summary_row(sweep, run, folder) for run in runs)]) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    for name, default in (("rates", 3), ("partitions", 2), ("seeds", 2), ("rounds", 10), ("clients", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("broken", "bare"):
        parser.add_argument(f"--{name}", action="store_true")
    given = parser.parse_args()
    rates = [float(f"{10 ** (-2.5 + 2 * index / max(1, given.rates - 1)):.2g}") for index in range(given.rates)]
    alphas = [None, *(float(f"{10 ** (-1 + index):.2g}") for index in range(given.partitions - 1))]
    fates = ["finished"] * 7 + [name for name in FATES if name != "finished"] if given.broken else None
    make_sweep(given.folder, rates, alphas, given.seeds, fates, bare=given.bare, rounds=given.rounds, clients=given.clients)


if __name__ == "__main__":
    main()
