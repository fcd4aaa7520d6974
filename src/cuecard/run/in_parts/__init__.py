"""Datasets that are gone through in pieces, because they do not fit in memory: audits, and weights."""
