import fedhive as fh
mine = fh.memory('mine', of='client', shape='clients')
