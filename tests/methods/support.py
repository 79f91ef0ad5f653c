"""What the tests of method files share. Python finds scripts/lib when this is imported."""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
here = Path(__file__).resolve().parent
root = here.parents[1]
sys.path.insert(0, str(root / "scripts/lib"))

from fedhive import method  # noqa: E402

EXAMPLES = sorted((root / "configs/methods").glob("*.py"))
PLACES = ("loss", "measure", "gradient", "second", "start", "end", "judge", "cohort", "server", "peers", "mix")


def box_of(text, name="mine.py"):
    """Returns the box of a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text("import fedhive as fh\n" + text, encoding="utf-8")
        return method.box_of(path)
