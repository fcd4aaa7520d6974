"""Charts: pure functions from a section and its tables to an Altair chart.

Altair is slow to import, so nothing imports these modules before a chart is drawn.
"""
