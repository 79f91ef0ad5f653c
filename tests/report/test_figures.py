"""A report's figures show the tables' values; without data there is no figure."""
import math
import unittest

import numpy as np
import pandas as pd
from drawn_runs import SECONDS, T_TWO_OF_THREE, by_gid, clients_table, drawn, line_data, report, run, two_clients
from matplotlib.collections import PolyCollection, QuadMesh
from report.figures import curves, draw_all, fairness, heat_map, one_axis, partition, phases, staleness, style, timeline
from report.figures import groups as computed


class Settings(unittest.TestCase):
    def grid(self):
        runs = []
        for lr, clients, values in (("0.1", "4", (0.5, 0.7)), ("0.1", "10", (0.2, 0.4)), ("0.01", "4", (0.9, 0.9)), ("0.01", "10", ())):
            settings = {"lr": lr, "clients": clients}
            for seed in (1, 2):
                final = values[seed - 1] if values else 0.99
                runs.append(run([0.95, final], seed, f"lr={lr},clients={clients}", "finished" if values else "failed", settings))
        return report(*runs, axes=["lr", "clients"])

    def test_heat_map_cells_are_means_of_finished_runs_and_numbers_are_sorted(self):
        all_drawn = drawn(heat_map, self.grid())
        figure = all_drawn["heat_map_final"].figure
        axes = figure.axes[0]
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["0.01", "0.1"])
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["4", "10"])
        (cells,) = [artist for artist in by_gid(figure, "cells") if isinstance(artist, QuadMesh)]
        np.testing.assert_allclose(cells.get_array().filled(-1), [[0.9, 0.6], [-1, 0.3]])
        self.assertEqual(sorted(text.get_text() for text in axes.texts), ["0.300", "0.600", "0.900"])
        self.assertEqual([(patch.get_xy(), patch.get_hatch()) for patch in by_gid(figure, "failed")], [((-0.5, 0.5), "////")])
        (best,) = by_gid(all_drawn["heat_map_best"].figure, "cells")
        np.testing.assert_allclose(best.get_array().filled(-1), [[0.95, 0.95], [-1, 0.95]])

    def test_of_three_keys_the_two_that_explain_most_are_shown(self):
        runs = [run([0.1 * a + 0.01 * b + 0.2 * c], group=f"{a}{b}{c}", settings={"a": str(a), "b": str(b), "c": str(c)})
                for a in (1, 2) for b in (1, 2) for c in (1, 2)]
        drawing = drawn(heat_map, report(*runs, axes=["a", "b", "c"]))["heat_map_final"]
        self.assertEqual((drawing.figure.axes[0].get_xlabel(), drawing.figure.axes[0].get_ylabel()), ("a", "c"))
        (cells,) = by_gid(drawing.figure, "cells")
        np.testing.assert_allclose(cells.get_array(), [[0.315, 0.415], [0.515, 0.615]])
        self.assertIn("averages over b", drawing.caption)

    def test_a_random_search_is_a_cloud_of_points(self):
        runs = [run([0.1 * i], group=str(i), settings={"lr": str(0.001 * 3**i), "m": str(0.1 * i)}, status="failed" if i == 5 else "finished")
                for i in range(1, 6)]
        figure = drawn(heat_map, report(*runs, axes=["lr", "m"]))["heat_map_final"].figure
        (dots,), (lost,) = by_gid(figure, "cells"), by_gid(figure, "failed")
        np.testing.assert_allclose(dots.get_offsets()[:, 0], [0.003, 0.009, 0.027, 0.081])
        np.testing.assert_allclose(dots.get_array(), [0.1, 0.2, 0.3, 0.4])
        np.testing.assert_allclose(lost.get_offsets(), [[0.243, 0.5]])
        self.assertEqual(figure.axes[0].get_xscale(), "log")

    def test_one_key_shows_means_with_intervals_and_what_failed(self):
        runs = [run([value], seed, f"lr={lr}", settings={"lr": lr}) for lr, values in (("0.1", (0.5, 0.6, 0.7)), ("0.01", (0.5,)))
                for seed, value in enumerate(values, 1)]
        runs.append(run([0.9], 1, "lr=1", "killed", {"lr": "1"}))
        figure = drawn(one_axis, report(*runs, axes=["lr"]))["one_axis"].figure
        axes = figure.axes[0]
        (means,) = axes.containers
        self.assertEqual([list(values) for values in means.lines[0].get_data()], [[0.01, 0.1], [0.5, 0.6]])
        low, high = means.lines[2][0].get_segments()[1][:, 1]
        self.assertAlmostEqual((high - low) / 2, T_TWO_OF_THREE * 0.1 / math.sqrt(3))
        self.assertEqual(list(by_gid(figure, "failed")[0].get_xdata()), [1])
        self.assertEqual(axes.get_xscale(), "log")
        self.assertEqual(drawn(one_axis, report(*runs, axes=["lr", "m"])), {})


