"""Runs the tests of one module of this folder: python3 main.py test_training [Case.method …]

All but test_sides need the packages of scripts/setup --peers; without them they are skipped with a message.
"""
import os
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = sys.pycache_prefix is None  # never beside the sources
sys.path[:0] = [str(ROOT / "tools/lib/bench"), str(ROOT / "tests/bench/peers"), str(ROOT / "tests/peers")]

if __name__ == "__main__":
    import peers

    if sys.argv[1] != "test_sides":
        installed = peers.sides(ROOT)
        if not installed:
            print("[skipped] .deps/peers is not there; scripts/setup --peers installs it")
            sys.exit(0)
        # The loader reads LD_LIBRARY_PATH only at a program's start.
        if "FEDHIVE_PEERS_TEST" not in os.environ:
            os.execve(installed[0].python(), [installed[0].python(), *sys.argv],
                      {**os.environ, **installed[0].environment(), "FEDHIVE_PEERS_TEST": "1"})
    unittest.main(module=sys.argv[1], argv=[sys.argv[0], *sys.argv[2:]])
