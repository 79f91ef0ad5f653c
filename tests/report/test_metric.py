"""Runs of a task with an error as its metric: the lowest is best in tables and figures, and no figure mentions accuracy."""
import unittest

import numpy as np
import pandas as pd
from drawn_runs import drawn, report, rounds_table, run
from report import frames, page
from report.figures import client_accuracy, curves, one_axis
from report.figures.groups import groups_of, ranked
from report.metric import METRICS, metric_of_columns


def regression(errors, seed=1, group="g", **more):
    """A run with these mean squared errors instead of accuracies."""
    one = run(seed=seed, group=group, **more)
    table = rounds_table(list(errors)).rename(columns={"test_accuracy": "test_mse"})
    one.rounds = table.assign(test_loss=table["test_mse"], test_mae=[value / 2 for value in errors])
    return one


class Metric(unittest.TestCase):
    def test_is_that_of_the_first_column_that_has_one(self):
        self.assertEqual(metric_of_columns(["round", "test_loss", "test_mse", "test_mae"]).name, "mse")
        self.assertEqual(metric_of_columns(["round", "test_loss", "test_accuracy", "test_perplexity"]).name, "accuracy")
        self.assertEqual(metric_of_columns(["round"]), METRICS[0])

    def test_of_an_error_the_lowest_is_the_best(self):
        of = report(regression([0.5, 0.125, 0.25]), regression([2.0, 1.0], group="h"))
        of.sweep = {"target_mse": 0.25}
        frame = frames.run_frame(of)
        self.assertEqual(list(frame["best_test_mse"]), [0.125, 1.0])
        self.assertEqual(list(frame["final_test_mse"]), [0.25, 1.0])
        self.assertEqual(list(frame["final_test_mae"]), [0.125, 0.5])
        self.assertTrue(frame["final_test_accuracy"].isna().all())
        self.assertEqual(frame["rounds_to_target"][0], 2)
        self.assertTrue(np.isnan(frame["rounds_to_target"][1]))
        self.assertEqual([group.label for group in ranked(groups_of(of))], ["g", "h"])
        lines = page.best_lines(of, frame, None)
        self.assertEqual([(what, whose) for what, _, whose in lines], [("lowest test MSE of any round", "g,seed=1"), ("lowest test MSE after the last round", "g,seed=1")])

    def test_a_target_is_of_the_metric_that_it_names(self):
        of = report(regression([0.5, 0.125, 0.25]))
        of.sweep = {"target_mse": None, "target_mae": 0.07}
        self.assertEqual(frames.run_frame(of)["rounds_to_target"][0], 2)  # half of it
        words = run()
        words.rounds = rounds_table([0.25, 0.5, 0.75]).assign(test_perplexity=[9.0, 6.0, 4.0], test_top5_accuracy=[0.5, 0.75, 1.0])
        of = report(words)
        for key, value, expected in (("perplexity", 6.5, 2), ("top5_accuracy", 0.9, 3)):
            of.sweep = {f"target_{key}": value}
            self.assertEqual(frames.run_frame(of)["rounds_to_target"][0], expected, key)
        self.assertEqual(frames.run_frame(of)["final_test_top5_accuracy"][0], 1.0)

    def test_figures_are_of_the_error(self):
        runs = [regression([0.5, value], seed, f"lr={lr}", settings={"lr": lr}) for lr, value in (("0.1", 0.25), ("0.2", 0.125)) for seed in (1, 2)]
        of = report(*runs, axes=["lr"])
        drawings = {**drawn(curves, of), **drawn(one_axis, of)}
        for name, drawing in drawings.items():
            self.assertNotIn("ccuracy", drawing.title + drawing.caption, name)
        self.assertIn("MSE and loss against rounds", drawings["curves_rounds"].title)
        self.assertEqual([axes.get_ylabel() for axes in drawings["curves_rounds"].figure.axes], ["test MSE"])

    def test_clients_are_shown_up_to_their_largest_error(self):
        one = regression([0.5])
        shares = {f"mse_{what}": [0.5] for what in ("p10", "p25", "p75", "p90", "mean", "worst_10", "best_10")}
        one.fairness = pd.DataFrame({"round": [1], "model": ["global"], **shares})
        one.on_clients = pd.DataFrame({"round": [1, 1], "model": ["global"] * 2, "client_id": [0, 1], "mse": [1.0, 4.0]})
        drawings = drawn(client_accuracy, report(one))
        self.assertEqual(drawings["client_accuracy_last"].figure.axes[0].get_xlim(), (0.0, 4.0))
        self.assertEqual(drawings["client_accuracy_last"].title, "Clients by their MSE")


if __name__ == "__main__":
    unittest.main()
