"""ε of the sampled Gaussian mechanism by dp-accounting, printed below the lines of `fedhive privacy`.

usage: dp_accounting_epsilon.py MULTIPLIER SHARE ROUNDS DELTA
"""
import importlib.metadata
import sys
from fractions import Fraction

import dp_accounting as dpa


def by_pld(multiplier, share, rounds, delta):
    """Poisson sampling, neighbours with a client more or less, as fedhive's RDP; the distributions are rounded up."""
    accountant = dpa.pld.PLDAccountant()
    accountant.compose(dpa.PoissonSampledDpEvent(share, dpa.GaussianDpEvent(multiplier)), rounds)
    return accountant.get_epsilon(delta)


def by_fixed_cohort(multiplier, share, rounds, delta):
    """Cohorts of a fixed size without replacement, neighbours in which one client is replaced: the sum moves by 2 S."""
    ratio = Fraction(share).limit_denominator(10 ** 6)
    accountant = dpa.rdp.RdpAccountant(neighboring_relation=dpa.NeighboringRelation.REPLACE_ONE)
    step = dpa.SampledWithoutReplacementDpEvent(ratio.denominator, ratio.numerator, dpa.GaussianDpEvent(multiplier / 2))
    accountant.compose(step, rounds)
    return accountant.get_epsilon(delta)


def main():
    multiplier, share, rounds, delta = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    version = importlib.metadata.version("dp-accounting")
    print(f"epsilon      {by_pld(multiplier, share, rounds, delta):.4f}  by PLD, under the same assumptions (dp-accounting {version})")
    print(f"epsilon      {by_fixed_cohort(multiplier, share, rounds, delta):.4f}  by RDP for cohorts of a fixed size; neighbours: a client replaced "
          f"(dp-accounting {version})")


if __name__ == "__main__":
    main()
