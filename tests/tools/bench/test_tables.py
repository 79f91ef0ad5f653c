"""Written tables, and what a continued bench keeps of them."""
import csv
from pathlib import Path
from unittest import mock

import support
from bench import machine, measure, page, runner, tables, workloads
from bench.store import Store

W2 = workloads.training(Path("/"))[1]


class Tables(support.TemporaryFolder):
    def test_speed_is_the_median_of_the_ratios_with_lowest_and_highest(self):
        found = support.workload_found(W2, support.repeat(1.0, 0.5), support.repeat(1.0, 2.0), support.repeat(2.0, 3.0))
        text = tables.sides_table(found, "ideal")
        self.assertIn("| fedhive | 1.50 (0.50 to 2.00) | 1.0000 | 9.0 | 1.00 (1.00 to 1.00) | -1.0 | 512 | – |", text)
        self.assertIn("| ideal | 1.00 (1.00 to 1.00) | 2.0000 | 3.0 | 0.33 (0.33 to 0.33) | -17.0 | – | – |", text)

    def test_phases_add_up_to_the_round(self):
        text = tables.phases_table(support.workload_found(W2, support.repeat(0.01, 1)))
        self.assertIn("| fedhive | 1.000 ms, 10.0% | 6.000 ms, 60.0% | 1.000 ms, 10.0% | 2.000 ms, 20.0% | 2.000 ms, 20.0% | 1.000 ms, 10.0% | 1.000 ms, 10.0% | 1.000 ms, 10.0% | 0.500 ms, 5.0% | 0.500 ms, 5.0% | 20.000 ms |", text)

    def test_failed_and_missing_sides_keep_their_row_and_say_why(self):
        found = support.workload_found(W2, {"fedhive": {"failed": "fedhive: exit status 1: no"}, "ideal": {"round_s": 1.0, "whole_s": 2.0}})
        found["how"]["fedhive batched"] = "this program has no key"
        text = tables.sides_table(found, "ideal")
        self.assertIn("| fedhive | – | – | – | – | – | – | – | fedhive: exit status 1: no |", text)
        self.assertIn("| fedhive batched | – | – | – | – | – | – | – | this program has no key |", text)
        self.assertEqual(runner.failures(found), 1)

    def test_csv_has_a_row_a_figure(self):
        part = {"how": {}, "rows": [{"case": "1 worker", "awake_us": [3.0, 1.0, 2.0], "asleep_us": []}]}
        rows = [*tables.csv_rows("w6", part, "ideal"), *tables.csv_rows("w2", support.workload_found(W2, support.repeat(1.0, 0.5)), "ideal")]
        tables.write_csv(self.folder / "t.csv", rows)
        with open(self.folder / "t.csv", newline="") as file:
            read = {(row["workload"], row["side"], row["figure"]): row for row in csv.DictReader(file)}
        self.assertEqual([read["w6", "1 worker", "awake_us"][key] for key in ("median", "lowest", "highest", "repeats")], ["2", "1", "3", "3"])
        self.assertEqual(read["w2", "fedhive", "speed"]["median"], "0.5")
        self.assertEqual(read["w2", "ideal", "whole_ratio"]["median"], "0.333333333")
        self.assertEqual(read["w2", "fedhive", "barrier_s"]["median"], "0.001")
        self.assertNotIn(("w6", "1 worker", "asleep_us"), read)

    def test_page_names_machine_and_command_and_warns_where_figures_mean_little(self):
        found = {"w2-mnist_cnn": support.workload_found(W2, support.repeat(1.0, 0.5)),
                 "w5": {"rows": [{"case": "mean", "rule_s": [0.5], "gb_per_s": [2.0], "copy_gb_per_s": [4.0], "of_copy": [0.5]}]}}
        text = page.render(support.MANIFEST, found, "ideal")
        for said in ("# Speed on A CPU (R) 9", "`fedhive bench --repeats 3`", "4 cores of A CPU (R) 9 (AVX2)", "21,840 parameters", "workers: 2",
                     "| mean | 0.500000 | 2.0 | 4.0 | 50% |", "## W2", "### w2-mnist_cnn", "| w2-mnist_cnn | 0.50 (0.50 to 0.50) |",
                     "| Whole process (fedhive's seconds = 1) | ideal |"):
            self.assertIn(said, text)
        self.assertNotIn("other things", text)
        self.assertNotIn("--quick", text)
        loaded = page.render({**support.MANIFEST, "busy_before": 2.0}, found, "ideal", quick=True)
        self.assertIn("doing other things (2.0 of 4 cores busy)", loaded)
        self.assertIn("Made with --quick", loaded)
        self.assertEqual(machine.folder_name(support.MANIFEST), "a-cpu-r-9-4-cores")
        self.assertEqual(machine.folder_name({**support.MANIFEST, "gpu": "NVIDIA H200"}), "nvidia-h200")


