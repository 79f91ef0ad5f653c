import fedhive as fh
seconds = fh.report("seconds")
