"""Train and test: held out, overlapping, sampled."""
