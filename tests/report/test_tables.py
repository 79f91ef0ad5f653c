"""The tables' numbers against values computed by hand, and their text in Markdown and LaTeX."""
import math
import unittest

import drawn_runs
import pandas as pd
from report import digits, formats, frames, pairs, tables
from report.load import LoadError, load
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
        runs = frames.run_frame(report)
        groups = frames.group_frame(report, runs)
        return report, runs, groups

    def test_row_of_a_run_holds_last_best_and_sums(self):
        # The last round was not evaluated, so the accuracy is that of the one before.
        report, runs, _ = self.tables_of(self.run_with("a", [0.5, 0.75, 0.625, ""]))
        row = runs.iloc[0]
        self.assertEqual((row["final_test_accuracy"], row["best_test_accuracy"], row["rounds_done"]), (0.625, 0.75, 4))
        self.assertEqual((row["bytes_down"], row["bytes_up"], row["failed"], row["virtual_s"]), (8e6, 4e6, 4, 40))
        table = tables.run_table(report, runs)
        self.assertEqual((texts(table, "Final acc."), texts(table, "Best acc."), texts(table, "Rounds")), (["0.6250"], ["0.7500"], ["4"]))

    def test_mean_and_interval_over_three_seeds_are_students(self):
        # 0.5, 0.6, 0.7: mean 0.6, s = 0.1, t(2) = 4.3027, half = 4.3027 x 0.1 / sqrt(3) = 0.24841.
        report, _, groups = self.tables_of(*(self.run_with(f"s{seed}", [value], seed) for seed, value in ((1, 0.5), (2, 0.6), (3, 0.7))))
        self.assertEqual(len(groups), 1)
        self.assertAlmostEqual(groups.iloc[0]["final_test_accuracy"], 0.6)
        self.assertAlmostEqual(groups.iloc[0]["final_test_accuracy_ci"], 4.302652729911275 * 0.1 / math.sqrt(3), places=9)
        self.assertAlmostEqual(groups.iloc[0]["final_test_accuracy_std"], 0.1, places=9)
        table = tables.group_table(report, groups)
        self.assertEqual((texts(table, "Final acc."), texts(table, "n")), (["0.60 ± 0.25"], ["3"]))
        self.assertEqual(texts(tables.group_table(report, groups, frames.shown_as(report, spread="std")), "Final acc."), ["0.60 ± 0.10"])
        with self.assertRaisesRegex(LoadError, "--spread sem: allowed: std"):
            frames.shown_as(report, spread="sem")

    def test_only_finished_runs_count_and_n_says_so(self):
        report, _, groups = self.tables_of(self.run_with("a", [0.5]), self.run_with("b", [0.9], 2, exit_status="failed: x"))
        table = tables.group_table(report, groups)
        self.assertEqual((texts(table, "n"), texts(table, "Final acc.")), (["1 of 2"], ["0.5000"]))

    def test_column_without_a_value_is_left_out_and_a_single_gap_is_a_dash(self):
        report, runs, _ = self.tables_of(self.run_with("a", [0.5]), self.run_with("b", [""], 2))
        table = tables.run_table(report, runs)
        self.assertEqual(texts(table, "Final acc."), ["0.5000", tables.NOTHING])
        self.assertEqual(cells(table, "Final acc.")[1].value, "")
        self.assertNotIn("To target", [title for title, *_ in table.heads])

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
        runs = frames.run_frame(report)
        table = tables.run_table(report, runs)
        self.assertEqual([title for title, *_ in table.heads][:5], ["#", "lr", "scheme", "alpha", "Seed"])
        self.assertEqual(texts(table, "lr"), ["0.01"] * 4 + ["0.1"] * 4)
        self.assertEqual([cell.value for cell in cells(table, "lr")][:1], [0.01])
        groups = tables.group_table(report, frames.group_frame(report, runs))
        self.assertEqual(len(groups.rows), 4)
        self.assertEqual(groups.heads[0][0], "lr")

    def test_rounds_to_target_is_the_first_that_reached_it(self):
        report = load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=1, target=0.9, rounds=20)])
        run, reached = report.runs[0], frames.run_frame(report).iloc[0]["rounds_to_target"]
        above = run.rounds["test_accuracy"] >= 0.9
        self.assertEqual(reached, run.rounds["round"][above].iloc[0])
        self.assertGreater(reached, 1)

    def test_waiting_runs_have_a_row(self):
        report = load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=2, fates=["finished", "waiting"])])
        table = tables.run_table(report, frames.run_frame(report))
        self.assertEqual((texts(table, "Status"), texts(table, "Rounds")), (["finished", "waiting"], ["10", "0 of 10"]))


    def test_best_mean_is_bold_and_wall_times_of_packed_runs_are_not_compared(self):
        sweep = self.make_sweep(rates=(0.01, 0.1), alphas=(None,), seeds=2, rounds=4)
        report = load([sweep])
        runs = frames.run_frame(report)
        groups = frames.group_frame(report, runs)
        table = tables.group_table(report, groups)
        self.assertEqual([cell.strong for cell in cells(table, "Final acc.")], [False, True])
        self.assertEqual([cell.strong for cell in cells(table, "Test loss")], [False, True])
        self.assertNotIn("Wall, s", [title for title, *_ in table.heads])
        self.assertIn("ran side by side", table.note)
        self.assertIn("ran side by side", tables.run_table(report, runs).note)
        self.assertIn("Wall, s", [title for title, *_ in tables.run_table(report, runs).heads])
        report.packed = False
        table = tables.group_table(report, groups)
        self.assertEqual(len(cells(table, "Wall, s")), 2)
        self.assertNotIn("side by side", table.note)

    def test_mean_of_the_few_seeds_that_reached_the_target_is_not_the_best(self):
        one, records = frames.MEASURES[4], [{"rounds_to_target_n": 1, "finished": 3}, {"rounds_to_target_n": 3, "finished": 3},
                                            {"rounds_to_target_n": 3, "finished": 3}]
        found = [tables.Cell("3 (n = 1)", 3.0), tables.Cell("5", 5.0), tables.Cell("7", 7.0)]
        tables.mark_best(one, records, found)
        self.assertEqual([cell.strong for cell in found], [False, True, False])
        found = [tables.Cell("3 (n = 1)", 3.0), tables.Cell("5 ± 0", 5.0), tables.Cell("5", 5.0)]
        tables.mark_best(one, records, found)
        self.assertFalse(any(cell.strong for cell in found))  # no value is best

    def test_what_costs_the_same_everywhere_is_a_sentence(self):
        report = load([self.make_sweep(rates=(0.01, 0.1), alphas=(None,), seeds=2, rounds=4)])
        table = tables.run_table(report, frames.run_frame(report))
        self.assertNotIn("Up, MB", [title for title, *_ in table.heads])
        self.assertIn("The same in all: Simul., s 5.24; Down, MB 1.40; Up, MB 1.40.", table.note)

    def test_columns_percent_and_display_names_are_those_asked_for(self):
        report = load([self.make_sweep(rates=(0.01, 0.1), alphas=(None,), seeds=2, rounds=4)])
        runs = frames.run_frame(report)
        shown = frames.shown_as(report, "bytes_up,final_test_accuracy", True, ["lr=$\\eta$", "iid=IID", "bytes_up=Upload", "0.1=fast=er"])
        table = tables.group_table(report, frames.group_frame(report, runs), shown)
        self.assertEqual([title for title, *_ in table.heads], ["$\\eta$", "scheme", "alpha", "n", "Upload", "Final acc. %"])
        self.assertEqual((texts(table, "$\\eta$"), texts(table, "scheme")), (["0.01", "fast=er"], ["IID", "IID"]))
        mean = 100 * runs[runs["training.optimizer.lr"] == "0.1"]["final_test_accuracy"].mean()
        self.assertAlmostEqual(float(texts(table, "Final acc. %")[1].split()[0]), mean, places=1)
        text = formats.to_latex(table, shown.formulas())
        self.assertIn(r"$\eta$ & scheme", text)
        self.assertIn(r"\textbf{", text)
        for columns, labels, said in (("final_accuracy", (), "--columns: unknown column 'final_accuracy'; allowed: final_test"),
                                      (None, ["rate=x"], r"--labels rate=x: wants KEY=NAME with a varied key \(lr, scheme, alpha\)"),
                                      (None, ["lr"], "--labels lr: wants KEY=NAME")):
            with self.assertRaisesRegex(LoadError, said):
                frames.shown_as(report, columns, False, labels)