class Clients(unittest.TestCase):
    def shares(self, clients, labels=3):
        counts = np.arange(clients * labels).reshape(clients, labels)
        table = pd.DataFrame(counts, columns=[f"label_{i}" for i in range(labels)])
        table.insert(0, "client_id", range(clients))
        table.insert(1, "num_examples", counts.sum(axis=1))
        return table

    def test_bars_of_few_clients_add_up_to_their_examples(self):
        drawing = drawn(partition, report(run(shares=self.shares(4))))["partition"]
        axes = drawing.figure.axes[0]
        heights = np.array([[bar.get_height() for bar in bars] for bars in axes.containers])
        self.assertEqual(heights.shape, (3, 4))
        self.assertEqual([bar.get_y() + bar.get_height() for bar in axes.containers[-1]], [30, 21, 12, 3])
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["3", "2", "1", "0"])
        self.assertEqual(list(heights[:, 0]), [9, 10, 11])

    def test_bars_of_owners_have_their_names(self):
        table = self.shares(4)
        table["owner"] = ["north", "$x$, or 007", "a" * 40, "south"]
        axes = drawn(partition, report(run(shares=table)))["partition"].figure.axes[0]
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["south", "a" * 23 + "…", "$x$, or 007", "north"])
        self.assertFalse(any(text.get_parse_math() for text in axes.get_xticklabels()))
        others = table.assign(owner=["north", "east", "west", "south"])
        of = report(*(run(group=str(i), shares=shares) for i, shares in enumerate((table, table, others))))
        self.assertEqual(list(drawn(partition, of)), ["partition_1", "partition_2"])

    def test_many_clients_are_a_picture_with_a_histogram(self):
        figure = drawn(partition, report(run(shares=self.shares(1200))))["partition"].figure
        (image,) = by_gid(figure, "shares")
        self.assertEqual(image.get_array().shape, (3, partition.MOST_STRIPES))
        np.testing.assert_allclose(image.get_array().sum(axis=0), 1.0, atol=0.01)  # the first client has no examples
        self.assertEqual(sum(bar.get_height() for bar in figure.axes[1].patches), 1200)

    def test_equal_partitions_are_drawn_once(self):
        first, second = self.shares(4), self.shares(5)
        of = report(*(run(group=str(i), shares=table) for i, table in enumerate((first, first, second))))
        self.assertEqual(list(drawn(partition, of)), ["partition_1", "partition_2"])

    def test_losses_are_those_of_the_last_accepted_round(self):
        table = clients_table([(1, 0, 0, 0, 1, 3.0, 0, ""), (2, 0, 0, 0, 1, 1.0, 0, ""), (1, 1, 0, 0, 1, 2.0, 0, ""),
                               (2, 1, 0, math.nan, math.nan, math.nan, 0, "late")])
        all_drawn = drawn(fairness, report(run(clients=table, manifest={"num_clients": 4})))
        self.assertEqual(line_data(all_drawn["fairness_loss"].figure, "fairness_loss"), [[1, 1, 2], [0, 0.5, 1]])
        # Clients 2 and 3 never took part, 1 once, 0 twice.
        self.assertEqual(line_data(all_drawn["participation"].figure, "participation"), [[0, 0, 1, 2], [0, 0.5, 0.75, 1]])

    def test_lost_trainings_are_counted_by_client_and_kind(self):
        lost = [(r, k, 0, math.nan, math.nan, math.nan, 0, kind)
                for r, k, kind in ((1, 5, "late"), (2, 5, "exited"), (3, 5, "late"), (1, 2, "late"))]
        figure = drawn(fairness, report(run(clients=clients_table(lost))))["failures"].figure
        self.assertEqual([[bar.get_height() for bar in bars] for bars in figure.axes[0].containers], [[1, 0], [2, 1]])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_xticklabels()], ["5", "2"])
        self.assertNotIn("failures", drawn(fairness, report(run())))

    def test_staleness_is_drawn_as_shares_where_there_is_any(self):
        table = clients_table([(1, k, 0, 0, 1, 1.0, stale, "") for k, stale in enumerate((0, 1, 1, 3))])
        figure = drawn(staleness, report(run(clients=table), run(group="fresh")))["staleness"].figure
        self.assertEqual([bar.get_height() for bar in by_gid(figure, "staleness g")], [0.25, 0.5, 0, 0.25])
        self.assertEqual(by_gid(figure, "staleness fresh"), [])
        self.assertEqual(drawn(staleness, report(run())), {})


