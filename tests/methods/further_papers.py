"""More formulas of papers in NumPy: tests/methods/papers.py says what a function gets and returns."""
import numpy as np

from papers import feddyn, fedlesam, mean_by_examples, scaffold


def fedasam(h, c, s, k):  # Caldarola et al. 2022; ASAM of Kwon et al. 2021: rho * T^2 g / |T g|, T = diag(|w| + eta)
    T = np.diag(np.abs(c.w) + h.eta)
    return {"second": {"w_2": c.w + h.rho * T @ T @ c.g / np.linalg.norm(T @ c.g)}, "gradient": {"g": c.g_2}}


def fednag(h, c, s, k):  # Yang et al. 2020, equations of a local step: v, then w + gamma * v - lr * g; both are averaged
    v = h.gamma * (c.v + c.change) - c.lr * c.g
    w = c.w + h.gamma * v - c.lr * c.g
    return {"gradient": {"g": (c.w - w) / c.lr, "change": v - c.v},
            "server": {"w": mean_by_examples(k, s.w + k.u), "v": mean_by_examples(k, s.v + k.change)}}


def fedac(h, c, s, k):  # Yuan and Ma 2020, Algorithm 1, from w^md of one step to that of the next
    gamma = h.ratio * c.lr
    alpha = 1 / (gamma * h.mu)
    beta = alpha + 1
    x, md = c.x + c.o, c.w  # o at the server is x - w^ag
    ag_next, x_next = md - c.lr * c.g, (1 - 1 / alpha) * x + md / alpha - gamma * c.g
    md_next = x_next / beta + (1 - 1 / beta) * ag_next
    w_ag, w_x = c.w_t, c.w_t + c.o
    return {"start": {"w": w_x / beta + (1 - 1 / beta) * w_ag},
            "gradient": {"g": (md - md_next) / c.lr, "x": x_next - c.o, "ag": ag_next},
            "end": {"way": c.ag - c.w_t, "gap": c.x + c.o - c.ag},
            "server": {"w": (s.w + k.way).mean(0), "o": (s.w + k.way + k.gap).mean(0) - (s.w + k.way).mean(0)}}


def fedmom(h, c, s, k):  # Huo et al. 2020, Algorithm 3: v_(t+1) = w_t - eta * g_t, w_(t+1) = v_(t+1) + beta * (v_(t+1) - v_t)
    v, v_next = s.w + s.o, s.w - s.server_lr * mean_by_examples(k, -k.u)
    w_next = v_next + h.beta * (v_next - v)
    return {"server": {"w": w_next, "o": v_next - w_next}}


def fedgate(h, c, s, k):  # Haddadpour et al. 2021: in the round before, D_k = (sent - own) / lr, and w_t = sent - lr * gamma * D
    D_k, D = (c.sent - c.own) / c.lr, (c.sent - c.w_t) / (c.lr * h.gamma)
    delta = c.delta + (D_k - D) / c.steps
    return {"gradient": {"g": c.g - delta}, "end": {"delta": delta, "own": c.w, "sent": c.w_t}, "server": {"w": s.w - h.gamma * (-k.u).mean(0)}}


def iiadmm(h, c, s, k):  # Ryu and Kim 2022: gradient of f(z) + <y, w - z> + rho/2 |w - z|^2; y <- y + rho * (w - z); w = mean of z - y / rho
    y = c.y_k + h.rho * (c.w_t - c.w)
    return {"start": {"w": c.z_k}, "gradient": {"g": c.g - c.y_k - h.rho * (c.w_t - c.w)},
            "end": {"y_k": y, "z_k": c.w, "d": c.w - y / h.rho - c.w_t}, "server": {"w": (s.w + k.d).mean(0)}}


def iceadmm(h, c, s, k):  # Zhou and Li 2021: primal step, then dual step, in each local step
    z = c.w - c.lr * (c.g - c.y_k - h.rho * (c.w_t - c.w))
    return {"start": {"w": c.z_k}, "gradient": {"g": (c.w - z) / c.lr, "y_k": c.y_k + h.rho * (c.w_t - z)},
            "end": {"z_k": c.w, "d": c.w - c.y_k / h.rho - c.w_t}, "server": {"w": (s.w + k.d).mean(0)}}


