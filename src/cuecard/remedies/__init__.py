"""What can be done? Weights that take the shortcuts out of a dataset."""

from cuecard.remedies.lexical_weights import LexicalWeights
from cuecard.remedies.registry import REMEDIES

#: The method's name on the command line and the remedy behind it.
for _name, _remedy in (("lexical", LexicalWeights),):
    REMEDIES.add(_name, _remedy)

__all__ = ["REMEDIES", "LexicalWeights"]