class Time(unittest.TestCase):
    def test_phases_are_stacked_up_to_the_wall_time(self):
        figure = drawn(phases, report(run([0.5] * 3)))["phases"].figure
        heights = np.array([[bar.get_height() for bar in bars] for bars in figure.axes[0].containers])
        np.testing.assert_allclose(heights, np.array([[value] * 3 for value in SECONDS.values()]))
        np.testing.assert_allclose([bar.get_y() + bar.get_height() for bar in figure.axes[0].containers[-1]], 4.0)

    def test_bars_begin_at_nothing(self):
        figure = drawn(phases, report(run([0.5] * 2, pull_down_s=1e-6, wall_s=4.0)))["phases"].figure
        self.assertEqual(figure.axes[0].get_ylim()[0], 0)

    def test_many_rounds_share_bars_of_their_mean(self):
        figure = drawn(phases, report(run([0.5] * 600, train_s=range(600))))["phases"].figure
        train = figure.axes[0].containers[1]
        self.assertEqual(len(train), phases.MOST_BARS)
        self.assertEqual([bar.get_height() for bar in train][:2], [4.5, 14.5])

    def test_shares_of_each_run_add_up_to_one(self):
        drawing = drawn(phases, report(run(seed=1), run(seed=2, evaluate_s=4.0)))["phase_shares"]
        widths = np.array([[bar.get_width() for bar in bars] for bars in drawing.figure.axes[0].containers])
        np.testing.assert_allclose(widths.sum(axis=0), 1.0)
        np.testing.assert_allclose(widths[-1], [1 / 4, 4 / 7])
        self.assertEqual([text.get_text() for text in drawing.figure.axes[0].texts], ["4 s", "7 s"])

    def test_timeline_has_a_box_for_each_training_and_phase(self):
        figure = drawn(timeline, report(run([0.5, 0.6])))["timeline"].figure
        (boxes,) = by_gid(figure, "trainings")
        self.assertIsInstance(boxes, PolyCollection)
        corners = sorted((path.vertices[0][0], path.vertices[1][0], round(path.vertices[:4, 1].mean())) for path in boxes.get_paths())
        self.assertEqual(corners, [(0.5, 1.5, 1), (0.5, 1.5, 2), (4.5, 5.5, 1), (4.5, 5.5, 2)])
        (evaluation,) = by_gid(figure, "phase evaluate")
        self.assertEqual([(path.vertices[0][0], path.vertices[1][0]) for path in evaluation.get_paths()], [(3, 4), (7, 8)])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_yticklabels()], ["coordinator", "worker 0", "worker 1"])
        self.assertEqual(len(figure.axes), 1)

    def test_of_a_long_run_the_middle_and_the_utilisation_are_shown(self):
        drawing = drawn(timeline, report(run([0.5] * 41)))["timeline"]
        self.assertIn("rounds 20 to 22", drawing.caption)
        self.assertEqual(len(by_gid(drawing.figure, "trainings")[0].get_paths()), 6)
        (overview,) = by_gid(drawing.figure, "utilisation")
        values, edges = overview.get_data()[:2]
        self.assertAlmostEqual(np.average(values, weights=np.diff(edges)), 0.25)  # one second of four, on both workers
        self.assertIn("mean 25 %", drawing.caption)

    def test_busy_is_exact_in_each_bin(self):
        share = timeline.busy(np.array([0.0, 1.5]), np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0, 4.0]), 2)
        np.testing.assert_allclose(share, [0.5, 0.25, 0.25])

    def test_a_failed_client_is_marked_on_its_worker(self):
        table = two_clients(2)
        table.loc[3, ["started_s", "seconds", "failure"]] = [math.nan, math.nan, "late"]
        figure = drawn(timeline, report(run(clients=table)))["timeline"].figure
        (marks,) = by_gid(figure, "failures")
        self.assertEqual([list(values) for values in marks.get_data()], [[6.25], [2]])  # 4 s + 2.25 s of training in round 2

    def test_without_started_s_there_is_no_timeline(self):
        old = run()
        old.rounds, old.clients = old.rounds.drop(columns="started_s"), old.clients.drop(columns="started_s")
        self.assertEqual(drawn(timeline, report(old)), {})