def fedsmoo(h, c, s, k):  # Sun et al. 2023: FedDC's drift h without its control variates; perturbations by the same scheme
    corrected = c.g - (c.mu_k + c.s)
    s_k = h.rho / (np.sqrt(corrected @ corrected) + 1e-7) * corrected
    mean_dual = k.dual.mean(0)
    h_next = s.h + k.u.sum(0) / s.clients
    return {"second": {"w_2": c.w + s_k}, "gradient": {"g": c.g_2 + h.alpha * (c.w - (c.w_t - c.h_k)), "mu_k": c.mu_k + (s_k - c.s)},
            "end": {"h_k": c.h_k + c.w - c.w_t, "dual": c.mu_k},
            "server": {"w": (s.w + k.u).mean(0) + h_next, "h": h_next, "s": h.rho * mean_dual / (np.linalg.norm(mean_dual) + 1e-7)}}


def adabest(h, c, s, k):  # Varno et al. 2022, Algorithm 1; the last mean model is w + h, the client's last visit was in the round that fills `seen`
    since = c.round + 1 - c.seen.mean()
    mean_before, mean = s.w + s.h, (s.w + k.u).mean(0)
    h_next = h.beta * (mean_before - mean)
    return {"gradient": {"g": c.g - c.h_k}, "end": {"h_k": 1 / since * c.h_k + h.mu * (c.w_t - c.w), "seen": c.seen + since}, "server": {"h": h_next, "w": mean - h_next}}


def fedprox_adaptive(h, c, s, k):  # Li et al. 2020, section 5.3.2
    loss = (k.n @ k.sent_loss) / k.n.sum()
    pull, falls = (s.pull + h.by, 0) if loss > s.last else (s.pull, s.falls + 1)
    if falls >= h.patience:
        pull, falls = pull - h.by, 0
    return {"first": {"last": 1e30, "pull": h.mu}, "gradient": {"g": c.g + c.pull * (c.w - c.w_t)},
            "server": {"w": s.w + mean_by_examples(k, k.u), "pull": max(pull, 0), "falls": falls, "last": loss}}


def delta_sgd(h, c, s, k):  # Kim et al. 2023, Algorithm 1
    rate = min(h.gamma * np.linalg.norm(c.w - c.before) / (2 * np.linalg.norm(c.g - c.g_before)), np.sqrt(1 + h.delta * c.grown.mean()) * c.rate.mean())
    return {"gradient": {"g": rate * c.g / c.lr, "before": c.w, "g_before": c.g, "rate": np.full(len(c.g), rate),
                         "grown": np.full(len(c.g), rate / c.rate.mean())}}


def scaffold_m(h, c, s, k):  # Cheng et al. 2024, Algorithm 2
    return {"gradient": {"g": h.beta * (c.g - c.c_k + c.c) + (1 - h.beta) * c.D, "seen": c.seen + c.g / c.steps},
            "end": {"c_k": c.seen, "d": c.seen - c.c_k, "drift": (c.w_t - c.w) / (c.lr * c.steps)},
            "server": {"w": s.w + s.server_lr * k.u.mean(0), "c": s.c + k.d.sum(0) / s.clients, "D": k.drift.mean(0)}}


def local_amsgrad(h, c, s, k):  # Chen, Li and Li 2020, Algorithm 3
    m, v = h.beta1 * c.m_k + (1 - h.beta1) * c.g, h.beta2 * c.v_k + (1 - h.beta2) * c.g * c.g
    return {"gradient": {"g": m / np.sqrt([max(x, h.eps) for x in c.v_max]), "m_k": m, "v_k": v}, "end": {"squares": c.v_k},
            "server": {"w": (s.w + k.u).mean(0), "v_max": np.maximum(s.v_max, k.squares.mean(0))}}


def fedsplit(h, c, s, k):  # Pathak and Wainwright 2020, Algorithm 1: z <- z + 2 * (prox(2 x - z) - x), x = mean of z
    reflected = 2 * c.w_t - c.z_k
    z = c.z_k + 2 * (c.w - c.w_t)
    return {"gradient": {"g": c.g + (c.w - reflected) / h.s}, "end": {"z_k": z, "d": z - c.w_t}, "server": {"w": (s.w + k.d).mean(0)}}


def feddr(h, c, s, k):  # Tran-Dinh et al. 2021, Algorithm 1: what comes up is the change of 2 x - y
    y = c.y_k + h.alpha * (c.w_t - c.x_k)
    return {"gradient": {"g": c.g + (c.w - y) / h.eta}, "end": {"x_k": c.w, "y_k": y, "d": (2 * c.w - y) - (2 * c.x_k - c.y_k)},
            "server": {"w": s.w + k.d.sum(0) / s.clients}}


