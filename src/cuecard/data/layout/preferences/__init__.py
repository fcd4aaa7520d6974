"""Preferences in every form that files have: named winners, scores, ratings, one chosen among several."""
