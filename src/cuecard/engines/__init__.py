"""Where it runs: functions of chunks, on this machine or on a Ray cluster."""