def fedlin(h, c, s, k):  # Mitra et al. 2021, Algorithm 1: rate / steps, times gradient + c - gradient at w_t
    return {"gradient": {"g": (c.g + (c.c - c.g_t)) / c.steps}, "end": {"full": c.g_t}, "server": {"w": (s.w + k.u).mean(0), "c": k.full.mean(0)}}


def meta_sgd(h, c, s, k):  # Chen et al. 2018: gradient with respect to a of F(w - a * g) is -g * gradient there, element by element
    a = h.alpha + c.more + c.change
    a_next = a - c.lr * (-c.g * c.g_2)
    return {"second": {"w_2": c.w - a * c.g}, "gradient": {"g": c.g_2, "change": a_next - h.alpha - c.more},
            "server": {"w": s.w + mean_by_examples(k, k.u), "more": mean_by_examples(k, s.more + k.change)}}


def l2gd(h, c, s, k):  # Hanzely and Richtarik 2020, Algorithm 1: x_i <- (1 - a) x_i + a * mean
    return {"start": {"w": c.own + h.mix * (c.w_t - c.own)}, "end": {"own": c.w}, "server": {"w": (s.w + k.u).mean(0)}, "judge": {"w": c.own}}


def mr_mtl(h, c, s, k):  # Liu et al. 2022: gradient of F_k(w) + lambda/2 |w - mean|^2
    return {"start": {"w": c.own}, "gradient": {"g": c.g - getattr(h, "lambda") * (c.w_t - c.w)}, "end": {"own": c.w},
            "server": {"w": (s.w + k.u).mean(0)}, "judge": {"w": c.own}}


def fedphp(h, c, s, k):  # Li et al. 2021: the weight of the inherited model grows with the visits
    a = h.mu * min(1, c.visits / h.rounds)
    return {"end": {"own": a * c.own + (1 - a) * c.w, "visits": c.visits + 1}, "judge": {"w": c.own}}


def fedsoft(h, c, s, k):  # Ruan and Joe-Wong 2022: gradient of F_k(w) + lambda / 2 * sum of u_s |w - c_s|^2; c_s = sum of v_sk w_k, v_sk ~ u_sk n_k
    u = [max(h.sigma, share) for share in (c.share_1, c.share_2, c.share_3)]
    slopes = getattr(h, "lambda") * sum(u_s * (c.w - c_s) for u_s, c_s in zip(u, (c.c_1, c.c_2, c.c_3)))
    models = s.w + k.u
    means = [(k.n * of_cluster) @ models / (k.n @ of_cluster) for of_cluster in (k.u_1, k.u_2, k.u_3)]
    return {"start": {"w": c.own}, "gradient": {"g": c.g + slopes}, "end": {"own": c.w, "u_1": u[0], "u_2": u[1], "u_3": u[2]},
            "server": {"w": sum(means) / 3, "c_1": means[0], "c_2": means[1], "c_3": means[2]}, "judge": {"w": c.own}}


def fedhkd(h, c, s, k):  # Chen, Zhang and Vikalo 2023: clients send the classes that are more than a share of their examples; means by examples
    sends = c.counts / c.n * (c.counts / c.n > h.nu)
    mean = {name: np.tensordot(k.n / k.n.sum(), values, 1) for name, values in (("m", k.m), ("H", k.H_k), ("Q", k.Q_k), ("u", k.u))}
    new = {name: np.array([mean[name][j] / m if m > 0 else old[j] for j, m in enumerate(mean["m"])]) for name, old in (("H", s.H), ("Q", s.Q))}
    return {"end": {"m": sends}, "server": {"w": s.w + mean["u"], **new, "known": np.where(mean["m"] > 0, 1, s.known)}}


def fedrecon(h, c, s, k):  # Singhal et al. 2021: the local part anew, then trained alone, then the rest
    trained = c.local if c.step < h.head * c.steps else 1 - c.local
    return {"start": {"w": np.where(c.local == 1, 0, c.w_t)}, "gradient": {"g": np.where(trained == 1, c.g, 0)}}


def scaled_sign(x):
    return np.abs(x).sum() / len(x) * np.sign(x)


def ef21(h, c, s, k):  # Richtarik, Sokolov and Fatkhullin 2021, Algorithm 2
    sent = scaled_sign(c.u - c.g_k)
    g = s.mean_g + k.sent.sum(0) / s.clients
    return {"end": {"sent": sent, "g_k": c.g_k + sent}, "server": {"mean_g": g, "w": s.w + s.server_lr * g}}


