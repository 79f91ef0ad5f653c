"""Formulas of papers in NumPy, written from the papers and not from the files of configs/methods. tests/golden/methods.py compares both.

A function gets the keys h, a client c (g, g_2, w, w_t, w_0, local, its memories, lr, step, steps), the server s (w, its memories, server_lr, clients, received) and the
cohort k (n, steps, loss, sent_loss, u [K, P], reports, what else comes up [K, P]), and returns {place: {target: value}}, or a part of it.
"""
import numpy as np


def mean_by_examples(k, vectors):
    return (k.n[:, None] * vectors).sum(0) / k.n.sum()


def fedavg(h, c, s, k):  # McMahan et al. 2017, Algorithm 1, last line: sum of n_k / n * w_k
    return {"aggregates": {"u": mean_by_examples(k, s.w + k.u) - s.w}}


def fedavgm(h, c, s, k):  # Hsu et al. 2019
    v = h.beta * s.v + mean_by_examples(k, k.u)
    return {"server": {"v": v, "w": s.w + s.server_lr * v}}


def adaptive(h, s, k, v):  # Reddi et al. 2021, Algorithm 2
    m = h.beta1 * s.m + (1 - h.beta1) * mean_by_examples(k, k.u)
    return {"first": {"v": h.tau**2}, "server": {"m": m, "v": v, "w": s.w + s.server_lr * m / (np.sqrt(v) + h.tau)}}


def fedadagrad(h, c, s, k):
    return adaptive(h, s, k, s.v + mean_by_examples(k, k.u) ** 2)


def fedadam(h, c, s, k):
    return adaptive(h, s, k, h.beta2 * s.v + (1 - h.beta2) * mean_by_examples(k, k.u) ** 2)


def fedyogi(h, c, s, k):
    squares = mean_by_examples(k, k.u) ** 2
    return adaptive(h, s, k, s.v - (1 - h.beta2) * squares * np.sign(s.v - squares))


def fedams(h, c, s, k):  # Wang, Lin and Chen 2022, option 1
    d = mean_by_examples(k, k.u)
    m, v = h.beta1 * s.m + (1 - h.beta1) * d, h.beta2 * s.v + (1 - h.beta2) * d**2
    v_max = np.max([s.v_max, v, np.full_like(v, h.eps)], axis=0)
    return {"server": {"m": m, "v": v, "v_max": v_max, "w": s.w + s.server_lr * m / np.sqrt(v_max)}}


def fedprox(h, c, s, k):  # gradient of F_k(w) + mu/2 |w - w_t|^2
    return {"gradient": {"g": c.g + h.mu * (c.w - c.w_t)}}


def scaffold(h, c, s, k):  # Karimireddy et al. 2020, Algorithm 1, lines 12 to 17, option II
    c_plus = c.c_k - c.c + (c.w_t - c.w) / (c.steps * c.lr)
    return {"gradient": {"g": c.g - c.c_k + c.c}, "end": {"c_k": c_plus, "d": c_plus - c.c_k},
            "server": {"w": s.w + s.server_lr / len(k.u) * k.u.sum(0), "c": s.c + len(k.u) / s.clients * k.d.mean(0)}}


def feddyn(h, c, s, k):  # Acar et al. 2021, Algorithm 1
    h_next = s.h - h.alpha / s.clients * k.u.sum(0)
    return {"gradient": {"g": c.g - c.g_k + h.alpha * (c.w - c.w_t)}, "end": {"g_k": c.g_k - h.alpha * (c.w - c.w_t)},
            "server": {"h": h_next, "w": (s.w + k.u).mean(0) - h_next / h.alpha}}


def fednova(h, c, s, k):  # Wang et al. 2020, equation 7; |a_k|_1 summed step by step: a_i = (1 + rho + … + rho^(tau - i))
    norms = np.array([sum(sum(h.rho**j for j in range(tau - i)) for i in range(tau)) for tau in k.steps])
    p = k.n / k.n.sum()
    return {"server": {"w": s.w + s.server_lr * (p @ norms) * ((p / norms) @ k.u)}}


def qfedavg(h, c, s, k):  # Li et al. 2020, Algorithm 2: w - sum Delta_k / sum h_k
    change = h.L * -k.u
    delta = k.sent_loss[:, None] ** h.q * change
    h_k = h.q * k.sent_loss ** (h.q - 1) * (change**2).sum(1) + h.L * k.sent_loss**h.q
    return {"server": {"w": s.w - delta.sum(0) / h_k.sum()}}


