"""One run's folder as a Run: its tables, its manifest, and what has become of it. Never takes the lock, never writes.

What is torn, missing or half-written is left out, and `problems` says so: a report shows a broken run, it does not break.
"""
import csv
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import yaml

from fedhive.lock import lock_holder
from report.files import FileProblem, read_text
from report.metric import metric_of_columns

STATUSES = ("finished", "running", "paused", "interrupted", "failed", "killed", "stopped", "waiting", "damaged")
# What `fedhive columns --json` prints: of each table its columns, in their order. A run of another version or task may have others.
TABLES = json.loads(Path(__file__).with_name("columns.json").read_text(encoding="utf-8"))
ROUNDS_COLUMNS = [column["name"] for column in TABLES["rounds.csv"]]
CLIENTS_COLUMNS = [column["name"] for column in TABLES["clients.csv"]]
TEXT_COLUMNS = tuple(dict.fromkeys(column["name"] for table in TABLES.values() for column in table if column["text"]))


@dataclass
class Run:
    path: Path
    label: str                # short, unique in the report
    config: dict              # config.yaml
    manifest: dict            # {} where there is none
    rounds: pd.DataFrame      # rounds.csv; with its columns, but no row, where there is none
    clients: pd.DataFrame     # clients.csv; update_hash and failure are texts, "" for none
    events: list              # events.jsonl, a dict a line
    partition: pd.DataFrame   # partition.csv; empty where there is none
    status: str               # one of STATUSES
    problems: list            # texts such as "rounds.csv: 1 torn line skipped"
    settings: dict = field(default_factory=dict)  # key -> text: the keys the sweep varies, or in which the runs of this report differ
    seed: int | None = None
    seeds: dict = field(default_factory=dict)     # seeds.data, seeds.model, … -> text, as far as the run has seeds of their own for them
    group: str = ""           # the label without the seed: runs of a group differ in the seed only
    case: str = ""            # what its sweep file calls the case it belongs to
    reason: str = ""          # why it failed, was stopped, interrupted or paused
    planned_rounds: int | None = None
    fairness: pd.DataFrame = field(default_factory=pd.DataFrame)         # fairness.csv; empty where there is none
    on_clients: pd.DataFrame = field(default_factory=pd.DataFrame)       # client_accuracy.csv or client_mse.csv, likewise

    @property
    def metric(self):
        return metric_of_columns(self.rounds.columns)

    def seed_of(self, key):
        """By which key its repetitions are told apart; one of its own falls back to `seed`."""
        return str(self.seed) if key == "seed" else self.seeds.get(key, str(self.seed))


class ConfigLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as the program reads it: 1e-05 is a number, and only true and false are truth values."""


ConfigLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, resolvers in ConfigLoader.yaml_implicit_resolvers.items()}
ConfigLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), "tf")
ConfigLoader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$"), "-+0123456789")


def read_config(file, problems):
    """The config as a nested dict; {} and a problem where it cannot be read."""
    try:
        config = yaml.load(read_text(file), ConfigLoader)
    except FileNotFoundError:
        problems.append(f"no {file.name}")
        return {}
    except (FileProblem, yaml.YAMLError) as error:
        problems.append(f"{file.name} cannot be read: {str(error).splitlines()[0]}")
        return {}
    if not isinstance(config, dict):
        problems.append(f"{file.name} is not a map")
        return {}
    return config


def read_json(file, problems):
    """(its object, whether it is whole); ({}, True) where there is no such file."""
    try:
        found = json.loads(read_text(file))
        if isinstance(found, dict):
            return found, True
        problems.append(f"{file.name} is not a JSON object")
    except FileNotFoundError:
        problems.append(f"no {file.name}")
        return {}, True
    except (FileProblem, ValueError) as error:
        problems.append(f"{file.name} cannot be read: {error}")
    return {}, False


def commas_of(line):
    """Those between cells; -1 where a quote is not closed."""
    if '"' not in line:
        return line.count(",")
    return -1 if line.count('"') % 2 else re.sub('"[^"]*"', "", line).count(",")


def read_table(file, columns, problems):
    """A CSV file by its header's names. Lines that are cut short or hold no numbers where numbers belong are skipped and counted."""
    try:
        text = read_text(file, errors="replace")
    except FileNotFoundError:
        return pd.DataFrame(columns=columns)
    except FileProblem as problem:
        problems.append(f"{file.name} cannot be read: {problem}")
        return pd.DataFrame(columns=columns)
    lines = text.split("\n")
    torn = int(lines.pop() != "")  # what the last newline does not end was cut, even where it has all its commas
    if not lines or not lines[0].strip():
        problems.append(f"{file.name}: no whole line")
        return pd.DataFrame(columns=columns)
    commas = lines[0].count(",")
    whole = [line for line in lines if commas_of(line) == commas]
    torn += len(lines) - len(whole)
    table = pd.read_csv(io.StringIO("\n".join(whole) + "\n"), dtype={name: str for name in TEXT_COLUMNS}, index_col=False,
                        quoting=csv.QUOTE_MINIMAL if '"' in text else csv.QUOTE_NONE)
    for name in table.columns.intersection(TEXT_COLUMNS):
        table[name] = table[name].fillna("")
    for name in table.columns.difference(TEXT_COLUMNS):
        if not pd.api.types.is_numeric_dtype(table[name]):
            numbers = pd.to_numeric(table[name], errors="coerce")
            good = numbers.notna() | table[name].isna()
            torn += int((~good).sum())
            table[name] = numbers
            table = table[good]
    if torn:
        problems.append(f"{file.name}: {torn} torn line{'s' if torn > 1 else ''} skipped")
    return table.reset_index(drop=True)


