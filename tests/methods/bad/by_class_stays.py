import fedhive as fh
P = fh.memory("P", of="server", shape="features")
