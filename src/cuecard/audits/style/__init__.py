"""How much of a preference does style explain? A logistic model of the choice on differences of style."""

from cuecard.audits.style.audit import Style

__all__ = ["Style"]
