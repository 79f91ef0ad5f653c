"""The numbers of the tables against values computed by hand, and their text in Markdown and LaTeX."""
import math
import unittest

import pandas as pd
from report import tables
from report.load import load
from support import TemporaryFolder

HEADER = "round,version,cohort,accepted,failed,train_loss,test_loss,test_accuracy,bytes_down,bytes_up,wall_s,virtual_s"


def cells(table, title):
    column = [head for head, *_ in table.heads].index(title)
    return [row[column] for row in table.rows]


def texts(table, title):
    return [cell.text for cell in cells(table, title)]


class Runs(TemporaryFolder):
    def run_with(self, name, accuracies, seed=1, **changes):
        folder = self.make(name, rounds=len(accuracies), seed=seed, **changes)
        rows = [f"{i + 1},{i + 1},4,3,1,0.5,0.25,{accuracy},2000000,1000000,2.0,{10 * (i + 1)}" for i, accuracy in enumerate(accuracies)]
        (folder / "rounds.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        return folder

    def tables_of(self, *folders):
        report = load(folders)
        runs = tables.run_frame(report)
        groups = tables.group_frame(report, runs)
        return report, runs, groups

    def test_row_of_a_run_holds_last_best_and_sums(self):
        # The last round was not evaluated: the accuracy is that of the one before.
        report, runs, _ = self.tables_of(self.run_with("a", [0.5, 0.75, 0.625, ""]))
        row = runs.iloc[0]
        self.assertEqual((row["final_test_accuracy"], row["best_test_accuracy"], row["rounds_done"]), (0.625, 0.75, 4))
        self.assertEqual((row["bytes_down"], row["bytes_up"], row["failed"], row["virtual_s"]), (8e6, 4e6, 4, 40))
        table = tables.run_table(report, runs)
        self.assertEqual((texts(table, "Accuracy"), texts(table, "Best"), texts(table, "Rounds")), (["0.6250"], ["0.7500"], ["4"]))

    def test_mean_and_interval_over_three_seeds_are_students(self):
        # 0.5, 0.6, 0.7: mean 0.6, s = 0.1, t(2) = 4.3027, half = 4.3027 x 0.1 / sqrt(3) = 0.24841.
        report, _, groups = self.tables_of(*(self.run_with(f"s{seed}", [value], seed) for seed, value in ((1, 0.5), (2, 0.6), (3, 0.7))))
        self.assertEqual(len(groups), 1)
        self.assertAlmostEqual(groups.iloc[0]["final_test_accuracy"], 0.6)
        self.assertAlmostEqual(groups.iloc[0]["final_test_accuracy_half"], 4.302652729911275 * 0.1 / math.sqrt(3), places=9)
        table = tables.group_table(report, groups)
        self.assertEqual((texts(table, "Accuracy"), texts(table, "n")), (["0.6000 ± 0.2484"], ["3"]))

    def test_only_finished_runs_count_and_n_says_so(self):
        report, _, groups = self.tables_of(self.run_with("a", [0.5]), self.run_with("b", [0.9], 2, exit_status="failed: x"))
        table = tables.group_table(report, groups)
        self.assertEqual((texts(table, "n"), texts(table, "Accuracy")), (["1 of 2"], ["0.5000"]))

    def test_column_without_a_value_is_left_out_and_a_single_gap_is_a_dash(self):
        report, runs, _ = self.tables_of(self.run_with("a", [0.5]), self.run_with("b", [""], 2))
        table = tables.run_table(report, runs)
        self.assertEqual(texts(table, "Accuracy"), ["0.5000", tables.NOTHING])
        self.assertEqual(cells(table, "Accuracy")[1].value, "")
        self.assertNotIn("Rounds to target", [title for title, *_ in table.heads])

    def test_killed_run_counts_the_rounds_that_are_there(self):
        folder = self.run_with("a", [0.5, 0.6], exit_status="running")
        (folder / "manifest.json").write_text('{"exit_status": "running", "wall_s": {"total": 0.001}}')
        _, runs, _ = self.tables_of(folder)
        self.assertEqual((runs.iloc[0]["wall_s"], runs.iloc[0]["status"]), (4.0, "killed"))

    def test_key_rounds_and_the_rounds_of_a_run_are_two_things(self):
        report, runs, _ = self.tables_of(self.run_with("a", [0.5]), self.run_with("b", [0.5, 0.6]))
        self.assertEqual(report.axes, ["rounds"])
        self.assertEqual(list(runs["rounds"]), ["1", "2"])
        self.assertEqual(list(runs["rounds_done"]), [1, 2])


class Sweeps(TemporaryFolder):
    def test_settings_name_the_rows_of_a_sweep(self):
        report = load([self.make_sweep(rates=(0.01, 0.1), alphas=(None, 0.5), seeds=2)])
        runs = tables.run_frame(report)
        table = tables.run_table(report, runs)
        self.assertEqual([title for title, *_ in table.heads][:5], ["#", "lr", "scheme", "alpha", "Seed"])
        self.assertEqual(texts(table, "lr"), ["0.01"] * 4 + ["0.1"] * 4)
        self.assertEqual([cell.value for cell in cells(table, "lr")][:1], [0.01])
        groups = tables.group_table(report, tables.group_frame(report, runs))
        self.assertEqual(len(groups.rows), 4)
        self.assertEqual(groups.heads[0][0], "lr")

    def test_rounds_to_target_is_the_first_that_reached_it(self):
        report = load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=1, target=0.9, rounds=20)])
        run, reached = report.runs[0], tables.run_frame(report).iloc[0]["rounds_to_target"]
        above = run.rounds["test_accuracy"] >= 0.9
        self.assertEqual(reached, run.rounds["round"][above].iloc[0])
        self.assertGreater(reached, 1)

    def test_waiting_runs_have_a_row(self):
        report = load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=2, fates=["finished", "waiting"])])
        table = tables.run_table(report, tables.run_frame(report))
        self.assertEqual((texts(table, "Status"), texts(table, "Rounds")), (["finished", "waiting"], ["10", "0 of 10"]))


