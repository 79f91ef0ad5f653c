"""tools/check figures: figures in documents equal those of their files, and changes to the code behind them are reported."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/lib"))
import figures  # noqa: E402

CSV = "workload,side,figure,median\nw1,fedhive,speed,1.2073\nw1,torch 2.11,speed,0.9\nw2,fedhive,speed,1.15\nw1,fedhive,round_s,2.62\n"


class Project(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("results/bench/table.csv", CSV)
        self.write("results/soak/result.json", json.dumps({"rounds": 12000, "kinds": {"dropped": 3, "hung": 4}, "a b": {"c": 1}}))

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def check(self, text, **options):
        """(errors, warnings, the resulting document)"""
        self.write("README.md", text)
        found = figures.check(self.root, ["README.md"], **options)
        warned = [one for one in found if isinstance(one, figures.Warned)]
        return [one for one in found if one not in warned], warned, (self.root / "README.md").read_text(encoding="utf-8")

    def shown(self, spec):
        text = figures.figure(self.root, spec)
        self.assertEqual(text[0], spec.split()[0])
        return text[1]


class Sentences(Project):
    def test_values_are_chosen_by_their_row_and_written_as_asked(self):
        table, soak = "results/bench/table.csv", "results/soak/result.json"
        for spec, text in ((f"{table} workload=w1 side=fedhive figure=speed column=median format=.2f", "1.21"),
                           (f"{table} workload=w1 side=fedhive figure=speed column=median", "1.2073"),
                           (f"{table} workload=w1 'side=torch 2.11' figure=speed column=median format=.0%", "90%"),
                           (f"{table} figure=speed column=median of=max format=.1f", "1.2"),
                           (f"{table} figure=speed column=median of=min scale=1000 format=.0f", "900"),
                           (f"{table} workload=w1 of=count", "3"),
                           (f"{soak} key=rounds format=,d", "12,000"), (f"{soak} key=rounds", "12000"), (f"{soak} key=kinds", "7"),
                           (f"{soak} key='kinds.hung+a b'", "5")):
            self.assertEqual(self.shown(spec), text, spec)

    def test_what_cannot_be_followed_says_why(self):
        for spec, said in (("results/none.csv column=a", "results/none.csv: No such file"),
                           ("results/bench/table.csv workload=w1 column=median", "3 rows of results/bench/table.csv are meant, and not one"),
                           ("results/bench/table.csv workload=w9 column=median", "0 rows of"),
                           ("results/bench/table.csv worklod=w1 column=median", "has no column worklod; it has workload, side"),
                           ("results/bench/table.csv workload=w2 column=mean", "has no column 'mean'"),
                           ("results/bench/table.csv workload=w2 column=side format=.2f", "format=.2f of 'fedhive'"),
                           ("results/bench/table.csv of=sum column=median", "of=sum: allowed: max, min"),
                           ("results/soak/result.json key=kinds.lost", "has no key 'kinds.lost'"),
                           ("results/soak/result.json rounds", "'rounds' is not NAME=VALUE")):
            wrong, _, _ = self.check(f"one\n\n<!-- figure: {spec} -->1<!-- /figure -->\n")
            self.assertEqual(len(wrong), 1)
            self.assertTrue(wrong[0].startswith("README.md:3: "), wrong)
            self.assertIn(said, wrong[0])

    def test_a_figure_that_is_not_the_files_is_found_and_renewed(self):
        spec = "results/bench/table.csv workload=w2 column=median format=.2f"
        right = f"is <!-- figure: {spec} -->1.15<!-- /figure --> and <!-- figure: {spec} -->1.15<!-- /figure -->.\n"
        self.assertEqual(self.check(right)[0], [])
        wrong, _, _ = self.check("x\n" + right.replace("1.15", "1.25", 1))
        self.assertEqual(wrong, ["README.md:2: shows 1.25, but results/bench/table.csv says 1.15; tools/check figures --write"])
        wrong, _, text = self.check(right.replace("1.15", "1.25"), write=True)
        self.assertEqual((wrong, text), ([], right))

    def test_marks_in_code_are_examples_and_halves_are_mistakes(self):
        example = "`<!-- figure: nothing.csv -->1<!-- /figure -->`\n\n```\n<!-- figure: x.csv -->2<!-- /figure -->\n```\n"
        self.assertEqual(self.check(example)[0], [])
        for half in ("<!-- figure: results/soak/result.json key=rounds -->12000\n", "12000<!-- /figure -->\n", "<!-- table: x.csv\n-->\n| a |\n"):
            wrong, _, text = self.check(half, write=True)
            self.assertEqual(wrong, ["README.md:1: has no other half, or another mark inside"])
            self.assertEqual(text, half)


class Quotes(Project):
    def test_readme_has_the_rows_of_the_page_of_figures(self):
        self.write("docs/figures.md", f"{Tables.HEAD}{Tables.BODY}<!-- /table -->\n")
        mine = f"| a | b |\n|---|---|\n| 1 | 2 |\n\n{Tables.BODY}\nend\n"
        self.assertEqual(self.check(mine)[0], [])
        wrong, _, _ = self.check(mine.replace("1.21", "1.31"))
        self.assertEqual(wrong, ["README.md:5: this table is another in docs/figures.md; tools/check figures --write"])
        self.assertEqual(self.check(mine.replace("1.21", "1.31"), write=True), ([], [], mine))
        self.assertEqual(self.check("no table\n")[0], ["README.md: quotes no table of docs/figures.md"])


class Tables(Project):
    HEAD = ("<!-- table: results/bench/table.csv figure=speed\npivot: workload, side, median\nrows: workload = w2, w1\nname: w1 = the first\n"
            "column: Workload = {workload}\ncolumn: fedhive = **{fedhive:.2f}**\ncolumn: torch = {torch:.1f}\n-->\n")
    BODY = "| Workload | fedhive | torch |\n|---|---|---|\n| w2 | **1.15** | – |\n| the first | **1.21** | 0.9 |\n"

    def test_rows_are_in_the_order_given_and_names_may_be_cut_short(self):
        self.assertEqual(self.check(f"a\n\n{self.HEAD}{self.BODY}<!-- /table -->\n")[0], [])

    def test_a_table_that_is_not_the_files_is_found_and_renewed(self):
        wrong, _, _ = self.check(f"a\n\n{self.HEAD}{self.BODY.replace('1.21', '1.20')}<!-- /table -->\n")
        self.assertEqual(len(wrong), 1)
        self.assertTrue(wrong[0].startswith("README.md:11: shows | Workload"), wrong)
        for before in ("", "| old |\n"):
            wrong, _, text = self.check(f"{self.HEAD}{before}<!-- /table -->\nend\n", write=True)
            self.assertEqual((wrong, text), ([], f"{self.HEAD}{self.BODY}<!-- /table -->\nend\n"))

    def test_a_pivots_cell_may_show_several_columns(self):
        self.write("results/bench/table.csv", "workload,side,median,lowest,highest\nw1,fedhive,5.187,4.4,5.45\nw1,torch,0.953,0.85,0.968\n"
                                              "w2,fedhive,6,,7\nw2,torch,,,\n")
        for form, shown in (("{median:.2f} ({lowest:.2f}–{highest:.2f})", "| **5.19 (4.40–5.45)** | 0.95 (0.85–0.97) |\n| **6.00 (–7.00)** | – |"),
                            ("{lowest}, {highest:,.1f}", "| **4.4, 5.5** | 0.85, 1.0 |\n| **, 7.0** | – |")):
            head = f"<!-- table: results/bench/table.csv\npivot: workload, side, {form}\ncolumn: a = **{{fedhive}}**\ncolumn: b = {{torch}}\n-->\n"
            wrong, _, text = self.check(f"{head}<!-- /table -->\n", write=True)
            self.assertEqual((wrong, text), ([], f"{head}| a | b |\n|---|---|\n{shown}\n<!-- /table -->\n"))

    def test_means_are_over_the_rows_that_agree_in_the_columns_named(self):
        self.write("results/bench/table.csv", "side,case,seed,hits,sha\na,x,1,0.5,00ff\na,x,2,0.75,11\na,x,3,0.4,22\na,y,1,0.25,x\nb,x,1,,y\nb,x,2,0.125,z\n")
        head = ("<!-- table: results/bench/table.csv\nmeans: case, side\npivot: case, side, {hits:.3f} ± {hits_deviation:.3f}\n"
                "column: Case = {case}\ncolumn: a = {a}\ncolumn: b = {b}\n-->\n")
        wrong, _, text = self.check(f"{head}<!-- /table -->\n", write=True)
        body = "| Case | a | b |\n|---|---|---|\n| x | 0.550 ± 0.180 | 0.125 |\n| y | 0.250 | – |\n"
        self.assertEqual((wrong, text), ([], f"{head}{body}<!-- /table -->\n"))
        for line, said in (("means: case, seeds", "means: case, seeds: results/bench/table.csv has side, case"),
                           ("means: case, side\ncolumn: x = {sha}", "{sha} names 0 columns")):
            self.assertIn(said, self.check(f"<!-- table: results/bench/table.csv\n{line}\n-->\n<!-- /table -->\n")[0][0])

    def test_what_cannot_be_made_says_why(self):
        for line, said in (("pivot: workload, side", "wants three columns"), ("pivot: workload, {median}", "wants three columns"),
                           ("pivot: workload, side, {mean}", "{mean} names 0 columns"),
                           ("pivot: workload, side, {median:.1f} s\ncolumn: x = {fedhive:.2f}", "format=.2f of '2.6 s'"),
                           ("rows: workload = w9", "0 rows of results/bench/table.csv have"),
                           ("column: x = {speed}", "{speed} names 0 columns"), ("colum: x = y", "'colum: x = y': wants means")):
            wrong, _, _ = self.check(f"<!-- table: results/bench/table.csv\n{line}\n-->\n<!-- /table -->\n")
            self.assertEqual(len(wrong), 1, line)
            self.assertIn(said, wrong[0])


class Ages(Project):
    TEXT = "<!-- figure: results/soak/result.json key=rounds -->12000<!-- /figure -->\n"

    def git(self, *arguments):
        done = subprocess.run(["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments], capture_output=True,
                              text=True, check=True)
        return done.stdout.strip()

    def commit(self, name):
        self.write(name, "changed")
        self.git("add", "-A")
        self.git("commit", "-qm", "change", "--allow-empty")
        return self.git("rev-parse", "--short=12", "HEAD")

    def warnings(self):
        wrong, warned, _ = self.check(self.TEXT)
        self.assertEqual(wrong, [])
        return warned

    def test_figures_older_than_their_code_are_warned_of(self):
        self.git("init", "-q")
        commit = self.commit("sim/a.cpp")
        self.write("results/soak/manifest.json", json.dumps({"commit": commit, "commands": ["tests/bench/soak"]}))
        self.write("results/figures.yaml", "# a comment\nresults/soak/: [sim, tests/bench/soak]\nresults/: [docs]\n")
        self.commit("docs/b.md")
        self.assertEqual(self.warnings(), [])
        self.commit("sim/c.cpp")
        self.assertEqual(self.warnings(), [f"results/soak/result.json: measured at {commit}; since then 1 commit changed sim, tests/bench/soak; "
                                           "again with: tests/bench/soak"])
        self.write("results/soak/manifest.json", json.dumps({"commit": commit, "paths": ["clients"]}))
        self.assertEqual(self.warnings(), [])

    def test_code_that_is_left_out_and_commits_that_are_named_make_nothing_old(self):
        self.git("init", "-q")
        commit = self.commit("sim/a.cpp")
        self.write("results/soak/manifest.json", json.dumps({"commit": commit}))
        self.write("results/figures.yaml", "results/: [sim, !sim/sweep]\n")
        self.commit("sim/sweep/b.cpp")
        self.assertEqual(self.warnings(), [])
        self.commit("sim/b.cpp")
        self.assertEqual(self.warnings(), [f"results/soak/result.json: measured at {commit}; since then 1 commit changed sim, !sim/sweep"])
        self.write("results/figures.yaml", "results/: []\n")
        self.assertEqual(self.warnings(), [])

    def test_figures_of_a_tree_that_no_commit_has_are_warned_of(self):
        self.git("init", "-q")
        self.write("results/figures.yaml", "results/: [sim]\n")
        commit, later = self.commit("sim/a.cpp"), self.commit("docs/b.md")
        told = f"results/soak/result.json: measured at {commit} with changes that are in no commit"

        def measured(**manifest):
            self.write("results/soak/manifest.json", json.dumps(manifest))
            return self.warnings()

        self.assertEqual(measured(commit=commit, dirty=False), [])
        self.assertEqual(measured(commit=commit, dirty=True), [told])
        self.assertEqual(measured(commit=commit + "-dirty", commands=["tests/bench/soak"]), [told + "; again with: tests/bench/soak"])
        self.assertEqual(measured(commit=commit + "-dirty", verified={"commit": later}), [])
        self.assertEqual(measured(commit=commit, verified={"commit": later + "-dirty"}),
                         [f"results/soak/result.json: a part of it was last the same at {later} with changes that are in no commit"])
        self.commit("sim/c.cpp")
        self.assertEqual(measured(commit=commit, dirty=True), [told + "; since then 1 commit changed sim"])

    def test_what_was_verified_later_is_as_old_as_that(self):
        self.git("init", "-q")
        self.write("results/figures.yaml", "results/: [sim]\n")
        commit, later = self.commit("sim/a.cpp"), self.commit("sim/b.cpp")

        def verified_at(measured, verified):
            self.write("results/soak/manifest.json", json.dumps({"commit": measured, "verified": {"commit": verified, "date": "", "command": ""}}))
            return self.warnings()

        self.assertEqual(verified_at(commit, later), [])
        self.assertEqual(verified_at(later, commit), [])  # measured again since
        self.commit("sim/c.cpp")
        self.assertEqual(verified_at(commit, later), [f"results/soak/result.json: a part of it was last the same at {later}; since then 1 commit "
                                                      "changed sim"])
        self.assertEqual(verified_at(commit, "0123456789ab"), [f"results/soak/result.json: measured at {commit}; since then 2 commits changed sim"])

    def test_what_is_not_known_is_warned_of_too(self):
        self.git("init", "-q")
        self.commit("sim/a.cpp")
        self.assertEqual(self.warnings(), ["results/soak/result.json: no manifest says at which commit it was measured"])
        self.write("results/soak/manifest.json", json.dumps({"commit": "0123456789ab"}))
        self.assertEqual(self.warnings(), ["results/soak/result.json: results/figures.yaml does not say which code it measures"])
        self.write("results/figures.yaml", "results/soak/: [sim]\n")
        self.assertEqual(self.warnings(), ["results/soak/result.json: measured at 0123456789ab, which is not in this history"])
        self.write("results/figures.yaml", "results/soak/ sim\n")
        self.assertIn("results/figures.yaml:1: 'results/soak/ sim': wants FILE: [PATH, PATH]", self.check(self.TEXT)[0])

    def test_measurements_that_no_document_marks_have_an_age_too(self):
        self.git("init", "-q")
        commit = self.commit("sim/a.cpp")
        self.write("results/soak/manifest.json", json.dumps({"commit": commit}))
        self.write("results/modes/manifest.json", json.dumps({"commit": commit}))
        self.write("results/runs/mine/manifest.json", json.dumps({"commit": commit}))
        self.write(".gitignore", "results/runs\n")
        self.write("results/figures.yaml", "results/: [sim]\n")
        self.commit("sim/b.cpp")
        self.assertEqual([warning.partition(":")[0] for warning in self.warnings()], ["results/soak/result.json", "results/modes/manifest.json"])


class Command(Project):
    def test_the_check_fails_for_wrong_figures_and_not_for_old_ones(self):
        def run(*arguments):
            return subprocess.run([sys.executable, "-B", ROOT / "tools/lib/checks.py", "--root", self.root, *arguments, "figures"],
                                  capture_output=True, text=True, check=False)
        self.write("README.md", Ages.TEXT.replace("12000<", "11000<"))
        done = run()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\nfailed figures( \(\d+ s\))?\n  README.md:1: shows 11000")
        done = run("--write")
        self.assertEqual((done.returncode, (self.root / "README.md").read_text()), (0, Ages.TEXT))
        done = run()
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("warning results/soak/result.json: no manifest"), done.stdout)
        self.assertRegex(done.stdout, r"\nok figures( \(\d+ s\))?\n1 passed, 0 failed\n$")


if __name__ == "__main__":
    unittest.main()
