"""Puts a table of what was found here beside the commit and the command it came of: results/cuda_on_host/NAME/table.csv and manifest.json."""
import csv
import datetime
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()


def record(name, rows, seconds):
    """`rows`: a map each, all with the same keys."""
    folder = ROOT / "results/cuda_on_host" / name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    manifest = {
        "date": datetime.date.today().isoformat(),
        "commit": git("rev-parse", "--short=12", "HEAD"),
        "dirty": bool(git("status", "--porcelain", "--", ".", ":!results", ":!*.md")),
        "compiler": subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0],
        "seconds": round(seconds),
        "commands": [f"tests/support/cuda_on_host/{name} --record"],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
