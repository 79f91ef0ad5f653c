import fedhive as fh
x = fh.memory('x', of='server', shape='number', simplex=True)
