"""Where and with what was measured: asked of the program itself, by a run of a moment."""
import datetime
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from bench import measure, workloads

KEPT = ("commit", "fedhive", "libtorch", "cpu_capability", "cpu", "cores", "device", "cuda")


def probe(fedhive, device):
    """The manifest of a run of a moment on that device. Throws measure.Failed with fedhive's words where it does not run there."""
    workload = {**workloads.quick(workloads.training(Path())[3]), "rounds": 1}
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "probe.yaml")
        config.write_text(workloads.to_yaml(workload, device))
        measure.run([fedhive, "run", config, "--out", f"{folder}/run", "--quiet"])
        return json.loads(Path(folder, "run", "manifest.json").read_text())


def has_gpu():
    """A device file of the driver's, or of Windows' below a Linux."""
    return any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


def gpu_name():
    """As its driver calls it; "GPU" where that does not say."""
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout
        return asked.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "GPU"


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def folder_name(manifest):
    """amd-epyc-2-cores, nvidia-h200"""
    return slug(manifest.get("gpu") or f"{manifest['cpu']} {manifest['cores']} cores")


def _ticks():
    """(time of all processors together, their idle time) since the machine started."""
    times = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(times), times[3] + times[4]


def busy_cores(seconds=1.0):
    """Processors that others keep busy now, in whole and in part. Not the load average, which still knows what this bench did a minute ago."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    passed, idle = after[0] - before[0], after[1] - before[1]
    return round((os.cpu_count() or 1) * (1 - idle / max(1, passed)), 2)


def describe(manifest, gpu, repeats, command):
    """Of table.md and manifest.json."""
    version = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    kept = {key: manifest[key] for key in KEPT}
    return {"date": datetime.date.today().isoformat(), **kept, "dirty": manifest["commit"].endswith("-dirty"), **({"gpu": gpu} if gpu else {}),
            "compiler": version[0] if version else "unknown", "workers": "auto" if gpu else workloads.PROCESSES, "threads": 1, "repeats": repeats,
            "busy_before": busy_cores(), "commands": [command]}
