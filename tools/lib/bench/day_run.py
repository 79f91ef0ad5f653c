"""One run of fedhive on a first day on a GPU (day.py), and what is watched of the device meanwhile."""
import csv
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench import measure, sides, workloads

# Settings of `training` by form of the local steps; those of `together` train as many clients at once as a cohort has, up to 32.
FORMS = {"direct": {"engine": "direct"}, "eager": {"engine": "libtorch"}, "recorded": {"engine": "libtorch", "graph": True},
         "batched": {"engine": "libtorch", "together": True}, "recorded and batched": {"engine": "libtorch", "graph": True, "together": True}}


def doctor_of(programs):
    """What fedhive says of the machine and of itself. Throws measure.Failed."""
    return json.loads("\n".join(measure.run([programs / "fedhive", "doctor", "--json"])[0]))


@dataclass
class Day:
    programs: Path
    device: str
    out: Path
    part_s: float
    rounds: int
    quick: bool
    pattern: str
    began: float = field(default_factory=time.monotonic)

    def left_s(self):
        return self.part_s - (time.monotonic() - self.began)

    def workers(self):
        return (1, 2) if self.quick else (1, 2, 4, 8, 16)

    def workload(self, name):
        found = next(workload for workload in workloads.training(Path(), True) if workload["id"] == name)
        found = {**found, "rounds": min(found["rounds"], self.rounds), "evaluate_every": 0, "num_test": 0}
        if not self.quick:
            return found
        few = {**workloads.quick(found), "rounds": min(3, self.rounds)}
        # Enough for a GPU that is emulated, which takes hundredths of a second an example.
        return {**few, "examples": [4] * few["clients"]} if self.device == "cuda" else few

    def forms(self):
        """What these programs can train with: LibTorch may be missing, or its CUDA. Recorded steps exist on a GPU only."""
        said, cuda = doctor_of(self.programs), self.device == "cuda"
        libtorch = said["libtorch_with_cuda"] if cuda else said["libtorch"] != "none"
        return {name: form for name, form in FORMS.items() if form["engine"] == "direct" or libtorch and (cuda or "graph" not in form)}


def config_of(day, workload, workers, form, more=None):
    settings = {key: value for key, value in form.items() if key != "together"}
    if "together" in form:
        together = 1 << (min(32, workload["cohort"]) - 1).bit_length()
        settings.update(clients_per_slot=together, clients_at_once=together)
    config = json.loads(workloads.to_yaml(workload, day.device, settings))
    return json.dumps({**config, "workers": workers, "checkpoint": {"every": workloads.NEVER}, **(more or {})})


class Run:
    """One run of fedhive in a folder of its own; what it left is read before the folder goes."""

    def __init__(self, day, config):
        self.day, self.folder = day, Path(tempfile.mkdtemp(prefix="fedhive-day-"))
        (self.folder / "config.yaml").write_text(config)
        self.out = self.folder / "run"
        self.process = subprocess.Popen([day.programs / "fedhive", "run", self.folder / "config.yaml", "--out", self.out, "--quiet"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.peak_mib = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def children(self):
        try:
            return [int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]
        except OSError:
            return []

    def rounds_done(self):
        try:
            return max(0, (self.out / "rounds.csv").read_bytes().count(b"\n") - 1)
        except OSError:
            return 0

    def end(self, watch=lambda: None, pause_s=0.05):
        """Calls `watch` every so often. Throws measure.Failed with fedhive's last line, or when the part's time is over."""
        while self.process.poll() is None:
            if self.day.left_s() < 0:
                raise measure.Failed("cut off: the part's time is over")
            watch()
            time.sleep(pause_s)
        if self.process.returncode != 0:
            raise measure.Failed((self.process.stderr.read().strip().splitlines() or ["it said nothing"])[-1])
        return json.loads((self.out / "manifest.json").read_text())

    def round_s(self):
        with open(self.out / "rounds.csv", newline="") as file:
            rows = [{key: float(value or "nan") for key, value in row.items()} for row in csv.DictReader(file)]
        return measure.steady(sides.round_seconds(rows))


class DeviceMemory:
    """Memory in use on the first GPU, of all processes, by NVML, which needs no process or context of its own."""

    def __init__(self, library="libnvidia-ml.so.1"):
        self.device = None
        try:
            self.nvml, device = ctypes.CDLL(library), ctypes.c_void_p()
            if self.nvml.nvmlInit_v2() == 0 and self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0:
                self.device = device
        except (OSError, AttributeError):
            pass

    def mib(self):
        """Used memory of the device, MiB; None if NVML does not tell."""
        total_free_used = (ctypes.c_ulonglong * 3)()
        if self.device is None or self.nvml.nvmlDeviceGetMemoryInfo(self.device, total_free_used) != 0:
            return None
        return total_free_used[2] / 2**20
