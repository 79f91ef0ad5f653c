"""Writes a table of findings with its commit and command: results/cuda_on_host/NAME/table.csv and manifest.json."""
import csv
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def said(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


class Record:
    """Commit and other facts of the current code."""

    def __init__(self, name):
        self.name, self.began = name, time.monotonic()
        self.folder = ROOT / "results/cuda_on_host" / name
        self.commit = said("git", "rev-parse", "--short=12", "HEAD")
        self.dirty = bool(said("git", "status", "--porcelain", "--", ".", ":!results", ":!*.md"))

    def rows(self):
        """The facts of an earlier record."""
        table = self.folder / "table.csv"
        if not table.exists():
            return []
        with open(table, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def write(self, rows):
        """`rows`: dicts with equal keys. If rows have commits of their own, the manifest gets the oldest."""
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        commits = {row.get("commit", self.commit) for row in rows}
        oldest = min(commits, key=lambda commit: int(said("git", "log", "-1", "--format=%ct", commit)))
        manifest = {
            "date": datetime.date.today().isoformat(), "commit": oldest, "dirty": self.dirty, "compiler": said("c++", "--version").splitlines()[0],
            "seconds": round(time.monotonic() - self.began), "commands": [f"tests/support/cuda_on_host/{self.name} {' '.join(sys.argv[1:])}"],
        }
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
