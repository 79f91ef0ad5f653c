"""A paper's table and figure: cells computed by hand, each column's best, panels with equal axes, a name for every line."""
import itertools

from drawn_runs import by_gid, line_data
from drawn_runs import report as report_of
from drawn_runs import run as run_of
from report import formats, frames, page, paper
from report.__main__ import tables_of
from report.figures import curves, fairness, one_axis, panels, style
from report.load import LoadError, load
from support import TemporaryFolder

# Means 0.5, 0.625; 0.5625, 0.5; 0.25, 0.375. Standard deviations of two values that differ by d: d / sqrt(2).
METHODS = {("FedAvg", 0.1): (0.4375, 0.5625), ("FedAvg", 0.5): (0.625, 0.625), ("FedAdam", 0.1): (0.5625, 0.5625), ("FedAdam", 0.5): (0.25, 0.75),
           ("SCAFFOLD", 0.1): (0.25, 0.25), ("SCAFFOLD", 0.5): (0.375, 0.375)}


def first(module, report):
    with style.rc():
        return next(module.draw(report), None)


class Tables(TemporaryFolder):
    def made(self, folders, asked, **shown):
        report = load(folders)
        runs = frames.run_frame(report)
        return paper.paper_tables(report, frames.group_frame(report, runs), frames.shown_as(report, **shown), asked)

    def test_cells_are_means_with_the_samples_deviation_and_the_best_of_each_column_is_bold(self):
        folder = self.make_methods(METHODS)
        table, = self.made([folder], ["rows=case", "columns=alpha"])
        self.assertEqual([head for head, *_ in table.heads], ["case", "0.1", "0.5"])
        self.assertEqual([[cell.text for cell in row] for row in table.rows],
                         [["FedAvg", "0.5000 ± 0.0884", "0.6250 ± 0.0000"], ["FedAdam", "0.5625 ± 0.0000", "0.5000 ± 0.3536"],
                          ["SCAFFOLD", "0.2500 ± 0.0000", "0.3750 ± 0.0000"]])
        self.assertEqual([[cell.strong for cell in row] for row in table.rows], [[False, False, True], [False, True, False], [False] * 3])
        self.assertIn("standard deviation (of the sample: n − 1) over n = 2 finished runs", table.note)
        self.assertEqual(table.foot, "Weights: SCAFFOLD uniform; others by examples.")
        table, = self.made([folder], ["rows=case", "columns=alpha"], spread="ci", percent=True)  # 12.706 x 0.0884 / sqrt(2)
        self.assertEqual(table.rows[0][1].text, "50.00 ± 79.41")
        tables = self.made([folder], ["rows=alpha", "columns=case"], columns="best_test_accuracy,final_test_loss")
        self.assertEqual([table.name for table in tables], ["table_best_test_accuracy", "table_final_test_loss"])
        self.assertEqual([[cell.strong for cell in tables[1].rows[row]] for row in (0, 1)], [[False, False, True, False], [False, True, False, True]])  # the lowest loss

    def test_unfinished_runs_count_nowhere_and_gaps_are_told(self):
        folder = self.make_methods(METHODS)
        for run in ("FedAdam+alpha-0.1+seed-1", "SCAFFOLD+alpha-0.5+seed-1", "SCAFFOLD+alpha-0.5+seed-2"):
            (folder / "runs" / run / "manifest.json").write_text('{"exit_status": "failed: x"}')
        table, = self.made([folder], ["rows=case", "columns=alpha"])
        self.assertEqual((table.rows[1][1].text, table.rows[2][2].text), ("0.5625 (n = 1)", "–"))

    def test_keys_that_name_no_cell_are_refused_with_those_that_do(self):
        folder = self.make_methods(METHODS, cases=False)
        table, = self.made([folder], ["rows=strategy", "columns=data.partition.alpha"])  # server_lr depends on the strategy
        self.assertEqual([row[0].text for row in table.rows], ["fedavg", "fedadam", "scaffold"])
        table, = self.made([folder], ["rows=strategy,server_lr", "columns=alpha"])
        self.assertEqual([row[1].text for row in table.rows], ["1", "0.5", "1"])
        for asked, said in ((["rows=case", "columns=alpha"], "--table rows=case: wants some of the varied keys: strategy, server_lr, alpha"),
                            (["rows=strategy"], "--table: wants rows=KEY and columns=KEY"),
                            (["rows=strategy", "columns=strategy"], "strategy cannot be both rows and columns"),
                            (["rows=server_lr", "columns=alpha"], r"2 settings have server_lr=1, alpha=0.1; they differ in strategy. Name these keys too, "
                             r"as in --table rows=server_lr,strategy columns=alpha")):
            with self.assertRaisesRegex(LoadError, said):
                self.made([folder], asked)

    def test_latex_has_the_key_above_its_values_and_the_weights_below(self):
        folder = self.make_methods(METHODS)
        report = load([folder])
        shown = frames.shown_as(report, percent=True, labels=[r"data.partition.alpha=$\alpha$", "case=Method"])
        runs = frames.run_frame(report)
        table = tables_of(report, runs, frames.group_frame(report, runs), shown.in_print(), asked=["rows=case", "columns=alpha"])[0]
        lines = formats.to_latex(table, shown.formulas()).splitlines()
        self.assertTrue(lines[0].startswith("% Final acc. % by Method"))
        self.assertEqual(lines[1:8], [r"\begin{tabular}{lrr}", r"\toprule", r" & \multicolumn{2}{c}{$\alpha$} \\", r"\cmidrule(lr){2-3}", r"Method & 0.1 & 0.5 \\",
                                      r"\midrule", r"FedAvg & 50.00 $\pm$ 8.84 & \textbf{62.50 $\pm$ 0.00} \\"])
        self.assertEqual(lines[-3:], [r"\bottomrule", r"\multicolumn{3}{l}{\makebox[0pt][l]{\footnotesize Weights: SCAFFOLD uniform; others by examples.}} \\", r"\end{tabular}"])
        shown = shown.on_page()
        tables = tables_of(report, runs, frames.group_frame(report, runs), shown, asked=["rows=case", "columns=alpha"])
        self.assertIn("| Method | α = 0.1 | α = 0.5 |", formats.to_markdown(tables[0]))
        report.labels = shown.labels
        text = page.render(report, (runs, frames.group_frame(report, runs)), tables, (), shown)
        self.assertIn("α = 0.1", text)
        self.assertIn("with FedAvg,α=0.5", text)
        self.assertNotIn("$", text.split("<script>")[0])
        self.assertEqual(text.count("Weights: SCAFFOLD uniform; others by examples."), 1)


