"""The metric that runs are compared by: the main one of their task, whose column comes after test_loss in rounds.csv."""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Metric:
    name: str       # its column is test_NAME
    title: str      # in a sentence
    meaning: str    # of its values
    loss: str       # what the task minimises
    better: int     # 1: more is better, -1: less
    most: float     # values are from 0 to this
    is_loss: bool   # it says the same as test_loss

    @property
    def column(self):
        return f"test_{self.name}"

    @property
    def best_word(self):
        return "highest" if self.better > 0 else "lowest"

    def best(self, values):
        return values.max() if self.better > 0 else values.min()


METRICS = (Metric("accuracy", "accuracy", "fraction of the test examples that are right", "cross-entropy loss", 1, 1.0, False),
           Metric("mse", "MSE", "mean squared error on the test examples", "squared error", -1, np.inf, True))


def metric_of_columns(columns):
    """The metric of the first column that has one; accuracy if none has."""
    return next((metric for column in columns for metric in METRICS if metric.column == column), METRICS[0])


def metric_of_runs(runs):
    """The metric of the first run with rounds; runs of other tasks are compared by it, too."""
    return next((run.metric for run in runs if len(run.rounds)), METRICS[0])
