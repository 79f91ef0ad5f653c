"""report.html: complete, self-contained, and reporting problems; its figures are elements of the page."""
import re
import unittest
from html.parser import HTMLParser
from types import SimpleNamespace

from matplotlib.figure import Figure
from report import frames, page, tables
from report.figures import style
from report.load import load
from report.__main__ import tables_of
from support import TemporaryFolder

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Elements with their attributes and texts; checks that they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words, self.wrong = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    def text(self):
        return " ".join(" ".join(self.words).split())


def svg_of(draw):
    with style.rc():
        figure = style.new_figure(2, 1)
        draw(figure)
    return style.svg_text(figure)


def page_of(*folders, figures=()):
    report = load(folders)
    runs = frames.run_frame(report)
    groups = frames.group_frame(report, runs) if runs["group"].duplicated().any() else None
    return page.render(report, (runs, groups), tables_of(report, runs, groups), figures)


class Page(TemporaryFolder):
    def test_page_is_whole_and_asks_for_no_other_file(self):
        svg = svg_of(lambda figure: figure.subplots().plot([1, 2], [3, 4]))
        text = page_of(self.make_sweep(fates=["finished", "failed", "killed", "waiting"]), figures=[("a", "A", "caption", svg, 2.0)])
        outline = Outline(text)
        self.assertEqual((outline.open, outline.wrong), ([], []))
        for tag, attributes in outline.elements:
            self.assertNotIn("src", attributes)
            self.assertFalse(tag == "link", attributes)
            if tag == "a":
                self.assertRegex(attributes["href"], r"^(#|figures/a\.(svg|png)$)")
        self.assertNotIn("@import", text)
        self.assertEqual(re.findall(r"url\((?!#)", text), [])
        identities = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
        self.assertEqual(len(identities), len(set(identities)))
        for tag, attributes in outline.elements:
            if tag == "a" and attributes["href"].startswith("#"):
                self.assertIn(attributes["href"][1:], identities)

    def test_summary_says_how_many_ended_how_and_which_is_best(self):
        words = Outline(page_of(self.make_sweep(rates=(0.01, 0.1), alphas=(None,), seeds=2, fates=["finished"] * 3 + ["failed"]))).text()
        for part in ("4 runs", "3 finished", "1 failed", "best test accuracy of any round", "best test accuracy after the last round", "with lr=0.1,scheme=iid", "failed: the update has a value"):
            self.assertIn(part, words)

    def test_best_accuracy_is_that_of_any_round_and_the_final_one_stands_beside_it(self):
        folders = [self.make(name, rounds=2, lr=lr) for name, lr in (("up_and_down", 0.1), ("steady", 0.2))]
        for folder, accuracies in zip(folders, ((0.75, 0.25), (0.5, 0.5))):
            (folder / "rounds.csv").write_text("round,test_accuracy\n" + "".join(f"{i},{value}\n" for i, value in enumerate(accuracies, 1)))
        words = Outline(page_of(*folders)).text()
        self.assertIn("best test accuracy of any round 0.7500 with up_and_down", words)
        self.assertIn("best test accuracy after the last round 0.5000 with steady", words)

    def test_words_of_a_run_cannot_become_elements(self):
        folder = self.make("<b>&run")
        (folder / "manifest.json").write_text('{"exit_status": "failed: <script>alert(1)</script>", "cpu": "<i>\\"x\\"</i>"}')
        (folder / "events.jsonl").write_text('{"event":"failure","kind":"<u>","client":0,"round":1,"action":"dropped","message":"</td><p>"}\n')
        outline = Outline(page_of(folder))
        self.assertEqual(outline.wrong, [])
        self.assertFalse({"b", "i", "u", "p"} & {tag for tag, attributes in outline.elements if tag in "biu" and tag != "p"})
        self.assertEqual(sum(tag == "script" for tag, _ in outline.elements), 1)
        self.assertIn("<b>&run", outline.text())
        self.assertIn("<script>alert(1)</script>", outline.text())

    def test_what_an_older_version_did_not_write_is_named(self):
        words = Outline(page_of(self.make(bare=True))).text()
        self.assertIn("clients.csv has no column started_s", words)
        self.assertIn("no partition.csv", words)
        self.assertNotIn("started_s", Outline(page_of(self.make("new"))).text())

    def test_problems_of_all_runs_are_told_once(self):
        words = Outline(page_of(self.make("a", "running", 2, True, seed=1), self.make("b", "running", 2, True, seed=2))).text()
        self.assertEqual(words.count("rounds.csv: 1 torn line skipped"), 1)
        self.assertIn("all 2 runs", words)

    def test_cells_carry_what_they_are_sorted_by(self):
        text = page_of(self.make("a", seed=1), self.make("b", seed=2))
        first = re.search(r'<table class="sortable" id="table-runs">.*?<tbody>\s*<tr>(.*?)</tr>', text, re.DOTALL).group(1)
        values = re.findall(r'data-value="([^"]*)"', first)
        self.assertEqual(values[:4], ["a", "1.0", "finished", "10"])
        self.assertTrue(all(value == "" or float(value) >= 0 for value in values[3:]))


