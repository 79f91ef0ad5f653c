"""The median of each column, as the aggregator `median` takes it: Yin et al. 2018 (arXiv:1803.01498), Algorithm 1, option I.

strategy: {rule: configs/rules/median.py}; docs/methods.md says what else a rule may read.
"""
import numpy as np


def aggregate(updates):
    return np.median(updates, axis=0)
