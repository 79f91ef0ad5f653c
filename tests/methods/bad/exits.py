import fedhive as fh
raise SystemExit(3)
