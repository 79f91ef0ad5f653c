"""scripts/report as a user calls it, and the commands in docs/reading.md."""
import contextlib
import io
import os
import re
import subprocess
import sys
from unittest import mock

from report import __main__ as program
from report import draw_partition
from support import ROOT, TemporaryFolder


def report(*arguments):
    return subprocess.run([ROOT / "scripts/report", *arguments], capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)


def report_here(*arguments):
    """(status, standard error) of what scripts/report calls, in this process: a new one takes seconds to load its packages."""
    said = io.StringIO()
    with mock.patch.object(sys, "argv", ["report", *map(str, arguments)]), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        return program.main(), said.getvalue()


class Command(TemporaryFolder):
    def test_all_that_is_asked_for_is_written_beside_the_first_folder(self):
        first, second = self.make("a", rounds=3), self.make("b", rounds=3, seed=2)
        done = report(first, second, "--markdown", "--latex", "--tensorboard", "--parquet", "--title", "Two <seeds>")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        self.assertIn(f"2 runs: {first}/report.html", done.stdout)
        text = (first / "report.html").read_text()
        self.assertIn("<title>Two &lt;seeds&gt;</title>", text)
        for name in ("tables.md", "latex/groups.tex", "latex/runs.tex", "tensorboard/a", "tensorboard/b", "parquet/rounds.parquet", "figures/curves_rounds.svg",
                     "figures/curves_rounds.png"):
            self.assertTrue((first / name).exists(), name)
        for name in re.findall(r'href="(figures/[^"]+)"', text):
            self.assertTrue((first / name).exists(), name)
        for file in (first / "latex").iterdir():
            self.assertEqual(file.read_text().count(r"\begin{tabular}"), 1, file)
        self.assertFalse((second / "report.html").exists())
        self.assertEqual(list(first.rglob("*.part")), [])
        self.assertEqual([*(ROOT / "scripts").rglob("__pycache__")], [])

    def test_out_names_another_folder_and_figures_can_be_left_out(self):
        done = report(self.make("a", rounds=2), f"--out={self.folder}/x/y", "--no-figures")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([child.name for child in (self.folder / "x/y").iterdir()], ["report.html"])

    def test_what_the_tables_look_like_can_be_chosen(self):
        sweep = self.make_sweep(rates=(0.05, 0.1), alphas=(None,), seeds=2, rounds=2)
        done = report("--labels", "lr=$\\eta$", "iid=IID", sweep, "--columns=final_test_accuracy", "--percent", "--baseline", "lr=0.1", "--latex",
                      "--no-figures", "--table", "rows=lr", "columns=scheme", "--spread=ci")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (sweep / "latex/pairs.tex").read_text()
        self.assertIn(r"$\eta$ & scheme & alpha & Pairs & Final acc. \% \\", text)
        self.assertIn("0.05 & IID & -- & 2 & ", text)
        text = (sweep / "latex/table.tex").read_text()
        self.assertIn(r" & \multicolumn{1}{c}{scheme} \\", text)
        self.assertIn("95 % interval", text)
        done = report(sweep, "--labels")
        self.assertEqual((done.returncode, "--labels needs KEY=NAME" in done.stderr), (2, True))
        done = report(sweep, "--table", "--latex")
        self.assertEqual((done.returncode, "--table needs rows=KEY columns=KEY" in done.stderr), (2, True))
        done = report(sweep, "--baseline=lr")
        self.assertEqual((done.returncode, "wants AXIS=VALUE" in done.stderr), (2, True))

    def test_a_table_in_latex_is_as_wide_as_paper_unless_columns_are_asked_for(self):
        runs = [self.make(f"{rounds}-{seed}", rounds=rounds, seed=seed) for rounds, seed in ((2, 1), (2, 2), (4, 1), (4, 2))]
        for asked, has_bytes in (([], False), (["--columns=final_test_accuracy,bytes_up"], True)):
            self.assertEqual(report_here(*runs, "--latex", "--markdown", "--no-figures", *asked), (0, ""))
            self.assertIn("Up, MB", (runs[0] / "tables.md").read_text())  # only a paper omits it, since it differs
            for table in ("groups", "runs"):
                text = (runs[0] / f"latex/{table}.tex").read_text()
                self.assertEqual("Up, MB" in text, has_bytes, table)
                self.assertLessEqual(max(line.count(" & ") + 1 for line in text.splitlines()), 8, table)

    def test_every_kind_of_broken_run_at_once_still_gives_a_report(self):
        fates = ["finished", "stopped", "failed", "killed", "interrupted", "paused", "waiting"]
        sweep = self.make_sweep(rates=(0.05,), seeds=4, fates=fates, rounds=5)
        (damaged,) = (sweep / "runs").glob("*alpha-0.3+seed-4")  # the second one that has finished
        (damaged / "manifest.json").write_text("{")
        self.assertEqual(report_here(sweep, "--out", self.folder / "out"), (0, ""))
        text = (self.folder / "out/report.html").read_text()
        for status in [*fates, "damaged"]:
            self.assertIn(f'class="status {status}"', text)

    def test_wrong_usage_ends_with_two(self):
        (self.folder / "empty").mkdir()
        for arguments, said in (((), "usage: scripts/report"), (("--no-such-flag",), "--no-such-flag"), (("x", "--out"), "there is no folder x"),
                                ((self.folder, "--out"), "--out needs a value"), ((self.folder / "empty",), "neither a run")):
            done = report(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
        self.assertEqual(report("-h").returncode, 0)

    def test_one_partition_is_drawn_in_each_form(self):
        table = self.make("a", rounds=2) / "partition.csv"
        done = report("--partition", table, self.folder / "dealt.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        self.assertIn(f"drawn: {self.folder}/dealt.svg (Training examples of each client", done.stdout)
        for ending, begin in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            draw_partition.main(table, self.folder / f"dealt.{ending}")
            self.assertTrue((self.folder / f"dealt.{ending}").read_bytes().startswith(begin), ending)
        with self.assertRaisesRegex(SystemExit, "dealt.svg cannot be written: No such file"):
            draw_partition.main(table, self.folder / "nowhere/dealt.svg")
        self.assertEqual(report("--partition", table).returncode, 2)

    def test_folder_that_cannot_be_written_is_named(self):
        (self.folder / "file").touch()
        status, said = report_here(self.make("a", rounds=2), "--out", self.folder / "file")
        self.assertEqual(status, 1)
        self.assertIn(f"{self.folder}/file: File exists. --out names another folder", said)


class Reading(TemporaryFolder):
    def test_what_the_document_tells_pandas_users_works(self):
        text = (ROOT / "docs/reading.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreaterEqual(len(snippets), 3)
        sweep = self.make_sweep(rates=(0.05, 0.1), alphas=(None,), seeds=2, rounds=4)
        self.make("DIR", rounds=4)
        self.assertEqual(report_here(sweep, "--no-figures", "--parquet", "--out", sweep), (0, ""))
        (self.folder / "SWEEP").symlink_to(sweep)
        (self.folder / "all.py").write_text("\n".join(snippets), encoding="utf-8")
        done = subprocess.run([sys.executable, "-B", "-W", "error", "all.py"], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(ROOT / ".deps/report"), "MPLBACKEND": "agg"})
        self.assertEqual(done.returncode, 0, done.stderr)