def term(h, c, s, k):  # Li et al. 2021: weights e^(t F_k), normalised
    weight = np.exp(h.t * k.sent_loss)
    return {"cohort": {"weight": weight / weight.sum()}, "aggregates": {"u": weight @ k.u / weight.sum()}}


def rfa(h, c, s, k):  # Pillutla et al. 2022, Algorithm 2
    alpha = k.n / k.n.sum()
    v = alpha @ k.u
    for _ in range(3):
        beta = np.array([a / max(h.nu, np.sqrt(((v - one) ** 2).sum())) for a, one in zip(alpha, k.u)])
        v = beta @ k.u / beta.sum()
    return {"cohort": {"weight": beta / beta.sum()}, "aggregates": {"u": v}}


def multi_krum(h, c, s, k):  # Blanchard et al. 2017, section 3: the n - f - 2 closest of the others
    others = [[((a - b) ** 2).sum() for j, b in enumerate(k.u) if j != i] for i, a in enumerate(k.u)]
    scores = [sum(sorted(row)[:len(k.u) - h.f - 2]) for row in others]
    return {"aggregates": {"u": k.u[np.argsort(scores)[:h.m]].mean(0)}}


def fedexp(h, c, s, k):  # Jhunjhunwala et al. 2023, Algorithm 1
    mean = k.u.mean(0)
    rate = max(1, (k.u**2).sum() / (2 * len(k.u) * ((mean**2).sum() + h.eps)))
    return {"server": {"w": s.w + rate * mean}}


def fedcm(h, c, s, k):  # Xu et al. 2021, Algorithm 2; D of the round is mean of (w_t - w_k) / (lr * K)
    return {"gradient": {"g": h.alpha * c.g + (1 - h.alpha) * c.D}, "end": {"d": -(c.w - c.w_t) / (c.lr * c.steps)},
            "server": {"D": k.d.mean(0), "w": s.w + s.server_lr * k.u.mean(0)}}


def mimelite(h, c, s, k):  # Karimireddy et al. 2020, Algorithm 1: lines of MimeLite, U and V of SGDm
    return {"gradient": {"g": (1 - h.beta) * c.g + h.beta * c.m}, "end": {"full": c.g_t},
            "server": {"m": (1 - h.beta) * k.full.mean(0) + h.beta * s.m, "w": s.w + s.server_lr * k.u.mean(0)}}


def fedacg(h, c, s, k):  # Kim et al. 2024: Delta counts from where the visit began
    begin = s.w + vars(h)["lambda"] * s.m
    m = vars(h)["lambda"] * s.m + mean_by_examples(k, s.w + k.u - begin)
    return {"start": {"w": c.w_t + vars(h)["lambda"] * c.m}, "gradient": {"g": c.g + h.beta * (c.w - c.w_0)},
            "server": {"m": m, "w": s.w + m}}


def slowmo(h, c, s, k):  # Wang et al. 2020, Algorithm 1, lines 7 and 8
    lr = k.rate.mean()
    m = h.beta * s.m + (s.w - mean_by_examples(k, s.w + k.u)) / lr
    return {"end": {"rate": c.lr}, "server": {"m": m, "w": s.w - s.server_lr * lr * m}}


def fedadmm(h, c, s, k):  # Gong, Li and Freris 2022: what comes up is the change of w_k + y_k / rho
    y = c.y_k + h.rho * (c.w - c.w_t)
    return {"gradient": {"g": c.g + c.y_k + h.rho * (c.w - c.w_t)},
            "end": {"y_k": y, "own": c.w, "d": (c.w + y / h.rho) - (c.own + c.y_k / h.rho)},
            "server": {"w": s.w + s.server_lr / len(k.d) * k.d.sum(0)}}


def fedpd(h, c, s, k):  # Zhang et al. 2021, Algorithm 1: the mean of w_k + eta * y_k
    y = c.y_k + (c.w - c.w_t) / h.eta
    return {"end": {"y_k": y, "d": c.w + h.eta * y - c.w_t}, "server": {"w": (s.w + k.d).mean(0)}}


def fedinit(h, c, s, k):  # Sun, Shen and Tao 2023
    return {"start": {"w": c.w_t + h.beta * (c.w_t - c.last)}, "end": {"last": c.w}}


