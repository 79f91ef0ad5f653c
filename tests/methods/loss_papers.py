"""Losses of papers in NumPy, written from the papers and not from the files of configs/methods. tests/golden/methods.py compares both.

A function gets the keys h, logits [B, C], features z [B, d], labels y [B], counts [C], and what other models give for the same examples,
{name: (logits, z)}, and memories by class, {name: [C, d], [C, C] or [C]}; it returns the loss of each example, [B]. Analytic in logits and z, so that gradients are exact by a step along the
imaginary axis (Squire and Trapp 1998): no absolute values, no complex conjugates.
"""
import numpy as np


def probabilities(logits):
    powers = np.exp(logits)
    return powers / powers.sum(1)[:, None]


def of_label(values, y):
    return values[range(len(y)), y]


def supervised(logits, y):
    return -np.log(of_label(probabilities(logits), y))


def similarity(a, b):
    return (a * b).sum(1) / np.sqrt((a**2).sum(1)) / np.sqrt((b**2).sum(1))


def moon(h, logits, z, y, counts, others):  # Li, He and Song 2021: l_sup + mu * l_con
    near = np.exp(similarity(z, others["sent"][1]) / h.temperature)
    far = np.exp(similarity(z, others["before"][1]) / h.temperature)
    return supervised(logits, y) - h.mu * np.log(near / (near + far))


def fedlc(h, logits, z, y, counts, others):  # Zhang et al. 2022: -log of e^(f_y - tau n_y^(-1/4)) over the sum of e^(f_c - tau n_c^(-1/4))
    present = np.where(counts > 0, counts, 1e-8)
    powers = np.exp(logits) / np.exp(h.tau / np.sqrt(np.sqrt(present)))
    return np.log(powers.sum(1)) - np.log(of_label(powers, y))


def fedrs(h, logits, z, y, counts, others):  # Li and Zhan 2021: scores of missing classes times alpha
    scale = np.array([1.0 if n > 0 else h.alpha for n in counts])
    return supervised(logits * scale, y)


def fedntd(h, logits, z, y, counts, others):  # Lee et al. 2022: cross-entropy + beta * KL over the classes other than the label
    losses = []
    for b, label in enumerate(y):
        others_than = [c for c in range(logits.shape[1]) if c != label]
        q = probabilities(logits[b:b + 1, others_than] / h.tau)[0]
        p = probabilities(others["sent"][0][b:b + 1, others_than] / h.tau)[0]
        losses.append((p * np.log(p / q)).sum())
    return supervised(logits, y) + h.beta * np.array(losses)


def fedgkd(h, logits, z, y, counts, others):  # Yao et al. 2021: cross-entropy + gamma/2 * KL(teacher, student)
    p, q = probabilities(others["sent"][0]), probabilities(logits)
    return supervised(logits, y) + h.gamma / 2 * (p * np.log(p / q)).sum(1)


def pfedsd(h, logits, z, y, counts, others):  # Jin et al. 2023: cross-entropy + lambda * KL(teacher, student) at a temperature
    p, q = probabilities(others["before"][0] / h.tau), probabilities(logits / h.tau)
    return supervised(logits, y) + getattr(h, "lambda") * (p * np.log(p / q)).sum(1)


def fedphp(h, logits, z, y, counts, others):  # Li et al. 2021: (1 - lambda) * cross-entropy + lambda * KL(inherited model, student)
    p, q = probabilities(others["old"][0] / h.tau), probabilities(logits / h.tau)
    share = getattr(h, "lambda")
    return (1 - share) * supervised(logits, y) + share * (p * np.log(p / q)).sum(1)


def focal(h, logits, z, y, counts, others):  # Lin et al. 2017: -(1 - p)^gamma log p
    p = of_label(probabilities(logits), y)
    return -((1 - p) ** h.gamma) * np.log(p)


def label_smoothing(h, logits, z, y, counts, others):  # Szegedy et al. 2016: the target is 1 - eps + eps / C, and eps / C elsewhere
    classes = logits.shape[1]
    target = np.full(logits.shape, h.epsilon / classes)
    target[range(len(y)), y] += 1 - h.epsilon
    return -(target * np.log(probabilities(logits))).sum(1)


def balanced_softmax(h, logits, z, y, counts, others):  # Ren et al. 2020, equation 4: n_c e^(f_c) over their sum
    powers = counts * np.exp(logits)
    return -np.log(of_label(powers, y) / powers.sum(1))


def logit_adjustment(h, logits, z, y, counts, others):  # Menon et al. 2021, equation 10: log(1 + sum over c of (pi_c / pi_y)^tau e^(f_c - f_y))
    share = np.where(counts > 0, counts, 1e-8) / counts.sum()
    return np.log(sum((share[c] / share[y]) ** h.tau * np.exp(logits[:, c] - of_label(logits, y)) for c in range(logits.shape[1])))


def class_balanced(h, logits, z, y, counts, others):  # Cui et al. 2019: weights 1 / E_n, E_n = (1 - beta^n) / (1 - beta), that sum up to C
    weights = np.array([1 / sum(h.beta**j for j in range(n)) if n > 0 else 0 for n in counts])
    return (len(counts) * weights / weights.sum())[y] * supervised(logits, y)