class Figures(TemporaryFolder):
    def drawn(self, report, *keys):
        report.panels = panels.keys_asked_for(report, *keys)
        return first(panels, report)

    def test_a_panel_for_each_value_and_a_line_for_each_of_the_other_key(self):
        report = load([self.make_methods(METHODS)])
        drawing = self.drawn(report, "alpha", None)
        left, right = drawing.figure.axes
        self.assertEqual([left.get_title(loc="left"), right.get_title(loc="left")], ["alpha = 0.1", "alpha = 0.5"])
        self.assertEqual((left.get_ylim(), left.get_xlim()), (right.get_ylim(), right.get_xlim()))
        self.assertEqual([text.get_text() for text in drawing.figure.legends[0].get_texts()], ["FedAvg", "FedAdam", "SCAFFOLD"])
        self.assertEqual(line_data(drawing.figure, "mean test_accuracy FedAvg,alpha=0.5"), [[1, 2], [0.3125, 0.625]])
        own, = by_gid(drawing.figure, "mean test_accuracy FedAdam,alpha=0.1")
        self.assertIs(own.axes, left)
        self.assertEqual(own.get_color(), by_gid(drawing.figure, "mean test_accuracy FedAdam,alpha=0.5")[0].get_color())
        self.assertIn("n = 2 runs a line", drawing.caption)
        self.assertIn("Weights: SCAFFOLD uniform; others by examples.", drawing.caption)
        self.assertIsNone(first(panels, load([self.folder / "sweep"])))  # not requested

    def test_lines_are_named_by_as_few_keys_as_it_takes(self):
        report = load([self.make_methods(METHODS, cases=False)])
        self.assertEqual(panels.keys_asked_for(report, "alpha", None), ("data.partition.alpha", ["strategy.name"]))
        self.assertEqual(panels.keys_asked_for(report, "strategy", "alpha"), ("strategy.name", ["data.partition.alpha"]))
        for keys, said in ((("case", None), "--panels case: wants one of the varied keys: strategy, server_lr, alpha"),
                           (("alpha", "alpha"), "--lines alpha: wants one of the varied keys but that of the panels"),
                           (("alpha", "server_lr"), "--lines server_lr: several settings have the same value of it in a panel, they differ in strategy")):
            with self.assertRaisesRegex(LoadError, said):
                panels.keys_asked_for(report, *keys)

    def test_twelve_lines_have_names_and_looks_of_their_own(self):
        runs = [run_of([0.25, 0.5 + number / 64], group=f"m{number},{alpha}", settings={"case": f"m{number}", "alpha": alpha})
                for number, alpha in itertools.product(range(12), ("0.1", "0.5", "1", "5"))]
        figure = self.drawn(report_of(*runs, axes=["case", "alpha"]), "alpha", None).figure
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], [f"m{number}" for number in range(12)])
        looks = {(line.get_color(), str(line.get_linestyle()), str(line._unscaled_dash_pattern)) for line in by_gid(figure, "mean test_accuracy m")}
        self.assertEqual(len(looks), 12)
        self.assertEqual(len(figure.axes), 4)
        self.assertEqual([bool(axes.get_xlabel()) for axes in figure.axes], [False, False, True, True])  # below each column

    def test_intervals_at_the_ends_of_lines_are_not_cut_off(self):
        runs = [run_of([0.25, 0.5 + seed / 32 + number / 8], seed, f"m{number}", settings={"case": f"m{number}", "alpha": "1"}) for number in range(4) for seed in (0, 1)]
        figure = self.drawn(report_of(*runs, axes=["case", "alpha"]), "alpha", None).figure
        low, high = figure.axes[0].get_ylim()
        for bar in by_gid(figure, "interval"):
            for _, height in bar.get_segments()[0]:
                self.assertTrue(low <= height <= high or height > 1 - 1e-9, (low, height, high))