class Pairs(TemporaryFolder):
    """Accuracies 0.5, 0.6, 0.9 for seeds 1, 2, 3 against 0.4, 0.4, 0.6: differences 0.1, 0.2, 0.3; interval 0.2 ± 0.2484."""

    def run_with(self, accuracy, seed, lr, **changes):
        name = f"lr={lr},{changes.get('mode', '')},{seed}"
        folder = self.make(name, rounds=1, seed=seed, lr=lr, **changes)
        (folder / "rounds.csv").write_text(HEADER + f"\n1,1,4,4,0,0.5,0.25,{accuracy},1,1,2.0,10\n")
        return folder

    def three(self, **changes):
        return [self.run_with(value, seed, lr, **changes) for lr, values in ((0.1, (0.4, 0.4, 0.6)), (0.5, (0.5, 0.6, 0.9)))
                for seed, value in enumerate(values, 1)]

    def table(self, folders, baseline=None, **shown):
        report = load(folders)
        return pairs.pair_table(report, frames.run_frame(report), frames.Shown(**shown), baseline)

    def test_mean_and_interval_are_those_of_the_differences(self):
        table = self.table(self.three())
        self.assertEqual((texts(table, "lr"), texts(table, "Pairs"), texts(table, "Final acc.")), (["0.5"], ["3"], ["+0.20 ± 0.25"]))
        self.assertAlmostEqual(cells(table, "Final acc.")[0].value, 0.2)
        self.assertFalse(cells(table, "Final acc.")[0].strong)
        self.assertIn("Difference to lr=0.1", table.note)
        # Seeds differ by 0.2, and rates by 0.1 for each seed: pairing reveals the latter.
        folders = [self.run_with(value, seed, 0.7) for seed, value in ((1, 0.5), (2, 0.5), (3, 0.7))]
        table = self.table([*(self.folder / f"lr=0.1,,{seed}" for seed in (1, 2, 3)), *folders])
        self.assertEqual(texts(table, "Final acc."), ["+0.1000 ± 0"])
        self.assertTrue(cells(table, "Final acc.")[0].strong)

    def test_seeds_without_a_partner_and_runs_that_failed_are_in_no_pair(self):
        folders = self.three()
        (folders[0] / "manifest.json").write_text('{"exit_status": "failed: x"}')
        table = self.table([*folders, self.run_with(0.1, 9, 0.5)])
        self.assertEqual(texts(table, "Pairs"), ["2"])
        self.assertEqual(texts(table, "Final acc."), ["+0.25 ± 0.64"])  # 0.2 and 0.3: 12.706 x 0.0707 / sqrt(2)
        self.assertIsNone(self.table([self.run_with(0.1, 7, 0.01), self.run_with(0.1, 8, 0.02)]))

    def test_baseline_is_the_one_that_was_named_all_else_equal(self):
        folders = self.three() + self.three(mode="async")
        table = self.table(folders, "lr=0.50")
        self.assertEqual(texts(table, "mode"), ["synchronous", "async"])
        self.assertEqual((texts(table, "lr"), texts(table, "Against")), (["0.1", "0.1"], ["0.5", "0.5"]))
        self.assertEqual(texts(table, "Final acc."), ["−0.20 ± 0.25"] * 2)
        self.assertIn("Difference to lr=0.5, all else equal", table.note)
        # By default against the first group, for groups that differ from it in one axis.
        table = self.table(folders)
        self.assertEqual(list(zip(texts(table, "lr"), texts(table, "mode"))), [("0.5", "synchronous"), ("0.1", "async")])
        for given, said in (("rate=1", "wants AXIS=VALUE with one of the varied keys: lr, mode"), ("lr=7", "no run has lr=7; allowed: 0.1, 0.5")):
            with self.assertRaisesRegex(LoadError, said):
                self.table(folders, given)

    def test_what_belongs_to_a_strategy_goes_with_it(self):
        # FedAdam's server rate differs, too: it has a row, and the other's alpha must be equal.
        values = {("FedAvg", 0.1): (0.5, 0.625), ("FedAdam", 0.1): (0.625, 0.75), ("FedAvg", 0.5): (0.5, 0.5), ("FedAdam", 0.5): (0.75, 0.75)}
        for cases, given in ((False, "strategy=fedavg"), (True, "case=FedAvg")):
            folder = self.make_methods(values, f"cases {cases}", cases=cases)
            report = load([folder])
            table = pairs.pair_table(report, frames.run_frame(report), frames.Shown(), given)
            self.assertEqual((texts(table, "alpha"), texts(table, "Final acc.")), (["0.1", "0.5"], ["+0.1250 ± 0", "+0.2500 ± 0"]))
            self.assertEqual("all else equal but server_lr, which goes with strategy" in table.note, not cases)
            self.assertEqual(pairs.left_out_words(report, given), "")
            near = pairs.pair_table(report, frames.run_frame(report), frames.Shown())  # against FedAvg, 0.1
            self.assertEqual([[row[0].text, row[-4].text] for row in near.rows].count([table.rows[0][0].text, "+0.1250 ± 0"]), 1)
            self.assertIn("Without a row: 1 that differs from it in more than one key", near.note)

    def test_who_has_no_row_is_named_with_the_reason_and_what_to_do(self):
        folders = self.three() + [self.run_with(0.5, seed, 0.7, mode="async") for seed in (1, 2)] + [self.run_with(0.5, 9, 0.9)]
        report = load(folders)
        table = pairs.pair_table(report, frames.run_frame(report), frames.Shown(), "lr=0.1")
        self.assertEqual(texts(table, "lr"), ["0.5"])
        said = pairs.left_out_words(report, "lr=0.1")
        self.assertIn("lr=0.7,mode=async (mode async, there synchronous)", said)
        self.assertIn("lr=0.9,mode=synchronous (no finished run shares its seeds with one of lr=0.1,mode=synchronous)", said)
        self.assertIn("write the settings as cases with names, and --baseline case=NAME", said)
        self.assertIn(said, table.note)
        table = self.table(folders, "lr=0.9")  # there are no pairs: the note says so, and there are no rows
        self.assertEqual((table.rows, "lr=0.1,mode=synchronous (no finished run" in table.note), ([], True))

    def test_a_rate_that_varies_by_itself_belongs_to_no_strategy(self):
        def group(name, rate):
            runs = [drawn_runs.run(seed=seed, group=f"{name},{rate}", settings={"strategy.name": name, "strategy.server_lr": rate}) for seed in (1, 2)]
            return runs
        axes = ["strategy.name", "strategy.server_lr"]
        report = drawn_runs.report(*(run for name in ("fedavg", "fedprox") for rate in ("1", "0.5", "2")[:2 if name == "fedavg" else 3] for run in group(name, rate)), axes=axes)
        found, others = pairs.beside_the_first(report, pairs.groups_of(report))
        self.assertEqual(([one.group.label for one in found], others), (["fedavg,0.5", "fedprox,1"], 2))
        found, left_out = pairs.beside_each(report, pairs.groups_of(report), "strategy.name", "fedavg")
        self.assertEqual([(one.group.label, one.base.label) for one in found], [("fedprox,1", "fedavg,1"), ("fedprox,0.5", "fedavg,0.5")])
        self.assertEqual(list(map(str, left_out)), ["fedprox,2 (fits several: fedavg,1; fedavg,0.5)"])

    def test_a_key_that_applies_to_one_side_only_does_not_part_them(self):
        table = self.table([self.make_sweep(rates=(0.05, 0.1), alphas=(None, 0.3), seeds=2, rounds=2)])
        self.assertEqual((texts(table, "scheme"), texts(table, "Pairs")), (["dirichlet", "iid"], ["2", "2"]))

    def test_pairs_share_all_their_seeds_and_one_that_is_not_given_is_seed(self):
        folders = self.three()
        for folder in folders:  # the second run of lr 0.1 sets what the others derive from `seed`; the third has another model
            config = (folder / "config.yaml").read_text()
            own = {"lr=0.1,,2": "seeds: {data: 2, model: 2}\n", "lr=0.1,,3": "seeds: {model: 7}\n"}.get(folder.name, "")
            (folder / "config.yaml").write_text(own + config)
        report = load(folders)
        self.assertEqual(report.axes, ["training.optimizer.lr"])
        self.assertEqual(len({run.group for run in report.runs}), 2)
        self.assertEqual(texts(self.table(folders), "Pairs"), ["2"])
        self.assertEqual(texts(tables.run_table(report, frames.run_frame(report)), "Seed"), ["1", "2", "3, model 7", "1", "2", "3"])


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
        lines = formats.to_markdown(self.table("a|b")).splitlines()
        self.assertEqual(lines, ["## Title", "", "A note.", "", "| Name | Value |", "|---|---:|", "| a\\|b | 0.5 ± 0.1 |"])

    def test_latex_escapes_what_it_would_read(self):
        text = formats.to_latex(self.table("a_b & 5 % #1 $x$ {y} ~ ^ \\"))
        self.assertIn(r"a\_b \& 5 \% \#1 \$x\$ \{y\}", text)
        self.assertIn(r"0.5 $\pm$ 0.1", text)
        self.assertIn(r"\begin{tabular}{lr}", text)
        for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
            self.assertIn(rule, text)

    def test_numbers_are_as_long_as_one_can_read(self):
        self.assertEqual([digits.significant(value) for value in (0, 7.842, 78.42, 784.2, 7842.0, 0.01234)],
                         ["0", "7.84", "78.4", "784", "7,842", "0.0123"])
        self.assertEqual((digits.whole(7.0), digits.whole(7.5)), ("7", "7.5"))

    def test_half_width_has_two_digits_and_the_mean_ends_where_it_does(self):
        for mean, half, text in ((0.91, 0.127062, "0.91 ± 0.13"), (0.97841, 0.00352, "0.9784 ± 0.0035"), (0.5, 0.0996, "0.50 ± 0.10"),
                                 (26.184, 3.07, "26.2 ± 3.1"), (1234.5, 123.4, "1,230 ± 120"), (-0.0440, 0.0037, "−0.0440 ± 0.0037"),
                                 (0.97, 0.0, "0.9700 ± 0"), (0.97, 1e-17, "0.9700 ± 0"), (0.97, math.nan, "0.9700")):
            self.assertEqual(digits.plus_minus(mean, half, digits.four_decimals), text)
        self.assertEqual(digits.plus_minus(0.0123, 0.0045, digits.four_decimals, "+"), "+0.0123 ± 0.0045")
        self.assertEqual(digits.plus_minus(0.0123, math.nan, digits.four_decimals, "+"), "+0.0123")

    def test_missing_numbers_are_dashes_that_sort_last(self):
        for value in (None, float("nan"), pd.NA):
            self.assertEqual(tables.number_cell(value, str), tables.Cell(tables.NOTHING))