class Side:
    def __init__(self, name, missing=False):
        self.name, self.note, self.missing, self.supports, self.ran = name, "", missing, lambda workload: True, 0

    def run(self, workload, watch_memory=False):
        self.ran += 1
        if self.ran == 4:
            raise measure.Failed("once")
        return {"round_s": 1.0, "whole_s": 2.0, "accuracy": None, "peak_mib": 3.0 if watch_memory else None}


@mock.patch("builtins.print")
class Going_on(support.TemporaryFolder):
    def test_only_what_is_missing_is_measured(self, _):
        a, b = Side("a"), Side("b", missing=True)
        first = runner.training(W2, [a, b], Store(self.folder, {"commit": "x"}), 1)
        self.assertEqual((a.ran, b.ran, first["memory"]), (2, 0, {"a": 3.0}))
        second = runner.training(W2, [a, b], Store(self.folder, {"commit": "x"}), 3)
        self.assertEqual((a.ran, len(second["repeats"])), (4, 3))
        self.assertEqual((second["repeats"][2], runner.failures(second)), ({"a": {"failed": "once"}}, 1))
        runner.training(W2, [a, b], Store(self.folder, {"commit": "x"}), 3)
        self.assertEqual(a.ran, 4)

    def test_another_program_other_sides_or_again_begin_anew(self, _):
        for change in ("program", "sides", "again"):
            with self.subTest(change):
                runner.training(W2, [Side("a")], Store(self.folder, {"commit": "x"}, again=True), 1)  # measures again
                late, asked = Side("a"), [Side("c")] if change == "sides" else []
                runner.training(W2, [late, *asked], Store(self.folder, {"commit": "y" if change == "program" else "x"}, again=change == "again"), 1)
                self.assertEqual(late.ran, 2)

    def test_fewer_sides_take_what_was_measured_with_more(self, _):
        runner.training(W2, [Side("a"), Side("peer")], Store(self.folder, {"commit": "x"}), 1)
        late = Side("a")
        found = runner.training(W2, [late], Store(self.folder, {"commit": "x"}), 1)
        self.assertEqual((late.ran, [*found["how"]], [*found["repeats"][0]]), (0, ["a", "peer"], ["a", "peer"]))

    def test_folders_of_this_machine_are_not_kept(self, _):
        runner.training({**W2, "root": "/home/user/data"}, [Side("a")], Store(self.folder, {"commit": "x"}), 1)
        kept = (self.folder / f"measured/{W2['id']}.json").read_text()
        self.assertIn(W2["id"], kept)
        self.assertNotIn("/home/user", kept)

    def test_table_has_what_was_kept_of_other_workloads_in_order(self, _):
        store = Store(self.folder, {"commit": "x"})
        store.save("w6", {"repeats": 1}, {"rows": [{"case": "1"}]})
        runner.training(W2, [Side("a")], store, 1)
        store.save("w5", {"repeats": 1}, {"rows": []})
        self.assertEqual([*store.everything([W2["id"], "w5", "w6"])], [W2["id"], "w6"])
        (self.folder / "measured/w6.json").write_text("{")
        self.assertEqual([*store.everything([W2["id"], "w5", "w6"])], [W2["id"]])
        self.assertEqual(store.load("w6", {"repeats": 1}), {})
        with mock.patch("bench.store.FORMAT", 0):
            self.assertEqual(Store(self.folder, {"commit": "x"}).everything([W2["id"]]), {})