class Whole(unittest.TestCase):
    def test_nothing_is_drawn_of_empty_tables(self):
        empty = pd.DataFrame(columns=["round", "client_id", "worker", "failure", "started_s", "seconds"])
        runs = [run([], group=str(i), status="waiting", clients=empty, settings={"a": str(i), "b": str(i % 2)}) for i in range(4)]
        self.assertEqual([drawing.name for drawing in draw_all(report(*runs, axes=["a", "b"]))], [])
        self.assertEqual([drawing.name for drawing in draw_all(report(*runs, axes=["a"]))], [])

    def test_names_differ_and_every_figure_says_what_it_shows(self):
        runs = [run(seed=seed, group=f"lr={lr}", settings={"lr": lr}) for lr in ("0.1", "1") for seed in (1, 2)]
        all_drawn = list(draw_all(report(*runs, axes=["lr"])))
        names = [drawing.name for drawing in all_drawn]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"curves_rounds", "one_axis", "fairness_loss", "phases", "phase_shares", "timeline"}, set(names))
        for drawing in all_drawn:
            self.assertTrue(drawing.title and drawing.caption.endswith("."), drawing)

    def test_one_row_is_enough(self):
        for drawing in draw_all(report(run([0.5]))):
            self.assertIn("<svg", style.svg_text(drawing.figure))

    def test_two_hundred_runs_stay_small(self):
        runs = [run(np.linspace(0.1, 0.9, 50), seed, f"lr={lr},m={m}", settings={"lr": str(lr), "m": str(m)}, wall_s=4.0 + 0.001 * seed)
                for lr in range(1, 9) for m in range(5) for seed in range(1, 6)]
        for drawing in draw_all(report(*runs, axes=["lr", "m"])):
            points = sum(len(line.get_xdata()) for axes in drawing.figure.axes for line in axes.lines)
            self.assertLessEqual(points, 2 * curves.ALL_POINTS, drawing.name)
            self.assertLess(len(by_gid(drawing.figure, "")), 4000, drawing.name)
            self.assertLess(len(style.svg_text(drawing.figure)), 500_000, drawing.name)
            drawing.figure.clear()

    def test_svg_has_a_transparent_ground_and_the_colours_that_a_theme_replaces(self):
        text, again = (style.svg_text(next(iter(draw_all(report(run())))).figure) for _ in range(2))
        for colour in (style.INK, style.GRID, style.MUTED):
            self.assertIn(colour, text)
        self.assertNotIn("#ffffff", text)
        self.assertEqual(text, again)
        self.assertNotIn("<text", text)

    def test_drawing_leaves_the_settings_of_others_alone(self):
        import matplotlib
        before = dict(matplotlib.rcParams)
        for _ in draw_all(report(run())):
            self.assertEqual(dict(matplotlib.rcParams), before)


class Computed(unittest.TestCase):
    def test_values_are_sorted_as_numbers_then_words(self):
        self.assertEqual(computed.sorted_values(["10", "auto", "9", "", "1e-3", "10"]), ["1e-3", "9", "10", "auto", ""])

    def test_few_groups_are_kept_and_of_many_the_best_median_and_worst(self):
        groups = [computed.Group(str(i), [run([0.01 * i], group=str(i))]) for i in range(21)]
        self.assertEqual(computed.a_few(groups[:8]), (groups[:8], ""))
        few, text = computed.a_few(groups)
        self.assertEqual([group.label for group in few], ["20", "10", "0"])
        self.assertIn("Of 21 groups", text)

    def test_long_labels_are_broken_at_commas(self):
        self.assertEqual(computed.wrapped("lr=0.1,clients=10", "n = 3"), "lr=0.1, clients=10 (n = 3)")
        self.assertEqual(computed.wrapped("a=1,b=2", "n = 3", 8), "a=1, b=2\n(n = 3)")

    def test_of_many_runs_the_one_of_median_duration_is_shown(self):
        runs = [run(seed=i, wall_s=float(i)) for i in (5, 1, 3, 2, 4)]
        (shown,), text = computed.shown_runs(report(*runs), lambda run: True)
        self.assertEqual(shown.seed, 3)
        self.assertIn("Of 5 runs", text)


if __name__ == "__main__":
    unittest.main()