def fedir(h, logits, z, y, counts, others):  # Hsu, Qi and Brown 2020: p(y) / p_k(y), p even
    of_client = counts / counts.sum()
    return 1 / len(counts) / of_client[y] * supervised(logits, y)


def propfair(h, logits, z, y, counts, others):  # Zhang et al. 2022: -log(M - l), by its tangent at eps below eps
    utility = h.M - supervised(logits, y)
    high = utility.real >= h.eps
    tangent = np.log(h.eps) + (utility - h.eps) / h.eps
    return -np.where(high, np.log(np.where(high, utility, 1)), tangent)


def fedproto(h, logits, z, y, counts, others):  # Tan et al. 2022, equation 8, and the authors' mean over the elements of d
    apart = [((z[b] - others["P"][label]) ** 2).mean() if others["known"][label] > 0 else 0 for b, label in enumerate(y)]
    return supervised(logits, y) + h.pull * np.array(apart)


def fd(h, logits, z, y, counts, others):  # Jeong et al. 2018, Algorithm 1: the cross-entropy between the label's mean output and the own
    p = probabilities(logits)
    taught = -np.array([(others["F"][label] * np.log(p[b])).sum() for b, label in enumerate(y)])
    return supervised(logits, y) + h.gamma * np.where(others["known"][y] > 0, taught, 0)


def fedhkd(h, logits, z, y, counts, others):  # Chen, Zhang and Vikalo 2023: cross-entropy + lambda |q - Q| + gamma |z - H|
    p = probabilities(logits / h.T)
    more = [getattr(h, "lambda") * np.sqrt(((p[b] - others["Q"][label]) ** 2).sum()) + h.gamma * np.sqrt(((z[b] - others["H"][label]) ** 2).sum())
            if others["known"][label] > 0 else 0 for b, label in enumerate(y)]
    return supervised(logits, y) + np.array(more)


def fedproc(h, logits, z, y, counts, others):  # Mu et al. 2021: alpha = 1 - t/T; the contrast is among the classes that have a prototype
    alpha, losses = 1 - 7 / h.rounds, []
    present = [c for c in range(len(counts)) if others["known"][c] > 0]
    for b, (label, own) in enumerate(zip(y, supervised(logits, y))):
        near = {c: np.exp(similarity(z[b:b + 1], others["P"][c:c + 1])[0] / h.temperature) for c in present}
        losses.append((1 - alpha) * own - alpha * np.log(near[label] / sum(near.values())) if label in present else own)
    return np.array(losses)


def fedem(h, logits, z, y, counts, others):  # Marfoq et al. 2021, equations 8 and 10, of step 3 of 6, which is the second model's
    shares = [others[f"pi_{m}"] * of_label(probabilities(others[name][0]), y) for m, name in ((1, "one"), (2, "two"), (3, "three"))]
    return shares[1] / sum(shares) * supervised(logits, y)


def feddecorr(h, logits, z, y, counts, others):  # Shi et al. 2022: cross-entropy + beta / d^2 * |K|_F^2, K the correlation matrix of a batch
    n, d = z.shape
    centred = z - sum(z) / n
    covariance = centred.T @ centred / n + 1e-8 * np.eye(d)
    deviation = np.sqrt(np.diag(covariance))
    correlations = (centred.T @ centred / n) / np.outer(deviation, deviation)
    return supervised(logits, y) + h.beta * (correlations**2).sum() / d**2


OVER_BATCH = {"feddecorr"}  # an example's loss depends on the others of its batch
LOSS_PAPERS = {function.__name__: function for function in (moon, fedlc, fedrs, fedntd, fedgkd, focal, label_smoothing, balanced_softmax, logit_adjustment, class_balanced,
                                                            fedir, propfair, pfedsd, fedphp, fedproto, fd, fedhkd, fedproc, fedem, feddecorr)}


def _slope_of_sum(function, h, arguments, name, example, column):
    """Returns the derivative of the sum of the losses to one logit or feature."""
    logits, z, *rest = arguments
    moved = {"logits": logits, "z": z}
    moved[name] = moved[name].astype(complex)
    moved[name][example, column] += 1e-30j
    return np.imag(function(h, moved["logits"], moved["z"], *rest).sum()) / 1e-30


def gradients(function, h, logits, z, y, counts, others):
    """Returns (losses, {"logits": gradient [B, C], "z": gradient [B, d]}): of the examples' losses, where these are added."""
    step, found = 1e-30, {}
    for name, values in (("logits", logits), ("z", z)):
        columns = []
        if function.__name__ in OVER_BATCH:
            found[name] = np.array([[_slope_of_sum(function, h, (logits, z, y, counts, others), name, b, c) for c in range(values.shape[1])]
                                    for b in range(len(values))])
            continue
        for column in range(values.shape[1]):
            moved = values.astype(complex)
            moved[:, column] += 1j * step
            arguments = {"logits": logits, "z": z, name: moved}
            columns.append(np.imag(function(h, arguments["logits"], arguments["z"], y, counts, others)) / step)
        found[name] = np.stack(columns, 1)
    return function(h, logits, z, y, counts, others), found
