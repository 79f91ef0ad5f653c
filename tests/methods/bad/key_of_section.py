import fedhive as fh
server = fh.key("server", 1)