def mifa(h, c, s, k):  # Gu et al. 2021: h has N clients' last updates; the cohort's replace their own
    kept = np.zeros((s.clients, k.u.shape[1]))
    kept[:] = s.mean_of_all  # any list of this mean
    kept[:len(k.d)] += k.d
    return {"end": {"d": c.u - c.last, "last": c.u}, "server": {"mean_of_all": kept.mean(0), "w": s.w + s.server_lr * kept.mean(0)}}


def fedvarp(h, c, s, k):  # Jhunjhunwala et al. 2022, Algorithm 2; d is u_k - y_k
    return {"server": {"w": s.w + s.server_lr * (s.y_mean + k.d.mean(0)), "y_mean": s.y_mean + k.d.sum(0) / s.clients}}


def proxskip(h, c, s, k):  # Mishchenko et al. 2022, Algorithm 2: the client's h after the last exchange, whose result is w_t
    h_k = c.h_k + h.p / c.lr * (c.w_t - c.last)
    return {"gradient": {"g": c.g - h_k}, "end": {"h_k": h_k, "last": c.w}, "server": {"w": (s.w + k.u).mean(0)}}


def slsgd(h, c, s, k):  # Xie, Koyejo and Gupta 2019, Algorithm 1
    return {"server": {"w": (1 - h.alpha) * s.w + h.alpha * mean_by_examples(k, s.w + k.u)}}


def diloco(h, c, s, k):  # Douillard et al. 2023: Nesterov as PyTorch's SGD has it, on the outer gradient
    gradient = (s.w - (s.w + k.u)).mean(0)
    m = h.mu * s.m + gradient
    return {"server": {"m": m, "w": s.w - s.server_lr * (gradient + h.mu * m)}}


def easgd(h, c, s, k):  # Zhang, Choromanska and LeCun 2015, equations 3 and 4
    models = s.w + k.u
    return {"start": {"w": c.own}, "end": {"own": c.w - h.alpha * (c.w - c.w_t)}, "server": {"w": s.w + h.alpha * (models - s.w).sum(0)}}


def feddc(h, c, s, k):  # Gao et al. 2022: the mean of w_k + h_k; h of the cohort's clients grows by u_k
    return {"gradient": {"g": c.g + h.alpha * (c.w - (c.w_t - c.h_k)) + c.c - c.c_k}, "end": {"h_k": c.h_k + c.w - c.w_t},
            "server": {"w": (s.w + k.u).mean(0) + s.h + k.u.sum(0) / s.clients}}


def norm_bounding(h, c, s, k):  # Sun et al. 2019
    bounded = [u / max(1, np.sqrt(u @ u) / h.M) for u in k.u]
    return {"server": {"w": s.w + s.server_lr * np.mean(bounded, axis=0)}}


def adaptive_clip(h, c, s, k):  # Andrew et al. 2021, Algorithm 1
    norm = np.sqrt(c.u @ c.u)
    return {"first": {"C": h.first_clip}, "end": {"clipped": c.u * min(1, c.C / norm), "whole": float(norm <= c.C)},
            "server": {"C": s.C * np.exp(-h.rate * (k.whole.mean() - h.quantile)), "w": s.w + s.server_lr * k.clipped.mean(0)}}


def signsgd(h, c, s, k):  # Bernstein et al. 2019, Algorithm 1
    return {"end": {"vote": np.sign(c.u)}, "server": {"w": s.w + s.server_lr * np.sign(k.vote.sum(0))}}


def ef_signsgd(h, c, s, k):  # Karimireddy et al. 2019, Algorithm 1
    p = c.u + c.e_k
    sent = np.abs(p).sum() / len(p) * np.sign(p)
    return {"end": {"sent": sent, "e_k": p - sent}}


def fedatt(h, c, s, k):  # Ji et al. 2019, equations 3 to 5, with one layer
    distances = np.array([np.linalg.norm(s.w - w_k) for w_k in s.w + k.u])
    attention = np.exp(distances - distances.max())
    attention /= attention.sum()
    return {"server": {"w": s.w - h.eps * sum(a * (s.w - w_k) for a, w_k in zip(attention, s.w + k.u))}}


def celgc(h, c, s, k):  # Liu et al. 2022: a step is min(eta, gamma / |g|) * g
    return {"gradient": {"g": min(c.lr, h.gamma / np.sqrt(c.g @ c.g)) * c.g / c.lr}}


def fedsam(h, c, s, k):  # Qu et al. 2022, Algorithm 1: the gradient at w + rho * g / |g|
    return {"second": {"w_2": c.w + h.rho * c.g / np.sqrt(c.g @ c.g)}, "gradient": {"g": c.g_2}}


