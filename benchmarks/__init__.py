"""Speed as ratios against named rivals, measured side by side in one run."""
