"""Runs of many models on one benchmark: their differences, and items to look at."""

from cuecard.probes.runs.logs import RunLog, read_runs
from cuecard.probes.runs.probe import BenchmarkRuns
from cuecard.probes.runs.table import Runs, joined, runs_of

__all__ = ["BenchmarkRuns", "RunLog", "Runs", "joined", "read_runs", "runs_of"]
