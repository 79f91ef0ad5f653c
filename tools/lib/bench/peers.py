"""The simulators that fedhive is measured against: what scripts/setup --peers installs, as sides of the bench."""
import json
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

MODELS = ("lr", "mlp", "mnist_cnn", "cnn_m")

# As fedhive and the ideal loop set them for themselves: glibc then keeps the memory of a step for the next one.
TUNED = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824", "MALLOC_TOP_PAD_": "16777216"}


@dataclass
class PeerSide:
    """A program in tests/bench/peers that takes a workload file and prints the lines of the bench."""

    name: str
    script: Path
    installed: Path
    torchrun: bool = False
    tuned: bool = False  # with raised thresholds of the allocator; else as installed

    def command(self, workload_json):
        python = self.python()
        if not self.torchrun:
            return [python, str(self.script), str(workload_json)]
        processes = json_of(workload_json)["processes"]
        return [python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", str(self.script), str(workload_json)]

    def python(self):
        return (self.installed / "installed").read_text().splitlines()[0]

    def environment(self):
        """Additions to the environment: their modules, one thread a process, compiled modules kept, nothing reported to anybody."""
        return {
            "PYTHONPATH": str(self.installed),
            "LD_LIBRARY_PATH": str(self.installed / "stubs"),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.installed / "compiled"),
            "OMP_NUM_THREADS": "1",
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_HOME": str(self.installed / "flower"),
            "RAY_USAGE_STATS_ENABLED": "0",
            **(TUNED if self.tuned else {}),
        }

    def supports(self, workload):
        return workload["model"] in MODELS and workload["data"] in ("random", "mnist")


def json_of(path):
    return json.loads(Path(path).read_text())


def sides(root):
    """All of them, with their versions, each as installed and with the allocator tuned; none where they are not installed."""
    installed = Path(root) / ".deps" / "peers"
    if not (installed / "installed").exists():
        return []
    versions = {found.name.lower(): found.version for found in metadata.distributions(path=[str(installed)])}
    scripts = Path(root) / "tests" / "bench" / "peers"
    peers = [
        PeerSide(f"pfl-research {versions['pfl']}", scripts / "with_pfl.py", installed, torchrun=True),
        PeerSide(f"Flower {versions['flwr']}", scripts / "with_flower.py", installed),
        PeerSide(f"torch.multiprocessing {versions['torch']}", scripts / "with_multiprocessing.py", installed),
    ]
    return [side for peer in peers for side in (peer, replace(peer, name=f"{peer.name}, tuned", tuned=True))]
