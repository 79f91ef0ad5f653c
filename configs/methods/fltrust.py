# FLTrust: Cao, Fang, Liu and Gong 2021 (arXiv:2012.13995): w <- w + server_lr * sum t_k * |r| / |u_k| * u_k / sum t_k, t_k = max(0, cos(u_k, r)).
# r is the update of the server's own client, which trains on data.root_examples.
# For: robust.
import fedhive as fh


@fh.server
def server(w, k, root, server_lr):
    trust = fh.relu(fh.cos(k.u, root.u))
    share = fh.where(trust > 0, trust / fh.sum(trust) * fh.norm(root.u) / fh.norm(k.u), 0)
    return w + server_lr * fh.sum(share * k.u)
