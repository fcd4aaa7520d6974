"""What the gate and the repair do on real data: flips of verdicts, and plans side by side."""
