import fedhive as fh
c = fh.memory("c", of="client", shape="number", first="w_t")