def ef21_sgdm(h, c, s, k):  # Fatkhullin, Tyurin and Richtarik 2023, Algorithm 1
    v = c.v_k + h.eta * (c.u - c.v_k)
    sent = scaled_sign(v - c.g_k)
    return {"end": {"v_k": v, "sent": sent, "g_k": c.g_k + sent}, "server": ef21(h, c, s, k)["server"]}


def ef21_hb(h, c, s, k):  # Fatkhullin et al. 2021, EF21-HB
    plain = ef21(h, c, s, k)
    v = h.beta * s.v + plain["server"]["mean_g"]
    return {"end": plain["end"], "server": {"mean_g": plain["server"]["mean_g"], "v": v, "w": s.w + s.server_lr * v}}


def signum(h, c, s, k):  # Bernstein et al. 2018, Algorithm 2
    m = h.beta * c.m_k + (1 - h.beta) * c.u
    return {"end": {"m_k": m, "vote": np.sign(m)}, "server": {"w": s.w + s.server_lr * np.sign(k.vote.sum(0))}}


def rsa(h, c, s, k):  # Li et al. 2019, Algorithm 2: x0 - rate * lambda * sum of sign(x0 - x_i)
    pull = getattr(h, "lambda")
    return {"start": {"w": c.own}, "gradient": {"g": c.g + pull * np.sign(c.w - c.w_t)}, "end": {"own": c.w, "vote": np.sign(c.w - c.w_t), "rate": c.lr},
            "server": {"w": s.w - k.rate.mean() * pull * (-k.vote).sum(0)}}


def delta_fl(h, c, s, k):  # Pillutla et al. 2021: those above the quantile
    order = np.argsort(k.sent_loss)
    chosen = order[int(np.ceil((1 - h.tail) * len(order))):]
    weight = np.zeros(len(order))
    weight[chosen] = k.n[chosen] / k.n[chosen].sum()
    return {"cohort": {"weight": weight}}


def gifair(h, c, s, k):  # Yue, Nouiehed and Al Kontar 2021: r_k = sum over j of sign(F_k - F_j)
    p = k.n / k.n.sum()
    strength = getattr(h, "lambda") * p.min() / (len(p) - 1)
    r = np.sign(k.sent_loss[:, None] - k.sent_loss).sum(1)
    return {"cohort": {"weight": p * (1 + strength * r / p)}}


def fedcostwavg(h, c, s, k):  # Maechler et al. 2021, equation 2
    before = c.loss_before.mean()  # of equal elements
    return {"end": {"fall": before / c.loss if before > 0 else 1.0, "loss_before": c.loss_before - before + c.loss},
            "cohort": {"weight": h.alpha * k.n / k.n.sum() + (1 - h.alpha) * k.fall / k.fall.sum()}}


def fedlesam_s(h, c, s, k):  # Fan et al. 2024: SCAFFOLD's step and control variates with the gradient of FedLESAM
    control, plain = scaffold(h, c, s, k), fedlesam(h, c, s, k)
    return {"second": plain["second"], "gradient": {"g": c.g_2 - c.c_k + c.c}, "end": {**control["end"], "old": c.w_t}, "server": control["server"]}


def fedlesam_d(h, c, s, k):  # Fan et al. 2024: FedDyn's step with the gradient of FedLESAM
    dynamic, plain = feddyn(h, c, s, k), fedlesam(h, c, s, k)
    return {"second": plain["second"], "gradient": {"g": c.g_2 - c.g_k + h.alpha * (c.w - c.w_t)}, "end": {**dynamic["end"], "old": c.w_t},
            "server": dynamic["server"]}


def mean_by_class(sums, counts, before):
    """Returns the mean of each class that anybody has, else what was before."""
    return np.array([row.sum(0) / n.sum() if n.sum() > 0 else old for row, n, old in zip(sums.swapaxes(0, 1), counts.T, before)])


def fedproto(h, c, s, k):  # Tan et al. 2022, equation 6: a class's mean over all examples; S and m are divided by n
    examples = k.n[:, None] * k.m
    return {"end": {"m": c.counts / 48}, "server": {"P": mean_by_class(k.n[:, None, None] * k.S, examples, s.P),
                                                    "known": ((s.known > 0) | (examples.sum(0) > 0)) * 1.0}}


