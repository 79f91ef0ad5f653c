"""Measures fedhive against the ideal loop, its peers and the machine's own limits; see scripts/bench -h."""
