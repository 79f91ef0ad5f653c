"""Writes privacy_epsilon.csv, ε of the Poisson-sampled Gaussian mechanism by PyPI's dp-accounting, privacy_tree.csv, ε of DP-FTRL's trees by it, and
privacy_rdp.csv, the RDP of the sampled mechanism by
mpmath's quadrature of the definition; tests/sim/privacy/accountant_test.cpp compares fedhive's accountant to both.

For fractional orders dp-accounting adds the magnitudes of a series whose signs alternate, an upper bound; so its ε is a little larger where
the best order is a fraction.

    python3 -m pip install --target FOLDER dp-accounting==0.6.0
    PYTHONPATH=FOLDER python3 tests/golden/privacy_epsilon.py
"""
import importlib.metadata
from pathlib import Path

import dp_accounting as dpa
from mpmath import mp

# rdp_orders() in sim/privacy/sampled_gaussian.cpp
ORDERS = [1.05] + [tenths / 10 for tenths in range(11, 110)] + list(range(11, 64)) + [64, 80, 96, 128, 192, 256, 384, 512, 1024]

# share, multiplier, rounds, delta
SETTINGS = [
    (0.001, 0.5, 10, 1e-5), (0.001, 0.5, 10000, 1e-8), (0.001, 1.0, 10000, 1e-6), (0.001, 4.0, 10000, 1e-5), (0.004, 1.1, 3750, 1e-5),
    (0.01, 0.5, 100, 1e-6), (0.01, 0.8, 1000, 1e-5), (0.01, 1.0, 10000, 1e-7), (0.01, 2.0, 1000, 1e-8), (0.01, 8.0, 10, 1e-5),
    (0.05, 0.7, 1, 1e-5), (0.05, 1.5, 500, 1e-6), (0.1, 0.5, 30, 1e-5), (0.1, 1.0, 30, 1e-5), (0.1, 1.0, 100, 1e-8),
    (0.1, 8.0, 10000, 1e-5), (0.3, 1.3, 50, 1e-6), (0.5, 0.6, 5, 1e-5), (0.9, 2.0, 20, 1e-5),
    (1.0, 0.5, 1, 1e-5), (1.0, 1.0, 10, 1e-8), (1.0, 5.0, 1, 1e-5), (1.0, 8.0, 10000, 1e-6),
]


# share, multiplier, order
RDP_SETTINGS = [(share, multiplier, order) for share in (1e-6, 0.001, 0.1, 0.5, 0.99)
                for multiplier, order in ((0.05, 1.05), (0.3, 1.5), (0.5, 2), (0.5, 10.9), (1, 1.3), (1, 32), (2, 4.7), (4, 1.7), (8, 256), (50, 8.3))]


# multiplier, rounds of a tree, trees, delta
TREE_SETTINGS = [
    (0.5, 1, 1, 1e-5), (1.0, 1, 10, 1e-5), (1.0, 2, 1, 1e-6), (0.7, 3, 2, 1e-3), (2.0, 4, 5, 1e-5), (1.5, 7, 3, 1e-8), (1.5, 8, 3, 1e-8),
    (4.0, 15, 20, 1e-5), (4.0, 16, 20, 1e-5), (8.0, 100, 10, 1e-6), (3.0, 1000, 1, 1e-5), (10.0, 1600, 4, 1e-7), (20.0, 65536, 50, 1e-9),
]


def epsilon(share, multiplier, rounds, delta):
    accountant = dpa.rdp.RdpAccountant(ORDERS)
    accountant.compose(dpa.PoissonSampledDpEvent(share, dpa.GaussianDpEvent(multiplier)), rounds)
    return accountant.get_epsilon(delta)


def tree_epsilon(multiplier, rounds, trees, delta):
    """Trees that end with an epoch: a client takes part once in each."""
    accountant = dpa.rdp.RdpAccountant(ORDERS, dpa.NeighboringRelation.REPLACE_SPECIAL)
    accountant.compose(dpa.SingleEpochTreeAggregationDpEvent(multiplier, rounds), trees)
    return accountant.get_epsilon(delta)


def rdp(share, multiplier, order):
    """log E[((1 - q) + q exp((2x - 1) / (2z²)))^α] / (α - 1) for normal x with standard deviation z. Tanh-sinh quadrature of the bracket minus
    1 - α (u - 1), whose mean is 0, so that no digits are lost where the mean of the rest is small."""
    q, z, order = mp.mpf(share), mp.mpf(multiplier), mp.mpf(order)

    def density(x):
        rest = q * mp.expm1((2 * x - 1) / (2 * z * z))
        return mp.npdf(x, 0, z) * ((1 + rest) ** order - 1 - order * rest)

    corner = mp.mpf(1) / 2 + z * z * mp.log(1 / q - 1)  # where both parts of the bracket are alike
    low, high = -14 * z, order + 14 * z
    points = {low, high, *(point for centre in (0, 1, order, corner) for step in (-10, -5, -2, 0, 2, 5, 10) if low < (point := centre + z * step) < high)}
    return mp.log1p(mp.quad(density, sorted(points), maxdegree=7)) / (order - 1)


def write(name, package, header, rows):
    lines = [f"# by privacy_epsilon.py with {package} {importlib.metadata.version(package)}", header]
    lines += [",".join(f"{float(value):.15g}" for value in row) for row in rows]
    (Path(__file__).parent / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    write("privacy_epsilon.csv", "dp-accounting", "share,multiplier,rounds,delta,epsilon", [(*one, epsilon(*one)) for one in SETTINGS])
    write("privacy_tree.csv", "dp-accounting", "multiplier,restart_every,trees,delta,epsilon", [(*one, tree_epsilon(*one)) for one in TREE_SETTINGS])
    mp.dps = 30
    write("privacy_rdp.csv", "mpmath", "share,multiplier,order,rdp", [(*one, rdp(*one)) for one in RDP_SETTINGS])


if __name__ == "__main__":
    main()
