"""The numbers of a report in data frames: a row a run, a row a group of runs that differ in their seeds only."""
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from report import digits
from report.figures.groups import best_value, column, final_value, finite, groups_of, mean_interval
from report.labels import in_unicode
from report.load import LoadError, short_keys
from report.metric import METRICS


@dataclass(frozen=True)
class Measure:
    name: str        # column of run_frame
    title: str
    write: object    # number -> text
    meaning: str
    better: int      # 1: more is better, -1: less, 0: neither
    result: bool     # of training, and not what it cost: shown even where it is the same in all rows
    scale: float = 1.0


MEASURES = (
    Measure("final_test_accuracy", "Final acc.", digits.four_decimals, "test accuracy of the last evaluated round", 1, True),
    Measure("best_test_accuracy", "Best acc.", digits.four_decimals,
            "highest test accuracy of all evaluated rounds; chosen on the test examples, so it favours noise", 1, True),
    Measure("final_test_loss", "Test loss", digits.four_decimals, "of the last evaluated round; of what is minimised, cross-entropy or squared error, mean per example", -1, True),
    Measure("final_train_loss", "Train loss", digits.four_decimals, "of the last round; of what is minimised, mean per example", -1, True),
    Measure("rounds_to_target", "To target", digits.whole, "first evaluated round that reached the sweep's target", -1, False),
    Measure("client_accuracy_mean", "Clients' acc.", digits.four_decimals,
            "accuracy on what each client holds out, mean over the clients, in the last round in which they were evaluated", 1, True),
    Measure("client_accuracy_worst_10", "Worst 10 %", digits.four_decimals, "the same over the tenth of the clients with the lowest ones", 1,
            True),
    Measure("personalized_accuracy_mean", "Personalised", digits.four_decimals,
            "as the clients' accuracy, of the model that each makes of the global one in a local epoch", 1, True),
    Measure("final_test_mse", "Final MSE", digits.four_decimals, "mean squared error on the test examples in the last evaluated round", -1, True),
    Measure("best_test_mse", "Best MSE", digits.four_decimals,
            "lowest of all evaluated rounds; chosen on the test examples, so it favours noise", -1, True),
    Measure("final_test_mae", "Final MAE", digits.four_decimals, "mean absolute error on the test examples in the last evaluated round", -1, True),
    Measure("final_test_perplexity", "Perplexity", digits.four_decimals, "exp of the test loss of the last evaluated round", -1, True),
    Measure("final_test_top5_accuracy", "Top-5 acc.", digits.four_decimals,
            "fraction of the test examples whose class is among the five likeliest, in the last evaluated round", 1, True),
    Measure("client_mse_mean", "Clients' MSE", digits.four_decimals,
            "mean squared error on what each client holds out, mean over the clients, in the last round in which they were evaluated", -1, True),
    Measure("client_mse_worst_10", "Worst 10 %", digits.four_decimals, "the same over the tenth of the clients with the highest ones", -1, True),
    Measure("personalized_mse_mean", "Personalised", digits.four_decimals,
            "as the clients' MSE, of the model that each makes of the global one in a local epoch", -1, True),
    Measure("wall_s", "Wall, s", digits.significant, "seconds of the whole run, start of the workers included", -1, False),
    Measure("virtual_s", "Simul., s", digits.significant, "simulated seconds at the end of the last round, by the virtual clock", -1, False),
    Measure("bytes_down", "Down, MB", digits.significant, "megabytes that a real server would send", -1, False, 1e-6),
    Measure("bytes_up", "Up, MB", digits.significant, "megabytes that clients would send", -1, False, 1e-6),
    Measure("failed", "Failed", digits.whole, "client trainings that failed, over all rounds", 0, False),
)
TARGETS = {"accuracy": 1, "top5_accuracy": 1, "mse": -1, "mae": -1, "perplexity": -1}
IN_PRINT = ("final_test_accuracy", "best_test_accuracy", "final_test_mse", "best_test_mse", "final_test_loss", "rounds_to_target")


@dataclass
class Shown:
    """The look of the tables, as the caller asked for it."""
    columns: list | None = None                  # names of measures; None: those that say something
    chosen: bool = False                         # the caller chose the columns
    percent: bool = False
    labels: dict = field(default_factory=dict)   # key, value or name of a measure -> display name; with a $ it is LaTeX
    spread: str | None = None                    # std or ci; None: ci, and std in the table of a paper

    def in_print(self):
        """The same for a page of paper, which is 16 cm wide."""
        return self if self.chosen else replace(self, columns=list(IN_PRINT))

    def on_page(self):
        """The same with labels in Unicode in place of LaTeX."""
        return replace(self, labels={text: in_unicode(label) for text, label in self.labels.items()})

    def formulas(self):
        return {label for label in self.labels.values() if "$" in label}

    def label(self, text, otherwise=None):
        return self.labels.get(text, text if otherwise is None else otherwise)

    def measures(self):
        """All measures under their display names, in the order asked for."""
        found = {one.name: self.dressed(one) for one in MEASURES}
        return [found[name] for name in (found if self.columns is None else self.columns)]

    def dressed(self, one):
        if self.percent and "_accuracy" in one.name:
            one = Measure(one.name, one.title + " %", digits.two_decimals, one.meaning + "; per cent", one.better, one.result, 100.0)
        return Measure(one.name, self.label(one.name, one.title), one.write, one.meaning, one.better, one.result, one.scale)


