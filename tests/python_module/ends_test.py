#!/usr/bin/env python3
"""Tests that the program ends with the Python that started it: Ctrl-C, kill -9, an error in between.

usage: ends_test.py [TestCase.test_name …]
"""
import os
import signal
import subprocess
import sys
import threading
import unittest
import unittest.mock

from support import CONFIG, LIBRARY, LONG, MARK, InFolder, marked, wait_until  # first: it says where fedhive is

import fedhive as fh
from fedhive import call, program

PROGRAM = """
import fedhive as fh
try:
    fh.{what}({config!r}, out="out", progress=False)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Ends(InFolder):
    def start(self, what="run", config=LONG, **how):
        """Starts a Python that runs what has no end, and returns it when rounds are done."""
        self.mark = f"{os.getpid()}-{self.id()}"
        process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(what=what, config=config)], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": LIBRARY, MARK: self.mark, "TMPDIR": str(self.folder)}, **how)
        self.addCleanup(process.stdout.close)
        self.addCleanup(self.kill_the_rest)
        pattern = "out/rounds.csv" if what == "run" else "out/runs/*/rounds.csv"
        begun = wait_until(lambda: any(path.read_bytes().count(b"\n") > 2 for path in self.folder.glob(pattern)))
        self.assertTrue(begun, "the run has not begun")
        self.assertGreaterEqual(len(marked(self.mark)), 3)  # Python, the coordinator, a worker
        return process

    def kill_the_rest(self):
        for pid in marked(self.mark):
            os.kill(pid, signal.SIGKILL)

    def assert_none_is_left(self, seconds=20):
        self.assertTrue(wait_until(lambda: not marked(self.mark), seconds), marked(self.mark))

    def test_ctrl_c_ends_a_run_in_order(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60)[0], "interrupted\n")
        self.assertEqual(marked(self.mark), {})
        self.assertEqual(fh.open("out").status, "interrupted by SIGINT")
        self.assertTrue((self.folder / "out/rounds.csv").read_bytes().endswith(b"\n"))

    def test_ctrl_c_of_a_terminal_reaches_the_program_once(self):
        process = self.start("sweep", {"base": LONG, "seeds": 1}, start_new_session=True)
        self.assertEqual([pid for pid in marked(self.mark) if os.getpgid(pid) == process.pid], [process.pid])
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of the group
        self.assertEqual(process.communicate(timeout=60)[0], "interrupted\n")
        self.assertEqual(marked(self.mark), {})
        sweep = fh.open("out")
        self.assertEqual(sweep.manifest["exit_status"], "interrupted by SIGINT")
        self.assertEqual([run.status for run in sweep.runs.values()], ["interrupted by SIGINT"])  # a second one would have killed it

    def test_a_killed_python_leaves_no_program(self):
        process = self.start()
        process.kill()
        process.wait()
        self.assert_none_is_left()
        self.assertEqual(fh.open("out").status, "interrupted by SIGTERM")

    def test_a_killed_python_leaves_no_sweep(self):
        process = self.start("sweep", {"base": LONG, "seeds": 2})
        process.kill()
        process.wait()
        self.assert_none_is_left()

    def test_a_program_that_does_not_listen_is_killed(self):
        (self.folder / "deaf").write_text("#!/bin/sh\ntrap '' INT TERM\necho begun\nwhile :; do sleep 1; done\n", encoding="utf-8")
        os.chmod("deaf", 0o755)
        self.mark = f"{os.getpid()}-deaf"
        with unittest.mock.patch.dict(os.environ, {"FEDHIVE_PROGRAM": "./deaf", MARK: self.mark}), \
                unittest.mock.patch.object(program, "_PATIENCE_S", (0.2, 0.2)):
            with self.assertRaises(ZeroDivisionError):
                program.call([], lambda line: 1 / 0)
        self.assert_none_is_left(0)

    def test_an_error_in_between_ends_the_run(self):
        self.mark = f"{os.getpid()}-error"
        with unittest.mock.patch.dict(os.environ, {MARK: self.mark}), unittest.mock.patch.object(call._Bar, "_show", side_effect=OSError("full")):
            with self.assertRaisesRegex(OSError, "full"):
                fh.run(LONG, out="out")
        self.assert_none_is_left(0)

    def test_a_program_that_is_killed_is_an_error_of_the_run(self):
        self.mark = f"{os.getpid()}-killed"

        def kill():
            if wait_until(lambda: (self.folder / "out/rounds.csv").is_file()):
                for pid in [pid for pid, command in marked(self.mark).items() if os.getpgid(pid) == pid]:
                    os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        with unittest.mock.patch.dict(os.environ, {MARK: self.mark}):
            killer.start()
            with self.assertRaisesRegex(fh.RunError, "the program was killed by signal 9") as caught:
                fh.run(LONG, out="out")
        killer.join()
        self.assertEqual(caught.exception.folder, self.folder / "out")
        self.assert_none_is_left()

    def test_runs_in_threads_are_apart(self):
        found = {}
        threads = [threading.Thread(target=lambda seed=seed: found.update({seed: fh.run(CONFIG, out=f"run-{seed}", seed=seed)})) for seed in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({seed: run.manifest["seed"] for seed, run in found.items()}, {1: 1, 2: 2})


if __name__ == "__main__":
    unittest.main()
