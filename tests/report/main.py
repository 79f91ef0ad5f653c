"""Runs the tests of scripts/report in one module of this folder: python3 main.py test_load [Case.method …]

The packages are those that scripts/setup --report installs into .deps/report; without them the module is skipped with a
message.
"""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
    sys.path[:0] = [str(ROOT / ".deps/report"), str(ROOT / "scripts/lib"), str(ROOT / "tests/report")]
    try:
        import jinja2, matplotlib, pandas, pyarrow, scipy, tensorboardX, yaml  # noqa: E401, F401
    except ImportError as missing:
        print(f"[skipped] {missing}; scripts/setup --report installs it")
        sys.exit(0)
    unittest.main(module=sys.argv[1], argv=[sys.argv[0], *sys.argv[2:]])