def mofedsam(h, c, s, k):  # Qu et al. 2022, Algorithm 2
    drift = (c.w_t - c.w) / (c.steps * c.lr)
    return {"second": {"w_2": c.w + h.rho * c.g / np.sqrt(c.g @ c.g)}, "gradient": {"g": h.beta * c.g_2 + (1 - h.beta) * c.D}, "end": {"d": drift},
            "server": {"w": s.w + s.server_lr * k.u.mean(0), "D": k.d.mean(0)}}


def fedspeed(h, c, s, k):  # Sun et al. 2023, Algorithm 1: quasi-gradient, prox-correction, and what is sent: w_k - lambda * c_k
    scale = getattr(h, "lambda")
    kept = c.c_k - 1 / scale * (c.w - c.w_t)
    quasi = c.g + h.alpha * (c.g_2 - c.g)
    return {"second": {"w_2": c.w + h.rho * c.g}, "gradient": {"g": quasi - c.c_k + 1 / scale * (c.w - c.w_t)}, "end": {"c_k": kept, "d": -scale * kept},
            "server": {"w": (s.w + k.u + k.d).mean(0)}}


def mime(h, c, s, k):  # Karimireddy et al. 2020: y <- y - lr * ((1 - beta) * (g - g_t + c) + beta * m)
    control = k.seen.mean(0)
    return {"second": {"w_2": c.w_t}, "gradient": {"g": h.beta * c.m + (1 - h.beta) * (c.g - c.g_2 + c.c), "seen": c.seen + c.g_2 / c.steps},
            "server": {"w": s.w + s.server_lr * k.u.mean(0), "c": control, "m": h.beta * s.m + (1 - h.beta) * control}}


def ditto(h, c, s, k):  # Li et al. 2021: v <- v - lr * (gradient of F_k at v + lambda * (v - w_t))
    return {"second": {"w_2": c.v}, "gradient": {"g": c.g, "v": c.v - c.lr * c.g_2 - c.lr * getattr(h, "lambda") * (c.v - c.w_t)}, "judge": {"w": c.v}}


def apfl(h, c, s, k):  # Deng et al. 2020: v <- v - lr * gradient with respect to v of F_k(alpha * v + (1 - alpha) * w), alpha times that at the mixture
    return {"second": {"w_2": c.w + h.alpha * (c.v - c.w)}, "gradient": {"g": c.g, "v": c.v - h.alpha * c.lr * c.g_2},
            "judge": {"w": c.w_t + h.alpha * (c.v - c.w_t)}}


def pfedme(h, c, s, k):  # T. Dinh et al. 2020: the own model steps K times, then the local one once
    pull = getattr(h, "lambda")
    own = c.w - c.lr * (c.g + pull * (c.w - c.c))
    assert c.step + 1 == h.K  # here the local one moves
    return {"gradient": {"g": (c.w - own) / c.lr, "c": (1 - h.eta * pull) * c.c + h.eta * pull * own}, "end": {"theta": c.w, "d": c.c - c.w_t},
            "server": {"w": (1 - h.beta) * s.w + h.beta * (s.w + k.d).mean(0)}, "judge": {"w": c.theta}}


def per_fedavg(h, c, s, k):  # Fallah et al. 2020, first order: the gradient on other data where one step leads
    return {"second": {"w_2": c.w - h.alpha * c.g}, "gradient": {"g": c.g_2}}


def fedrep(h, c, s, k):  # Collins et al. 2021: head steps, then body steps
    trained = c.local if c.step / c.steps < h.head else 1 - c.local
    return {"gradient": {"g": np.where(trained == 1, c.g, 0)}}


def fedbabu(h, c, s, k):  # Oh et al. 2022
    return {"gradient": {"g": np.where(c.local == 1, 0, c.g)}}


def feddane(h, c, s, k):  # Li et al. 2020: gradient of F_k + <c - gradient of F_k at w_t, w - w_t> + mu/2 |w - w_t|^2
    return {"gradient": {"g": c.g + (c.c - c.g_t) + h.mu * (c.w - c.w_t)}, "end": {"full": c.g_t},
            "server": {"w": (s.w + k.u).mean(0), "c": k.full.mean(0)}}


