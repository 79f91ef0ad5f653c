# MIFA: Gu et al. 2021 (arXiv:2106.04159): the server steps by the mean over all N clients of each one's last update.
# Differs: updates are not divided by the rate; a client that never came counts as 0, the paper lets all come once at first.
# For: optimisation.
import fedhive as fh

last = fh.memory("last", of="client")
d = fh.memory("d", of="visit", up=True)
mean_of_all = fh.memory("mean_of_all", of="server")


@fh.end
def end(u, last):
    return {d: u - last, last: u}


@fh.server
def server(w, mean_of_all, k, server_lr, clients):
    mean_next = mean_of_all + fh.sum(k.d) / clients
    return {"w": w + server_lr * mean_next, mean_of_all: mean_next}
