"""A policy: limits on measures and findings, judged by their confidence intervals."""

from cuecard.card.policy.judging import Check, Ruling, judge_card
from cuecard.card.policy.ratchet import read_ratchet, shrunk, write_ratchet
from cuecard.card.policy.reading import parse_policy, read_policy
from cuecard.card.policy.references import Reference, reference_of
from cuecard.card.policy.rules import Allowance, Limit, Policy, Rule, RuleSeverity
from cuecard.card.policy.starter import starter_policy

__all__ = [
    "Allowance",
    "Check",
    "Limit",
    "Policy",
    "Reference",
    "Rule",
    "RuleSeverity",
    "Ruling",
    "judge_card",
    "parse_policy",
    "read_policy",
    "read_ratchet",
    "reference_of",
    "shrunk",
    "starter_policy",
    "write_ratchet",
]
