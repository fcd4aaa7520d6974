"""Level, power and coverage of every section by simulation, and false alarms of whole cards."""
