import fedhive as fh
mine = fh.memory('mine', of='server', shape='clients', first=1, simplex=True)
