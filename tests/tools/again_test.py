"""tests/bench/again with a stand-in for fedhive: equal bits are recorded; different ones are reported and not recorded."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# `sweep` writes its configs and waits for an interrupt; `run` writes its manifest and a table of two rows.
STAND_IN = """#!/bin/bash
out=
previous=
for word in "$@"; do [ "$previous" = --out ] && out=$word; previous=$word; done
if [ "$1" = sweep ]; then
    trap 'exit 130' INT
    mkdir -p "$out/configs" && touch "$out/configs/seed-1.yaml" "$out/configs/seed-2.yaml"
    for i in {1..600}; do sleep 0.1; done
    exit 1
fi
mkdir -p "$out"
echo "$@" >>"$CALLS"
echo '{"commit": "fedcba987654", "model_sha256": "'"$SHA"'"}' >"$out/manifest.json"
printf 'round,accuracy\\n1,0.5\\n2,%s\\n' "$LAST" >"$out/table.csv"
"""


class Again(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(kept.name)
        self.program = self.folder / "fedhive"
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)

    def results(self, command, table, **manifest):
        (self.folder / "manifest.json").write_text(json.dumps({"commit": "0123456789ab", "commands": [command], **manifest}))
        (self.folder / "table.csv").write_text(table)

    def again(self, *arguments, sha="right", last="0.75"):
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, "-B", ROOT / "tests/bench/again", self.folder, "--program", self.program, *arguments], capture_output=True,
                              text=True, check=False, env={**os.environ, "SHA": sha, "LAST": last, "CALLS": str(calls)})
        self.said = done.stdout + done.stderr
        self.called = calls.read_text() if calls.exists() else ""
        return done.returncode

    def verified(self):
        return json.loads((self.folder / "manifest.json").read_text()).get("verified")

    def test_the_cheapest_row_of_a_sweep_or_the_one_named(self):
        self.results("fedhive sweep x.yaml --out DIR --jobs 1; its table.csv",
                     "run,status,model_sha256,cpu_s\nseed-1,finished,left,9\nseed-2,finished,right,4\nseed-3,failed,,1\n")
        self.assertEqual(self.again(), 0, self.said)
        self.assertIn("configs/seed-2.yaml", self.called)
        self.assertIsNone(self.verified())
        self.assertEqual(self.again("--record"), 0, self.said)
        self.assertEqual({**self.verified(), "date": ""},
                         {"commit": "fedcba987654", "date": "", "command": f"tests/bench/again {self.folder} --row seed-2"})
        self.assertEqual(self.again("--row", "seed-1"), 1)
        self.assertIn("not the same", self.said)
        self.assertIn("model_sha256: left -> right", self.said)
        self.assertEqual(self.again("--row", "seed-3"), 1)
        self.assertIn("no finished run 'seed-3'", self.said)

    def test_a_run_by_its_model_and_the_last_row(self):
        self.results("fedhive run x.yaml --out DIR; its table.csv", "round,accuracy\n1,0.4\n2,0.75\n", model_sha256="right")
        self.assertEqual(self.again(), 0, self.said)
        self.assertEqual(self.again("--record", last="0.76"), 1)
        self.assertIn("accuracy: 0.75 -> 0.76", self.said)
        self.assertEqual(self.again("--record", sha="wrong"), 1)
        self.assertIn("model_sha256: right -> wrong", self.said)
        self.assertIsNone(self.verified())

    def test_a_command_that_is_none_of_fedhives(self):
        self.results("tests/bench/soak", "")
        self.assertEqual(self.again(), 1)
        self.assertIn("'tests/bench/soak' is not", self.said)


if __name__ == "__main__":
    unittest.main()