def fedgamma(h, c, s, k):  # Dai et al. 2023: SCAFFOLD with FedSAM's gradient
    of_scaffold = scaffold(h, c, s, k)
    return {**of_scaffold, "second": {"w_2": c.w + h.rho * c.g / np.sqrt(c.g @ c.g)}, "gradient": {"g": c.g_2 - c.c_k + c.c}}


def fedlesam(h, c, s, k):  # Fan et al. 2024
    way = c.old - c.w_t
    return {"second": {"w_2": c.w + h.rho * way / (np.sqrt(way @ way) + 1e-12)}, "gradient": {"g": c.g_2}, "end": {"old": c.w_t}}


def fedcurv(h, c, s, k):  # Shoham et al. 2019; gradient of lambda * sum_j I_j (w - w_j)^2 for two clients with these sums
    one, other = c.A / 3, c.A * 2 / 3
    w_one = c.w_t
    w_other = (c.B - one * w_one) / other
    penalty = 2 * getattr(h, "lambda") * (one * (c.w - w_one) + other * (c.w - w_other))
    return {"gradient": {"g": c.g + penalty, "fisher": c.fisher + c.g**2 / c.steps}, "end": {"point": c.w * c.fisher},
            "server": {"w": (s.w + k.u).mean(0), "A": k.fisher.sum(0), "B": k.point.sum(0)}}


def local_only(h, c, s, k):
    return {"start": {"w": c.own}, "end": {"own": c.w}, "server": {"w": s.w}, "judge": {"w": c.own}}


def fedamp(h, c, s, k):  # Huang et al. 2021: u_i = (1 - alpha sum_j A'(|w_i - w_j|^2)) w_i + alpha sum_j A'(..) w_j, A(x) = 1 - exp(-x / sigma)
    models, me = s.w_t + k.u, int(np.argmax(k.me))
    slopes = [0 if j == me else h.alpha * np.exp(-((models[me] - w_j) ** 2).sum() / h.sigma) / h.sigma for j, w_j in enumerate(models)]
    cloud = (1 - sum(slopes)) * models[me] + sum(slope * w_j for slope, w_j in zip(slopes, models))
    return {"start": {"w": c.own}, "gradient": {"g": c.g + getattr(h, "lambda") / h.alpha * (c.w - c.cloud)}, "end": {"own": c.w}, "mix": {"cloud": cloud},
            "judge": {"w": c.own}}


def pfedgraph(h, c, s, k):  # Ye et al. 2023: min_a alpha |a - p|^2 - <a, cosines> on the simplex; F_i - lambda cos(w, u_i)
    me, shares = int(np.argmax(k.me)), k.n / k.n.sum()
    cosines = np.array([u @ k.u[me] / np.sqrt((u @ u) * (k.u[me] @ k.u[me])) for u in k.u])
    a = shares.copy()
    for _ in range(20000):  # gradient steps, each brought back to the simplex by bisection
        a = a - 0.05 * (2 * h.alpha * (a - shares) - cosines)
        low, high = a.min() - 1, a.max()
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(a - middle, 0).sum() > 1 else (low, middle)
        a = np.maximum(a - low, 0)
    def cosine(w):
        return w @ c.cloud / np.sqrt((w @ w) * (c.cloud @ c.cloud))
    length = np.sqrt((c.w @ c.w) * (c.cloud @ c.cloud))
    slope = c.cloud / length - cosine(c.w) * c.w / (c.w @ c.w)
    return {"start": {"w": c.cloud}, "gradient": {"g": c.g - getattr(h, "lambda") * slope}, "end": {"own": c.w}, "mix": {"cloud": s.w_t + a @ k.u},
            "judge": {"w": c.own}}


def fedfomo(h, c, s, k):  # Zhang et al. 2021, equations 3 to 5, with the own model of this round
    models, me = s.w_t + k.u, int(np.argmax(k.me))
    own, w = models[me], np.zeros(len(models))
    for j, model in enumerate(models):
        if j != me:
            w[j] = max(0, (k.their_loss[me] - k.their_loss[j]) / np.sqrt(((model - own) ** 2).sum()))
    next_start = own + sum(w_j / w.sum() * (model - own) for w_j, model in zip(w, models))
    return {"start": {"w": c.next_start}, "end": {"own": c.w}, "mix": {"next_start": next_start}, "judge": {"w": c.own}}