def fd(h, c, s, k):  # Jeong et al. 2018: the mean over devices that have the class
    return {"end": {"has": (c.counts > 0) * 1.0}, "server": {"w": s.w + k.u.mean(0), "F": mean_by_class(k.F_k, k.has, s.F)}}


def fedproc(h, c, s, k):  # Mu et al. 2021: prototypes as FedProto's
    return {"server": {**fedproto(h, c, s, k)["server"], "w": s.w + mean_by_examples(k, k.u)}}


def fedala(h, c, s, k):  # Zhang et al. 2023, Algorithm 1 and equation 4: A <- clip(A - eta * g * (w_t - w_k)) in the visit's first steps
    own, far = c.w_k, c.w_t - c.w_k
    weight = 1 - c.b
    stepped = np.minimum(np.maximum(weight - h.eta * c.g * far, 0), 1)
    begins = own + far * weight
    if c.step / c.steps < h.share:  # w - lr * g is the mixture with the new A
        return {"start": {"w": begins}, "gradient": {"g": (c.w - own - far * stepped) / c.lr, "b": 1 - stepped}, "end": {"w_k": c.w}, "judge": {"w": begins}}
    return {"start": {"w": begins}, "gradient": {"g": c.g, "b": c.b}, "end": {"w_k": c.w}, "judge": {"w": begins}}


def fedem(h, c, s, k):  # Marfoq et al. 2021, Algorithm 1: step 3 of 6 is the second model's last one; each model becomes the mean of the clients'
    means = [m + k.n @ d / k.n.sum() for m, d in ((s.m_1, k.d_1), (s.m_2, k.d_2), (s.m_3, k.d_3))]
    return {"start": {"w": c.m_1}, "after": {"w": c.m_3, "d_1": c.d_1, "d_2": c.w - c.m_2, "d_3": c.d_3},
            "server": {"w": sum(means) / 3, **{f"m_{j + 1}": m for j, m in enumerate(means)}}}


def cfl(h, c, s, k):  # Sattler et al. 2021, Algorithm 2: by search, all bipartitions of the group
    def cosine(i, j):
        return k.d[i] @ k.d[j] / np.sqrt((k.d[i] @ k.d[i]) * (k.d[j] @ k.d[j]))
    groups, before, after, parents = int(s.groups), [s.w, s.m_1, s.m_2, s.m_3], k.mine.copy(), [s.w, s.m_1, s.m_2, s.m_3]
    for j in range(groups):
        members = np.flatnonzero(k.mine == j)
        if groups < 4 and len(members) > 1 and np.linalg.norm(k.d[members].mean(0)) < h.eps_1 and max(np.linalg.norm(k.d[i]) for i in members) > h.eps_2:
            cuts = [[members[b] for b in range(1, len(members)) if bits >> (b - 1) & 1] for bits in range(1, 2 ** (len(members) - 1))]
            away = min(cuts, key=lambda cut: max(cosine(i, l) for i in cut for l in members if l not in cut))
            after[away], parents[groups], groups = groups, before[j], groups + 1
            break
    models = [m + (k.n[after == j] @ k.d[after == j] / k.n[after == j].sum() if (after == j).any() else 0) for j, m in enumerate(parents)]
    return {"start": {"w": [c.w_t, c.m_1, c.m_2, c.m_3][int(c.group)]}, "end": {"d": c.w - c.w_0, "mine": c.group},
            "server": {**{name: m for name, m in zip(("w", "m_1", "m_2", "m_3"), models)}, "groups": groups},
            "mix": {"group": after[int(np.argmax(k.me))]}, "judge": {"w": [c.w_t, c.m_1, c.m_2, c.m_3][int(c.group)]}}


def fltrust(h, c, s, k):  # Cao et al. 2021, Algorithm 2
    r = vars(s)["root.u"]
    score = np.maximum(0, k.u @ r / np.linalg.norm(k.u, axis=1) / np.linalg.norm(r))
    normalised = np.linalg.norm(r) / np.linalg.norm(k.u, axis=1)[:, None] * k.u
    return {"server": {"w": s.w + s.server_lr * (score @ normalised) / score.sum()}}


def zeno(h, c, s, k):  # Xie et al. 2019, Definition 2, with the decrease of the loss to first order
    scores = [one @ vars(s)["root.u"] - h.rho * one @ one for one in k.u]
    return {"aggregates": {"u": k.u[np.argsort(scores)[h.b:]].mean(0)}}