def read_events(file, problems):
    """The events in their order; lines that are no JSON objects are skipped and counted."""
    try:
        lines = read_text(file, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except FileProblem as problem:
        problems.append(f"{file.name} cannot be read: {problem}")
        return []
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    torn = len(lines) - len(events)
    if torn:
        problems.append(f"{file.name}: {torn} torn line{'s' if torn > 1 else ''} skipped")
    return events


def status_of(folder, manifest, whole, problems):
    """(status, reason) of a run by its manifest and, where that says running, by the lock."""
    exit_status = str(manifest.get("exit_status", ""))
    if not whole:
        return "damaged", "manifest.json cannot be read"
    if exit_status == "finished":
        return "finished", ""
    for status, sign in (("failed", "failed"), ("interrupted", "interrupted"), ("paused", "paused")):
        if exit_status.startswith(sign):
            return status, exit_status.removeprefix("failed: ")
    holder = lock_holder(folder)
    if holder is None:
        problems.append("whether it still runs is unknown: /proc/locks cannot be read")
        return "running", ""
    if holder != 0:
        return "running", ""
    return ("killed", "its process is gone; fedhive run --resume goes on from the newest checkpoint") if exit_status in ("running", "") \
        else ("damaged", f"manifest.json has an unknown exit_status: {exit_status}")


def is_run(folder):
    return any((folder / name).is_file() for name in ("config.yaml", "manifest.json", "rounds.csv"))


def number(value):
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def seeds_of(config, manifest):
    """{"seeds.model": "2", …} of the map `seeds` in the manifest or, where that has none, in the config."""
    for source in (manifest.get("seeds"), config.get("seeds")):
        if isinstance(source, dict):
            return {f"seeds.{name}": str(value) for name, value in source.items() if number(value) is not None}
    return {}


def read_run(folder, label):
    """The run in a folder, as far as it can be read; never throws for what stands in it."""
    problems = []
    config = read_config(folder / "config.yaml", problems)
    manifest, whole = read_json(folder / "manifest.json", problems)
    rounds = read_table(folder / "rounds.csv", ROUNDS_COLUMNS, problems)
    clients = read_table(folder / "clients.csv", CLIENTS_COLUMNS, problems)
    for name, table in (("rounds.csv", rounds), ("clients.csv", clients)):
        if not (folder / name).exists() and manifest.get("round"):
            problems.append(f"no {name}")
        if "round" not in table.columns:
            problems.append(f"{name} has no column round")
    if "round" not in rounds.columns:
        rounds = pd.DataFrame(columns=ROUNDS_COLUMNS)
    if "round" not in clients.columns:
        clients = pd.DataFrame(columns=CLIENTS_COLUMNS)
    partition_problems = []
    partition = read_table(folder / "partition.csv", [], partition_problems)
    tables = {"fairness": "fairness", "on_clients": f"client_{metric_of_columns(rounds.columns).name}"}
    on_clients = {field_: read_table(folder / f"{name}.csv", [], problems) for field_, name in tables.items() if (folder / f"{name}.csv").exists()}
    status, reason = status_of(folder, manifest, whole, problems)
    done, last = number(manifest.get("round")) or 1, int(rounds["round"].max()) if len(rounds) else 0
    if status == "finished" and last < done:
        status, reason = "damaged", f"finished after {done} round{'s' if done > 1 else ''}, says manifest.json, but rounds.csv " + (
            f"ends with round {last}" if last else "holds no row")
    seed = number(manifest.get("seed"))
    return Run(path=folder, label=label, config=config, manifest=manifest, rounds=rounds, clients=clients,
               events=read_events(folder / "events.jsonl", problems), partition=partition, status=status,
               problems=problems + partition_problems, seed=number(config.get("seed")) if seed is None else seed,
               seeds=seeds_of(config, manifest), reason=reason, planned_rounds=number(config.get("rounds")), **on_clients)


def waiting_run(folder, label, config_file):
    """A run of a sweep that has not begun."""
    problems = []
    config = read_config(config_file, problems)
    return Run(path=folder, label=label, config=config, manifest={}, rounds=pd.DataFrame(columns=ROUNDS_COLUMNS),
               clients=pd.DataFrame(columns=CLIENTS_COLUMNS), events=[], partition=pd.DataFrame(), status="waiting", problems=problems,
               seed=number(config.get("seed")), seeds=seeds_of(config, {}), planned_rounds=number(config.get("rounds")))
