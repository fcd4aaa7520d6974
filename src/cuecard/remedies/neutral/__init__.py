"""Weights under which the pair graph does not predict the label."""
