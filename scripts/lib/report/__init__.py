"""A report on runs and sweeps; see scripts/report -h. load.py reads, tables.py counts, figures/ draws, page.py and exports.py write."""
