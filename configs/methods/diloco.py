# DiLoCo: Douillard et al. 2023 (arXiv:2311.08105), Algorithm 1 with Nesterov's momentum outside.
# D = mean of w_t - w_k; m <- mu * m + D; w <- w - server_lr * (D + mu * m). The paper's inner optimiser is AdamW, its server_lr 0.7.
# For: optimisation.
import fedhive as fh

mu = fh.key("mu", 0.9, least=0, below=1, doc="momentum of the outer steps (μ)")
m = fh.memory("m", of="server")


@fh.server
def server(w, k, m, server_lr):
    D = -fh.mean(k.u)
    m_next = mu * m + D
    return {"w": w - server_lr * (D + mu * m_next), m: m_next}