class Configuration(TemporaryFolder):
    def test_common_is_what_all_say_and_differences_are_the_rest(self):
        report = load([self.make("a", lr=0.1), self.make("b", lr=0.5, mode="async")])
        common = page.common_config(report.runs)
        self.assertIn("format: glyphs", common)
        self.assertIn("momentum: 0.5", common)
        self.assertNotIn(" lr:", common)
        table = page.difference_table(report)
        self.assertEqual([[cell.text for cell in row] for row in table.rows],
                         [["training.optimizer.lr", "0.1", "0.5"], ["mode.name", "synchronous", "async"]])

    def test_many_runs_are_told_by_groups_and_many_groups_by_values(self):
        report = load([self.make_sweep("s", rates=(0.01, 0.1), alphas=(None, 0.5), seeds=4)])
        table = page.difference_table(report)
        self.assertEqual(len(table.heads), 1 + 4)
        self.assertEqual([cell.text for cell in table.rows[0]], ["seed"] + ["1, 2, 3, 4"] * 4)
        report = load([self.make_sweep("l", rates=[0.01 * i for i in range(1, 15)], alphas=(None,), seeds=2)])
        table = page.difference_table(report)
        self.assertEqual(len(table.heads), 2)
        rates = next(row[1].text for row in table.rows if row[0].text == "training.optimizer.lr")
        self.assertIn("(2 runs)", rates)
        self.assertIn("and 4 more values", rates)

    def test_environment_counts_values_that_differ(self):
        runs = [SimpleNamespace(manifest={"libtorch": version, "cores": 2}) for version in ("2.11.0", "2.11.0", "2.12.0")]
        self.assertEqual(page.environment(runs), [("LibTorch", "2.11.0 (2 runs), 2.12.0 (1 run)"), ("Cores", "2")])


class InlineFigures(unittest.TestCase):
    def test_ink_and_paper_become_the_themes(self):
        def draw(figure):
            axes = figure.subplots()
            axes.plot([1, 2], [3, 4], color=style.INK)
            axes.set_facecolor(style.PAPER)
        text = str(page.inline_svg(svg_of(draw), "f", "A figure"))
        for colour in page.THEME:
            self.assertNotIn(colour, text)
        self.assertIn("var(--ink)", text)
        # A CSS variable is valid in a style, but not in an attribute.
        self.assertEqual(re.findall(r'(?<!style)="var\(', text), [])
        self.assertTrue(text.startswith("<svg ") and 'role="img" aria-label="A figure"' in text)
        self.assertNotRegex(text.split(">", 1)[0], r"\swidth=")

    def test_two_figures_do_not_share_identities(self):
        svg = svg_of(lambda figure: figure.subplots().plot([1, 2], [3, 4]))
        first, second = (set(re.findall(r'\bid="([^"]+)"', page.inline_svg(svg, name, "x"))) for name in ("a", "b"))
        self.assertTrue(first and second)
        self.assertFalse(first & second)
        text = page.inline_svg(svg, "a", "x")
        used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
        self.assertTrue(used <= first and used)

    def test_a_figure_says_what_it_is_to_those_who_do_not_see_it(self):
        self.assertIn('aria-label="&lt;a&gt; &#34;b&#34;"', page.inline_svg(svg_of(lambda figure: isinstance(figure, Figure)), "f", '<a> "b"'))
