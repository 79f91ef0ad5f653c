import fedhive as fh
root = fh.key("root", 1)
