"""What to type to see a finding again."""

from __future__ import annotations

import shlex

from cuecard.analysis import Finding

#: Options of `cuecard audit` that change what a cue is, so that `cuecard explain` has them too.
OPTIONS_OF_EXPLAIN = frozenset(
    {"--test", "--task", "--columns", "--labels", "--tokens", "--scope", "--language", "--regex"}
    | {"--holdout", "--seed", "--on-error", "--cluster"}
)
FLAGS_OF_EXPLAIN = frozenset({"--keep-unlabelled", "--stop-words", "--no-stop-words"})
FLAGS_OF_AUDIT = frozenset({"--json", "--quiet", "-q"})


def repeating(command: str, finding: Finding) -> str:
    """Return what to type to see a finding again: the whole audit, or its cue in depth."""
    words = shlex.split(command)
    if not finding.cue or words[:2] != ["cuecard", "audit"]:
        return command
    kept = []
    rest = iter(words[2:])
    for word in rest:
        name, equals, _ = word.partition("=")
        if not word.startswith("-") or name in FLAGS_OF_EXPLAIN:
            kept.append(word)
            continue
        value = [] if equals or name in FLAGS_OF_AUDIT else [next(rest, "")]
        if name in OPTIONS_OF_EXPLAIN:
            kept += [word, *value]
    return shlex.join(["cuecard", "explain", finding.cue, *kept])
