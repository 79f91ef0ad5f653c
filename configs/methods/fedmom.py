# FedMom: Huo et al. 2020 (arXiv:2002.02090), Algorithm 3: Nesterov's momentum at the server.
# v_next = w + server_lr * u; w <- v_next + beta * (v_next - v). The server keeps o = v - w. u is the mean by examples, as there.
# For: optimisation.
import fedhive as fh

beta = fh.key("beta", 0.9, least=0, below=1, doc="momentum (β)")
o = fh.memory("o", of="server")


@fh.server
def server(w, u, o, server_lr):
    v_next = w + server_lr * u
    ahead = beta * (v_next - (w + o))
    return {"w": v_next + ahead, o: -ahead}
