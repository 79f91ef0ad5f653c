"""The simulators that fedhive is measured against: what scripts/setup --peers installs, as sides of the bench."""
import json
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

MODELS = ("lr", "mlp", "mnist_cnn", "cnn_m")


@dataclass
class PeerSide:
    """A program in tests/bench/peers that takes a workload file and prints the lines of the bench."""

    name: str
    script: Path
    installed: Path
    torchrun: bool = False

    def command(self, workload_json):
        python = self.python()
        if not self.torchrun:
            return [python, str(self.script), str(workload_json)]
        processes = json_of(workload_json)["processes"]
        return [python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", str(self.script), str(workload_json)]

    def python(self):
        return (self.installed / "installed").read_text().splitlines()[0]

    def environment(self):
        """What is added to the environment: their modules, one thread a process, compiled modules kept, nothing reported to anybody."""
        return {
            "PYTHONPATH": str(self.installed),
            "LD_LIBRARY_PATH": str(self.installed / "stubs"),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.installed / "compiled"),
            "OMP_NUM_THREADS": "1",
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_HOME": str(self.installed / "flower"),
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    def supports(self, workload):
        return workload["model"] in MODELS and workload["data"] in ("random", "mnist")


def json_of(path):
    return json.loads(Path(path).read_text())


def sides(root):
    """All of them, with their versions; none where they are not installed."""
    installed = Path(root) / ".deps" / "peers"
    if not (installed / "installed").exists():
        return []
    versions = {found.name.lower(): found.version for found in metadata.distributions(path=[str(installed)])}
    scripts = Path(root) / "tests" / "bench" / "peers"
    return [
        PeerSide(f"pfl-research {versions['pfl']}", scripts / "with_pfl.py", installed, torchrun=True),
        PeerSide(f"Flower {versions['flwr']}", scripts / "with_flower.py", installed),
        PeerSide(f"torch.multiprocessing {versions['torch']}", scripts / "with_multiprocessing.py", installed),
    ]
