# SlowMo: Wang et al. 2020 (arXiv:1910.00643), Algorithm 1: m <- beta * m + (w_t - mean of w_k) / lr, w <- w - alpha * lr * m.
# server_lr is alpha. Differs: the mean has the run's weights; the paper's are equal.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.5, least=0, below=1, doc="share of the last slow step that is kept (β)")
m = fh.memory("m", of="server")
rate = fh.report("rate", doc="the client's local rate")


@fh.end
def end(lr):
    return {rate: lr}


@fh.server
def server(w, u, m, k, server_lr):
    local_lr = fh.mean(k.rate)
    m_next = beta * m - u / local_lr
    return {"w": w - server_lr * local_lr * m_next, m: m_next}
