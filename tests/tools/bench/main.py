"""Runs the tests of tools/bench in one module of this folder: python3 main.py test_tables [Case.method …]

$FEDHIVE_BUILD is the folder of the programs; default build/release.
"""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
    sys.path[:0] = [str(ROOT / "tools/lib"), str(ROOT / "tests/tools/bench")]
    unittest.main(module=sys.argv[1], argv=[sys.argv[0], *sys.argv[2:]])
