"""Display names with formulas: Unicode on the page, Matplotlib's form in figures, LaTeX unchanged."""
import unittest

from drawn_runs import drawn, report, run
from report import labels
from report.figures import curves, heat_map, one_axis


class Labels(unittest.TestCase):
    def test_formulas_become_unicode(self):
        for label, text in ((r"$\alpha$", "α"), (r"Accuracy (\%) $\uparrow$", "Accuracy (%) ↑"), (r"$x_{0}^{-1}$", "x₀⁻¹"), (r"$\eta = 10^{-3}$", "η = 10⁻³"),
                            (r"$\mathcal{D}_k$", "Dₖ"), (r"$\lambda_\mathrm{max}$", "λₘₐₓ"), (r"$w^{t+1}_i$", "wᵗ⁺¹ᵢ"), (r"\textbf{Ours}", r"\textbf{Ours}"),
                            (r"\textbf{Ours} ($\mu$)", "Ours (μ)"), ("a $5 note", "a $5 note"), (r"$\unknown{y}$", "unknowny"), ("plain_name", "plain_name")):
            self.assertEqual(labels.in_unicode(label), text)

    def test_figures_get_what_matplotlib_reads_and_unicode_where_it_cannot(self):
        self.assertEqual(labels.drawn(r"Accuracy (\%) $\eta$"), r"Accuracy (%) $\eta$")
        self.assertEqual(labels.drawn(r"$\unknown{y}$"), "unknowny")
        self.assertEqual(labels.drawn("costs $5"), r"costs \$5")

    def test_names_stand_in_figures_and_captions(self):
        runs = [run([0.25, 0.5 + rate / 8], group=f"lr={rate},case {case}", settings={"lr": str(rate), "case": case}) for rate in (1, 2) for case in ("a", "b")]
        of = report(*runs, axes=["case", "lr"])  # words in rows, numbers in columns
        of.labels = {"lr": r"$\eta$", "a": "Ours"}
        figure = drawn(curves, of)["curves_rounds"].figure
        self.assertEqual(figure.legends[0].get_texts()[0].get_text(), r"Ours, $\eta$=1 (n = 1)")
        drawing = drawn(heat_map, of)["heat_map_final"]
        self.assertEqual((drawing.figure.axes[0].get_xlabel(), drawing.title), (r"$\eta$", "Final accuracy over η and case"))
        self.assertNotIn("$", drawing.caption)
        of = report(*runs[::2], axes=["lr"])
        of.labels = {"lr": r"$\eta$"}
        drawing = drawn(one_axis, of)["one_axis"]
        self.assertEqual((drawing.figure.axes[0].get_xlabel(), drawing.title), (r"$\eta$", "Final accuracy against η"))
