"""What can be done about what gives the answer away?"""

from cuecard.remedies.stress_sets import StressSet, stress_set, write_stress_set

__all__ = ["StressSet", "stress_set", "write_stress_set"]