class Legends(TemporaryFolder):
    def test_no_legend_is_wider_than_its_figure(self):
        names = ["base (partition.alpha-0.5+strategy-fedavg+server_lr-1+seed-1)", "x" * 60, "a case of sixty letters, as many as a sweep file may give to one",
                 r"costs $5 & $6 a client, $\alpha", "short"]
        for some, module in ((names, curves), (names[:1], curves), (names, fairness), (names, one_axis)):
            of = report_of(*(run_of([0.25, 0.5], group=name, settings={"case": name}) for name in some), axes=["case"])
            figure = first(module, of).figure
            figure.draw_without_rendering()
            for legend in figure.legends:
                box = legend.get_window_extent()
                self.assertTrue(0 <= box.x0 < box.x1 <= figure.bbox.x1 and 0 <= box.y0, (module, box))
            for axes in figure.axes:
                self.assertGreater(axes.get_window_extent().width, 0.3 * figure.bbox.width)
                self.assertGreater(axes.get_window_extent().height, 0.15 * figure.bbox.height)

    def test_formulas_are_broken_nowhere_and_words_behind_their_signs(self):
        self.assertEqual(style.broken(r"strategy=fedavg and more,$\alpha,\beta$ words"), "strategy=fedavg and more,\n$\\alpha,\\beta$ words")
        self.assertEqual(style.broken("x" * 70), "\n".join(["x" * 30, "x" * 30, "x" * 10]))
        formula = "$" + r"\alpha + " * 8 + r"\beta$"
        self.assertEqual(style.broken(formula), formula)
        self.assertEqual(style.broken(r"\$5"), r"\$5")