def shown_as(report, columns=None, percent=False, labels=(), spread=None):
    """Shown of what was typed; LoadError where it names nothing in the report."""
    names = [one.name for one in MEASURES]
    columns = None if columns is None else [name for name in columns.split(",") if name]
    for name in columns or ():
        if name not in names:
            raise LoadError(f"--columns: unknown column '{name}'; allowed: {', '.join(names)}")
    short = short_keys(report.axes)
    known = {*names, *report.axes, *(value for run in report.runs for value in run.settings.values())}
    found = {}
    for text in labels:
        key, is_pair, label = text.partition("=")
        key = next((full for full, name in short.items() if name == key), key)
        if not is_pair or key not in known:
            raise LoadError(f"--labels {text}: wants KEY=NAME with a varied key ({', '.join(short.values()) or 'here there is none'}), one "
                            f"of its values, or a column ({', '.join(names)})")
        found[key] = label
    if spread not in (None, "std", "ci"):
        raise LoadError(f"--spread {spread}: allowed: std (standard deviation of the sample), ci (half the 95 % interval of the mean)")
    return Shown(columns, columns is not None, percent, found, spread)


def last(values):
    known = finite(values)
    return known[-1] if len(known) else np.nan


def last_of_clients(run, model, name):
    """A column of fairness.csv in its last row of that model."""
    table = run.fairness
    return last(column(table[table["model"] == model], name)) if "model" in table.columns else np.nan


def target_of(report):
    """(column, 1 where more is better and -1 where less is, value) of what the sweep's runs are to reach; None: nothing."""
    sweep = report.sweep or {}
    return next(((f"test_{name}", better, sweep[f"target_{name}"]) for name, better in TARGETS.items()
                 if sweep.get(f"target_{name}") is not None), None)


def rounds_to(target, run):
    if target is None:
        return np.nan
    name, better, value = target
    reached = run.rounds["round"][better * (column(run.rounds, name) - value) >= 0]
    return reached.min() if len(reached) else np.nan


def wall_seconds(run):
    """The manifest's wall time, or the rounds' if that is more: rounds may have finished since the manifest was written."""
    wall = run.manifest.get("wall_s")
    total = wall.get("total") if isinstance(wall, dict) else None
    return max(total if isinstance(total, (int, float)) else 0.0, np.nansum(column(run.rounds, "wall_s"))) or np.nan


USUAL = ("test_mae", "test_perplexity", "test_top5_accuracy")
ASKED = ("test_balanced_accuracy", "test_macro_f1")  # columns of runs that ask for them


def run_frame(report):
    """A row a run, numbers as numbers, under the names of a sweep's summary.csv: what the tables show and what is exported."""
    rows = []
    asked = [name for name in ASKED if any(name in run.rounds for run in report.runs)]
    for run in report.runs:
        rows.append({"run": run.label, "group": run.group, "seed": run.seed, **run.seeds, "status": run.status, **run.settings,
                     "rounds_done": len(run.rounds), "planned_rounds": run.planned_rounds,
                     **{f"final_{metric.column}": final_value(run, metric) for metric in METRICS},
                     **{f"best_{metric.column}": best_value(run, metric) for metric in METRICS},
                     **{f"final_{name}": last(column(run.rounds, name)) for name in (*USUAL, *asked)},
                     "final_test_loss": last(column(run.rounds, "test_loss")), "final_train_loss": last(column(run.rounds, "train_loss")),
                     "rounds_to_target": rounds_to(target_of(report), run),
                     **{f"client_{metric.name}_{what}": last_of_clients(run, "global", f"{metric.name}_{what}")
                        for metric in METRICS for what in ("mean", "worst_10")},
                     **{f"personalized_{metric.name}_mean": last_of_clients(run, "personalized", f"{metric.name}_mean") for metric in METRICS},
                     "wall_s": wall_seconds(run),
                     "virtual_s": last(column(run.rounds, "virtual_s")),
                     **{name: np.nansum(column(run.rounds, name)) if len(run.rounds) else np.nan
                        for name in ("bytes_down", "bytes_up", "failed")},
                     "reason": run.reason, "path": str(run.path)})
    frame = pd.DataFrame(rows)
    return frame.astype({"seed": "Int64", "planned_rounds": "Int64"})


def group_frame(report, runs):
    """A row a group: of each measure mean, half the width of its 95 % interval, standard deviation and n, over the group's finished runs (one a seed)."""
    rows, by_label = [], runs.set_index("run")
    for group in groups_of(report):
        finished = [run.label for run in group.finished()]
        row = {"group": group.label, **group.settings(), "finished": len(finished), "runs": len(group.runs)}
        for one in MEASURES:
            known = finite(by_label.loc[finished, one.name])
            mean, half = mean_interval(known) if len(known) else (np.nan, np.nan)
            std = known.std(ddof=1) if len(known) > 1 else np.nan
            row |= {one.name: mean, f"{one.name}_ci": half, f"{one.name}_std": std, f"{one.name}_n": len(known)}
        rows.append(row)
    return pd.DataFrame(rows)
