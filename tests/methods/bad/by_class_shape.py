import fedhive as fh
P = fh.memory("P", of="server", down=True, shape="feature")
