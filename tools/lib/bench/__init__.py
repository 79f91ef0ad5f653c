"""Measures fedhive against the ideal loop, its peers and the machine's own limits; see tools/bench -h."""
