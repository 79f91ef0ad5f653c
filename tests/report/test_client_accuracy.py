"""Figures and columns of accuracies on the clients' own examples show the two tables' values, if these exist."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
import pandas as pd
from drawn_runs import by_gid, drawn, line_data, report, run
from make_runs import make_run
from report import frames
from report.figures import client_accuracy
from report.run import read_run

SPREAD = {"accuracy_p10": -0.2, "accuracy_p25": -0.1, "accuracy_p50": 0.0, "accuracy_p75": 0.1, "accuracy_p90": 0.2, "accuracy_worst_10": -0.3,
          "accuracy_best_10": 0.3, "accuracy_mean": 0.0}


def fairness_table(means, model="global", rounds=None):
    """One row per round; each percentile is the mean plus its SPREAD."""
    rows = {"round": rounds or list(range(1, len(means) + 1)), "model": [model] * len(means)}
    return pd.DataFrame({**rows, **{name: [mean + by for mean in means] for name, by in SPREAD.items()}})


def accuracies_table(values, model="global"):
    return pd.DataFrame({"round": [9] * len(values), "model": [model] * len(values), "client_id": range(len(values)), "accuracy": values})


def evaluated(means, values, seed=1, group="g", personalized=None, **more):
    one = run(seed=seed, group=group, **more)
    tables, clients = [fairness_table(means)], [accuracies_table(values)]
    if personalized is not None:
        tables.append(fairness_table(personalized, "personalized"))
        clients.append(accuracies_table(personalized, "personalized"))
    one.fairness, one.on_clients = pd.concat(tables), pd.concat(clients)
    return one


class Figures(unittest.TestCase):
    def test_without_the_tables_nothing_is_drawn(self):
        self.assertEqual(drawn(client_accuracy, report(run())), {})

    def test_one_group_has_bands_around_its_mean_over_seeds(self):
        figure = drawn(client_accuracy, report(evaluated([0.4, 0.5], [0.5], 1), evaluated([0.5, 0.6], [0.5], 2)))["client_accuracy"].figure
        np.testing.assert_allclose(line_data(figure, "line accuracy_mean"), [[1, 2], [0.45, 0.55]])
        np.testing.assert_allclose(line_data(figure, "line accuracy_worst_10"), [[1, 2], [0.15, 0.25]])
        np.testing.assert_allclose(line_data(figure, "line accuracy_best_10"), [[1, 2], [0.75, 0.85]])
        for name, low, high in (("band accuracy_p10", 0.25, 0.75), ("band accuracy_p25", 0.35, 0.65)):
            (band,) = by_gid(figure, name)
            y = band.get_paths()[0].vertices[:, 1]
            np.testing.assert_allclose((y.min(), y.max()), (low, high))
        self.assertEqual(by_gid(figure, "line personalized"), [])

    def test_only_rounds_that_all_seeds_evaluated_are_averaged(self):
        other = evaluated([0.5], [0.5], 2)
        other.fairness = fairness_table([0.7], rounds=[2])
        figure = drawn(client_accuracy, report(evaluated([0.4, 0.5], [0.5], 1), other))["client_accuracy"].figure
        np.testing.assert_allclose(line_data(figure, "line accuracy_mean"), [[2], [0.6]])

    def test_personalised_models_have_a_line_and_a_histogram(self):
        all_drawn = drawn(client_accuracy, report(evaluated([0.4, 0.5], [0.1, 0.1, 0.9, 1.0], personalized=[0.8, 0.9])))
        np.testing.assert_allclose(line_data(all_drawn["client_accuracy"].figure, "line personalized"), [[1, 2], [0.8, 0.9]])
        figure = all_drawn["client_accuracy_last"].figure
        (bars,), (own,) = by_gid(figure, "clients global"), by_gid(figure, "clients personalized")
        shares = bars.get_data().values
        self.assertEqual(shares.sum(), 1.0)
        self.assertEqual((shares[2], shares[18], shares[19]), (0.5, 0.25, 0.25))  # 1.0 belongs to the last bin
        self.assertEqual((own.get_data().values[16], own.get_data().values[18]), (0.5, 0.5))
        np.testing.assert_allclose(line_data(figure, "mean global")[0], [0.525, 0.525])

    def test_several_groups_have_a_mean_and_a_worst_tenth_each(self):
        figure = drawn(client_accuracy, report(evaluated([0.4, 0.5], [0.5], group="a"), evaluated([0.6, 0.7], [0.2], group="b")))
        lines = figure["client_accuracy"].figure
        np.testing.assert_allclose(line_data(lines, "line accuracy_mean b"), [[1, 2], [0.6, 0.7]])
        np.testing.assert_allclose(line_data(lines, "line accuracy_worst_10 a"), [[1, 2], [0.1, 0.2]])
        self.assertEqual(by_gid(lines, "band"), [])
        self.assertEqual(len(by_gid(figure["client_accuracy_last"].figure, "clients global")), 2)


class Tables(unittest.TestCase):
    def test_columns_are_the_last_values(self):
        frame = frames.run_frame(report(evaluated([0.4, 0.5], [0.5], personalized=[0.8, 0.75]), run(seed=2)))
        self.assertEqual(list(frame["client_accuracy_mean"])[0], 0.5)
        self.assertAlmostEqual(list(frame["client_accuracy_worst_10"])[0], 0.2)
        self.assertEqual(list(frame["personalized_accuracy_mean"])[0], 0.75)
        self.assertTrue(np.isnan(list(frame["client_accuracy_mean"])[1]))

    def test_files_are_read_and_what_is_torn_is_told(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent) / "run"
            make_run(folder)
            self.assertEqual(len(read_run(folder, "a").fairness), 0)
            self.assertEqual(read_run(folder, "a").problems, [])
            (folder / "fairness.csv").write_text(fairness_table([0.4, 0.5]).to_csv(index=False)[:-5], encoding="utf-8")
            (folder / "client_accuracy.csv").write_text(accuracies_table([0.25, 0.75]).to_csv(index=False), encoding="utf-8")
            found = read_run(folder, "a")
            self.assertEqual(list(found.fairness["accuracy_mean"]), [0.4])
            self.assertEqual(list(found.on_clients["model"]), ["global", "global"])
            self.assertEqual(found.problems, ["fairness.csv: 1 torn line skipped"])
