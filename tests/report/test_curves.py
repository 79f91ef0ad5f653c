"""Curves of a report, and the figure of one varied key: means, intervals, and unfinished runs."""
import math
import unittest

import numpy as np
from drawn_runs import T_TWO_OF_THREE, by_gid, drawn, line_data, report, run
from report.figures import curves, one_axis


class Curves(unittest.TestCase):
    def test_mean_and_interval_are_those_of_the_seeds(self):
        of = report(run([0.3, 0.5], 1), run([0.4, 0.5], 2), run([0.5, 0.8], 3))
        figure = drawn(curves, of)["curves_rounds"].figure
        x, mean = line_data(figure, "mean test_accuracy g")
        self.assertEqual(x, [1, 2])
        np.testing.assert_allclose(mean, [0.4, 0.6])
        half = [T_TWO_OF_THREE * 0.1 / math.sqrt(3), T_TWO_OF_THREE * math.sqrt(0.03) / math.sqrt(3)]
        (band,) = by_gid(figure, "interval test_accuracy g")
        corners = band.get_paths()[0].vertices
        for at, middle, width in zip(x, mean, half):
            self.assertAlmostEqual(corners[corners[:, 0] == at][:, 1].max(), min(1, middle + width), places=9)
            self.assertAlmostEqual(corners[corners[:, 0] == at][:, 1].min(), middle - width, places=9)

    def test_intervals_stay_within_what_the_quantity_can_be(self):
        of = report(run([0.1, 0.9], 1), run([0.3, 1.0], 2), axes=["lr"])
        figure = drawn(curves, of)["curves_rounds"].figure
        for name, low, high in (("test_accuracy", 0, 1), ("test_loss", 0, math.inf)):
            (band,) = by_gid(figure, f"interval {name}")
            heights = band.get_paths()[0].vertices[:, 1]
            self.assertEqual((heights.min() >= low, heights.max() <= high, heights.min()), (True, True, low))
        seeds = [run([value], seed, f"lr={lr}", settings={"lr": lr}) for lr in ("0.1", "0.2") for seed, value in ((1, 0.8), (2, 1.0))]
        bars = drawn(one_axis, report(*seeds, axes=["lr"]))["one_axis"].figure.axes[0].containers[0].lines[2][0].get_segments()
        self.assertEqual([[round(height, 9) for height in bar[:, 1]] for bar in bars], [[0, 1], [0, 1]])

    def test_more_groups_than_bands_can_be_told_apart_have_bars_at_their_ends(self):
        def of(count):
            return report(*(run([0.3, 0.1 * group + 0.01 * seed], seed, f"g{group}") for group in range(1, count + 1) for seed in (1, 2, 3)))
        self.assertEqual([len(by_gid(drawn(curves, of(3))["curves_rounds"].figure, "interval test_accuracy")[0].get_paths()[0].vertices) > 2], [True])
        drawing = drawn(curves, of(4))["curves_rounds"]
        bars = by_gid(drawing.figure, "interval test_accuracy")
        self.assertEqual(len(bars), 4)
        half = T_TWO_OF_THREE * 0.01 / math.sqrt(3)
        for group, bar in enumerate(bars, 1):
            np.testing.assert_allclose(bar.get_segments()[0], [[2, 0.1 * group + 0.02 - half], [2, 0.1 * group + 0.02 + half]])
        self.assertEqual(len({bar.get_transform().transform((2, 0.5))[0] for bar in bars}), 4)  # side by side
        self.assertIn("bars at their right ends", drawing.caption)

    def test_wall_time_of_runs_that_shared_the_machine_compares_nothing(self):
        of = report(run([0.5, 0.6]))
        of.packed = True
        self.assertIn("it does not compare them", drawn(curves, of)["curves_wall"].caption)

    def test_axes_are_rounds_seconds_simulated_minutes_and_bytes(self):
        all_drawn = drawn(curves, report(run([0.5, 0.6, 0.7, 0.8], virtual_s=[60, 120, 180, 240])))
        self.assertEqual({name: line_data(drawing.figure, "mean test_loss")[0] for name, drawing in all_drawn.items()},
                         {"curves_rounds": [1, 2, 3, 4], "curves_wall": [4, 8, 12, 16], "curves_virtual": [1, 2, 3, 4],
                          "curves_bytes": [10, 20, 30, 40]})
        self.assertEqual(all_drawn["curves_bytes"].figure.axes[-1].get_xlabel(), "bytes down and up (MB)")
        self.assertEqual(all_drawn["curves_virtual"].figure.axes[-1].get_xlabel(), "simulated time (min)")

    def test_where_seconds_differ_values_are_interpolated_as_far_as_all_got(self):
        slow = run([0.0, 1.0], 1, wall_s=[2.0, 2.0])  # at 2 s and 4 s
        fast = run([0.5, 0.5], 2, wall_s=[1.0, 2.0])  # at 1 s and 3 s
        drawing = drawn(curves, report(slow, fast))["curves_wall"]
        self.assertEqual(line_data(drawing.figure, "mean test_accuracy"), [[2, 3], [0.25, 0.5]])
        self.assertIn("interpolated", drawing.caption)
        self.assertNotIn("interpolated", drawn(curves, report(slow, fast))["curves_rounds"].caption)

    def test_a_repeated_seed_counts_once(self):
        drawing = drawn(curves, report(run([0.5, 0.6], 1), run([0.5, 0.6], 1)))["curves_rounds"]
        self.assertEqual(by_gid(drawing.figure, "interval"), [])
        self.assertIn("repeat a seed", drawing.caption)

    def test_what_did_not_finish_is_in_no_mean_and_its_end_is_marked(self):
        of = report(run([0.4, 0.6], 1), run([0.9], 2, status="failed"), run([0.8], 3, status="stopped"), run([0.7], 4, status="running"))
        drawing = drawn(curves, of)["curves_rounds"]
        self.assertEqual(line_data(drawing.figure, "mean test_accuracy g"), [[1, 2], [0.4, 0.6]])
        ends = {artist.get_gid(): (artist.get_marker(), artist.get_ydata()[0]) for artist in by_gid(drawing.figure, "end test_accuracy")}
        self.assertEqual(ends, {"end test_accuracy g,seed=2": ("x", 0.9), "end test_accuracy g,seed=3": ("o", 0.8)})
        self.assertEqual(len(by_gid(drawing.figure, "unfinished test_accuracy")), 3)
        self.assertIn("n = 1 of 4", drawing.figure.legends[0].get_texts()[0].get_text())
        for text in ("1 run that failed or was killed (×)", "1 run stopped early (○)", "1 run not at the end yet"):
            self.assertIn(text, drawing.caption)

    def test_rounds_with_failures_have_a_tick(self):
        figure = drawn(curves, report(run([0.5, 0.6, 0.7, 0.8], failed=[0, 2, 0, 1])))["curves_rounds"].figure
        (ticks,) = by_gid(figure, "failures")
        self.assertEqual([segment[0][0] for segment in ticks.get_segments()], [2, 4])

    def test_many_groups_are_coloured_by_the_first_number_or_only_three_stand_out(self):
        numbers = [run([0.5, 0.1 * i], group=f"lr={i}", settings={"lr": str(i)}) for i in range(1, 10)]
        figure = drawn(curves, report(*numbers, axes=["lr"]))["curves_rounds"].figure
        self.assertEqual(len({str(line.get_color()) for line in by_gid(figure, "mean test_accuracy")}), 9)
        self.assertEqual(figure.legends, [])
        words = [run([0.5, 0.1 * i], group=f"name=s{i}", settings={"name": f"s{i}"}) for i in range(1, 10)]
        figure = drawn(curves, report(*words, axes=["name"]))["curves_rounds"].figure
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ["best: name=s9 (n = 1)", "median: name=s5 (n = 1)", "worst: name=s1 (n = 1)", "6 other groups"])

    def test_without_evaluation_the_training_loss_alone_is_drawn(self):
        figure = drawn(curves, report(run([0.5, 0.6], test_accuracy=math.nan, test_loss=math.nan)))["curves_rounds"].figure
        self.assertEqual([axes.get_ylabel() for axes in figure.axes], ["training loss"])
        self.assertEqual(line_data(figure, "mean train_loss"), [[1, 2], [1.5, 1.4]])

    def test_long_runs_are_thinned_with_both_ends_kept(self):
        drawing = drawn(curves, report(run(np.linspace(0, 1, 5000))))["curves_rounds"]
        x, _ = line_data(drawing.figure, "mean test_accuracy")
        self.assertEqual((len(x), x[0], x[-1]), (300, 1, 5000))
        self.assertIn("300 points", drawing.caption)
