import fedhive as fh
P = fh.memory("P", of="client", shape="features", first="w_t")