class Failures(TemporaryFolder):
    def test_rows_and_events_are_counted_by_kind(self):
        folder = self.make(rounds=1, clients=1)
        (folder / "clients.csv").write_text("round,client_id,failure\n1,0,late\n2,0,late\n2,1,dropped\n3,1,\n")
        (folder / "events.jsonl").write_text('{"event":"failure","kind":"late","client":0,"round":1,"action":"retried","message":"slow"}\n'
                                             '{"event":"failure","kind":"hung","client":-1,"round":-1,"action":"replaced","message":""}\n')
        table = tables.failure_table(load([folder]))
        self.assertEqual(texts(table, "Kind"), ["dropped", "late", "hung"])
        self.assertEqual(texts(table, "Lost trainings"), ["1", "2", "0"])
        self.assertEqual(texts(table, "Events"), ["0", "1", "1"])
        self.assertEqual(texts(table, "Clients"), ["1", "1", "0"])
        self.assertEqual(texts(table, "Rounds"), ["2", "1–2", tables.NOTHING])
        self.assertEqual(texts(table, "What was done"), [tables.NOTHING, "1 retried", "1 replaced"])
        self.assertEqual(texts(table, "First message"), [tables.NOTHING, "slow", tables.NOTHING])

    def test_no_failure_is_no_table(self):
        folder = self.make(rounds=1, clients=1)
        (folder / "clients.csv").write_text("round,client_id,failure\n1,0,\n")
        (folder / "events.jsonl").write_text('{"event":"started"}\n')
        self.assertIsNone(tables.failure_table(load([folder])))

    def test_table_without_client_ids_still_counts(self):
        folder = self.make(rounds=1, clients=1)
        (folder / "clients.csv").write_text("round,failure\n1,late\n")
        (folder / "events.jsonl").write_text("")
        self.assertEqual(texts(tables.failure_table(load([folder])), "Clients"), ["0"])

    def test_more_rows_than_one_reads_are_counted(self):
        folder = self.make(rounds=1, clients=1)
        (folder / "clients.csv").write_text("round,client_id,failure\n" + "".join(f"1,{i},kind{i}\n" for i in range(12)))
        (folder / "events.jsonl").write_text("")
        table = tables.failure_table(load([folder]), limit=10)
        self.assertEqual((len(table.rows), table.hidden_rows), (10, 2))


class Formats(unittest.TestCase):
    def table(self, text):
        return tables.Table("t", "Title", "A note.", [("Name", "", False), ("Value", "", True)], [[tables.Cell(text), tables.Cell("0.5 ± 0.1", 0.5)]])

    def test_markdown_keeps_bars_apart(self):
        lines = tables.to_markdown(self.table("a|b")).splitlines()
        self.assertEqual(lines, ["## Title", "", "A note.", "", "| Name | Value |", "|---|---:|", "| a\\|b | 0.5 ± 0.1 |"])

    def test_latex_escapes_what_it_would_read(self):
        text = tables.to_latex(self.table("a_b & 5 % #1 $x$ {y} ~ ^ \\"))
        self.assertIn(r"a\_b \& 5 \% \#1 \$x\$ \{y\}", text)
        self.assertIn(r"0.5 $\pm$ 0.1", text)
        self.assertIn(r"\begin{tabular}{lr}", text)
        for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
            self.assertIn(rule, text)

    def test_numbers_are_as_long_as_one_can_read(self):
        self.assertEqual([tables.significant(value) for value in (0, 7.842, 78.42, 784.2, 7842.0, 0.01234)],
                         ["0", "7.84", "78.4", "784", "7,842", "0.0123"])
        self.assertEqual(tables.significant(0.2463, 6.73), "0.25")
        self.assertEqual((tables.whole(7.0), tables.whole(7.5), tables.whole(7.0, 7.0)), ("7", "7.5", "7.0"))

    def test_missing_numbers_are_dashes_that_sort_last(self):
        for value in (None, float("nan"), pd.NA):
            self.assertEqual(tables.number_cell(value, str), tables.Cell(tables.NOTHING))
