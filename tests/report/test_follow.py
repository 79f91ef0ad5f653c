"""TensorBoard's files of a run that grows, is taken back by a resume, and ends."""
import contextlib
import fcntl
import io
import subprocess
import sys
import threading
import time
from unittest import mock

from report import follow
from report.__main__ import main
from support import ROOT, TemporaryFolder
from test_exports import scalars


class Growing(TemporaryFolder):
    """A run whose lock this process holds while it writes rounds.csv."""

    def setUp(self):
        super().setUp()
        self.run_folder = self.make("grown", "running", 6, rounds=6)
        self.lines = (self.run_folder / "rounds.csv").read_text().splitlines(keepends=True)
        self.write(0)
        self.lock = open(self.run_folder / ".lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.addCleanup(self.lock.close)

    def write(self, rounds, torn=""):
        (self.run_folder / "rounds.csv").write_text("".join(self.lines[:rounds + 1]) + torn)

    def steps(self):
        return [step for step, *_ in scalars(self.folder / "tb/grown", "train/loss")] if list(self.folder.glob("tb/grown/*")) else []

    def wait_for(self, steps):
        end = time.monotonic() + 60
        while self.steps() != steps:
            self.assertLess(time.monotonic(), end, self.steps())
            time.sleep(0.01)

    def test_rows_are_written_as_they_come_once_each_and_to_the_last(self):
        follower = threading.Thread(target=follow.follow, args=([self.run_folder], self.folder / "tb", 0.01))
        follower.start()
        self.write(2, torn=self.lines[3][:20])
        self.wait_for([1, 2])
        self.write(4)
        self.wait_for([1, 2, 3, 4])
        self.write(3)  # a resume repeats round 4 with other seconds
        self.wait_for([1, 2, 3])
        self.lines[4] = self.lines[4].replace(",", ",0", 1)
        self.write(4)
        self.wait_for([1, 2, 3, 4])
        self.assertTrue(follower.is_alive())
        self.write(6)
        self.lock.close()
        follower.join(60)
        self.assertFalse(follower.is_alive())
        self.assertEqual(self.steps(), [1, 2, 3, 4, 5, 6])
        self.assertEqual(len(list((self.folder / "tb/grown").iterdir())), 1)

    def test_the_command_ends_on_ctrl_c_with_whole_files(self):
        self.write(3)
        command = "import sys; sys.path[:0] = sys.argv[1:3]; sys.argv[1:3] = []; from report.__main__ import main; sys.exit(main())"
        process = subprocess.Popen([sys.executable, "-B", "-c", command, str(ROOT / ".deps/report"), str(ROOT / "scripts/lib"), str(self.run_folder), "--tensorboard",
                                    "--follow", "--no-figures", f"--out={self.folder / 'out'}"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.assertIn("following 1 run until the end or Ctrl-C: tensorboard --logdir", process.stdout.readline())
        end = time.monotonic() + 60
        while not list(self.folder.glob("out/tensorboard/grown/*")) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(2)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse((self.folder / "out/report.html").exists())

    def test_alone_it_says_nothing_and_is_refused(self):
        with mock.patch.object(sys, "argv", ["report", str(self.run_folder), "--follow"]), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(main(), 2)
        self.assertIn("--follow: says how --tensorboard is written; give both", said.getvalue())

    def test_a_run_that_is_over_is_written_at_once(self):
        self.lock.close()
        self.write(6)
        follow.follow([self.run_folder], self.folder / "tb")
        self.assertEqual(self.steps(), [1, 2, 3, 4, 5, 6])