def ifca(h, c, s, k):  # Ghosh et al. 2020: the model with the least loss is trained; each becomes the mean of those trained from it
    best, models = int(np.argmin([c.F_1, c.F_2, c.F_3])), (c.m_1, c.m_2, c.m_3)
    trained = s.w + k.u
    means = [trained[took > 0].mean(0) if (took > 0).any() else m for m, took in ((s.m_1, k.took_1), (s.m_2, k.took_2), (s.m_3, k.took_3))]
    return {"start": {"w": models[best]}, "end": {"took_1": best == 0, "took_2": best == 1, "took_3": best == 2, "mine": best},
            "server": {"w": sum(means) / 3, **{f"m_{j + 1}": m for j, m in enumerate(means)}}, "judge": {"w": models[int(c.mine)]}}


def largest(x, share):  # 1 for the values of largest magnitude
    return np.isin(np.arange(len(x)), np.argsort(-abs(x), kind="stable")[:max(1, int(share * len(x) + 0.5))]) | (abs(x) == np.sort(abs(x))[-max(1, int(share * len(x) + 0.5))])


def dgc(h, c, s, k):  # Lin et al. 2018
    moving = h.beta * c.m + c.u
    goes = largest(c.v + moving, h.kept)
    return {"end": {"sent": np.where(goes, c.v + moving, 0), "v": np.where(goes, 0, c.v + moving), "m": np.where(goes, 0, moving)},
            "server": {"w": s.w + s.server_lr * k.sent.mean(0)}}


def fedht(h, c, s, k):  # Tong et al. 2020
    mean = s.w + (k.n / k.n.sum()) @ k.u
    return {"server": {"w": mean * largest(mean, h.kept)}}


def fediterht(h, c, s, k):  # Tong et al. 2020: w <- H(w - lr * g)
    moved = c.w - c.lr * c.g
    return {"gradient": {"g": (c.w - moved * largest(moved, h.kept)) / c.lr}, **fedht(h, c, s, k)}


def sparsefed(h, c, s, k):  # Panda et al. 2022
    moving = h.rho * s.m + np.mean([u / max(1, np.linalg.norm(u) / h.L) for u in k.u], 0)
    error = s.e + s.server_lr * moving
    taken = largest(error, h.kept)
    return {"server": {"w": s.w + error * taken, "e": error * ~taken, "m": moving * ~taken}}


def doublesqueeze(h, c, s, k):  # Tang et al. 2019, with 1-bit compression
    def squeezed(v):
        return np.abs(v).sum() / len(v) * np.where(v > 0, 1, -1)
    up, down = c.u + c.e_k, k.sent.mean(0) + s.e
    return {"end": {"sent": squeezed(up), "e_k": up - squeezed(up)}, "server": {"w": s.w + s.server_lr * squeezed(down), "e": down - squeezed(down)}}


def fedmos(h, c, s, k):  # Wang et al. 2023: d and w as the paper has them
    d = c.g + (1 - h.a) * (c.d - c.g_2)
    moved = (1 - h.mu) * c.w - c.lr * d + h.mu * c.w_t
    return {"second": {"w_2": c.before}, "gradient": {"g": (c.w - moved) / c.lr, "d": d, "before": c.w}}


def pfedsd(h, c, s, k):
    return {"end": {"own": c.w}, "judge": {"w": c.own}}


def dpsgd(h, c, s, k):  # Lian et al. 2017: w_i <- sum_j W_ij w_j; of clients 1, 4, 5, 6 and 9, the one in the middle has two neighbours
    return {"start": {"w": c.own}, "mix": {"own": s.w_t + h.share * k.u[1] + (1 - 2 * h.share) * k.u[2] + h.share * k.u[3]}, "judge": {"w": c.own}}


PAPERS = {function.__name__: function for function in (
    fedavg, fedavgm, fedadagrad, fedadam, fedyogi, fedams, fedprox, scaffold, feddyn, fednova, qfedavg, term, fedexp, fedcm, fedacg, slowmo, fedadmm,
    fedpd, fedinit, mifa, fedvarp, proxskip, slsgd, diloco, easgd, feddc, norm_bounding, adaptive_clip, signsgd, ef_signsgd, fedatt, celgc,
    fedsam, mofedsam, fedspeed, mime, ditto, apfl, pfedme, per_fedavg, fedrep, fedbabu,
    mimelite, feddane, fedgamma, fedlesam, fedcurv, local_only, rfa, multi_krum, fedamp, fedfomo, pfedgraph, dpsgd, ifca, dgc, fedht, fediterht, sparsefed, doublesqueeze, fedmos, pfedsd)}