def foolsgold(h, c, s, k):  # Fung et al. 2020, Algorithm 1: pardoning, the largest becomes 1, a logit
    unit = k.h / np.sqrt((k.h**2).sum(1))[:, None]
    similar = unit @ unit.T - np.diag(np.full(len(unit), np.inf))
    v = np.maximum(similar.max(1), 0)
    similar = np.array([[similar[i, j] * v[i] / v[j] if v[j] > v[i] else similar[i, j] for j in range(len(v))] for i in range(len(v))])
    alpha = np.clip(1 - similar.max(1), 0, 1)
    alpha = alpha / alpha.max()
    with np.errstate(divide="ignore"):
        alpha = np.clip(h.kappa * (np.log(alpha / (1 - alpha)) + 0.5), 0, 1)
    return {"end": {"past": c.past + c.u, "h": c.past + c.u}, "cohort": {"weight": alpha / alpha.sum()}, "aggregates": {"u": alpha @ k.u / alpha.sum()}}


def fedfv(h, c, s, k):  # Wang et al. 2021, Algorithm 1, lines of the internal conflicts
    order = list(np.argsort(k.sent_loss))
    g = {i: k.u[i].copy() for i in order}
    for i in order[:len(order) - int(h.alpha * len(order))]:
        for j in order:
            if j != i and g[i] @ k.u[j] < 0:
                g[i] -= (g[i] @ k.u[j]) * k.u[j] / (k.u[j] @ k.u[j])
    mean = sum(g.values()) / len(g)
    return {"aggregates": {"u": mean / np.linalg.norm(mean) * np.linalg.norm(k.u.mean(0))}}


def fedmgda_plus(h, c, s, k):  # Hu et al. 2022, Algorithm 1, by Frank and Wolfe with exact steps: the vertex fills the flattest clients first
    unit, p = np.array([one / np.linalg.norm(one) for one in k.u]), k.n / k.n.sum()
    weights = p
    for _ in range(200000):
        slopes, vertex = unit @ (weights @ unit), np.maximum(0, p - h.eps)
        for i in np.argsort(slopes):
            vertex[i] += min(1 - vertex.sum(), min(1, p[i] + h.eps) - vertex[i])
        away = vertex - weights
        if away @ slopes > -1e-15:
            break
        weights = weights + min(1, -(away @ slopes) / ((away @ unit) @ (away @ unit))) * away
    return {"aggregates": {"u": weights @ unit}}


def dnc(h, c, s, k):  # Shejwalkar and Houmansadr 2021, Algorithm 2, on all coordinates
    left = k.u
    for _ in range(int(h.turns)):
        centred = left - left.mean(0)
        score = (centred @ np.linalg.svd(centred)[2][0])**2
        left = left[np.argsort(score)[:len(left) - int(np.ceil(h.c * h.f))]]
    return {"aggregates": {"u": left.mean(0)}}


def afl(h, c, s, k):  # Mohri et al. 2019, Algorithm 1; the projection is the server's
    return {"cohort": {"weight": k.mine / k.mine.sum(), "k.mine": k.mine + h.gamma * k.sent_loss}, "aggregates": {"u": k.mine @ k.u / k.mine.sum()}}


def fedadp(h, c, s, k):  # Wu and Wang 2021, equations 8 to 11
    mean = k.n @ k.u / k.n.sum()
    angle = np.arccos([mean @ one / np.sqrt((mean @ mean) * (one @ one)) for one in k.u])
    smooth = (k.rounds * k.theta + angle) / (k.rounds + 1)
    weight = k.n * np.exp(h.alpha * (1 - np.exp(-np.exp(-h.alpha * (smooth - 1)))))
    return {"cohort": {"weight": weight / weight.sum(), "k.theta": smooth, "k.rounds": k.rounds + 1}, "aggregates": {"u": weight @ k.u / weight.sum()}}


FURTHER_PAPERS = {function.__name__: function for function in (
    fedasam, fednag, fedac, fedmom, fedgate, iiadmm, iceadmm, fedsmoo, adabest, fedprox_adaptive, delta_sgd, scaffold_m, local_amsgrad, fedsplit, feddr, fedlin, meta_sgd,
    l2gd, mr_mtl, fedrecon, fedphp, fedsoft, fedhkd, ef21, ef21_sgdm, ef21_hb, signum, rsa, delta_fl, gifair, fedcostwavg, fedlesam_s, fedlesam_d, fedproto, fd, fedproc, fedala, fedem, cfl, fltrust, zeno,
    foolsgold, fedfv, fedmgda_plus, dnc, afl, fedadp)}
