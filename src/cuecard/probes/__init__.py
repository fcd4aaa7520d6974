"""Does this model use what gives the answer away?"""

from cuecard.probes.option_order import OptionOrder, option_order

__all__ = ["OptionOrder", "option_order"]
