"""Command lines that are right: options of every verb with values that they can have, drawn at random."""

from __future__ import annotations

import random

from fuzzing.commands import RIGHT, Command, Parameter, verbs

#: Values that fit the data of `fill`, by option.
VALUES: dict[str, tuple[str, ...]] = {
    "--columns": ("premise=premise,hypothesis=hypothesis,label=label", "label=label"),
    "--test": ("test.csv",), "--holdout": ("0.3", "0.25"), "--task": ("pair",), "--on-error": ("skip", "stop"),
    "--labels": ("yes=agrees,no=differs",), "--max-skipped": ("0", "5"), "--seed": ("0", "7"),
    "--name": ("mine", "Übung 1"), "--cluster": ("premise",), "--tokens": ("default", "stubborn", "chars"),
    "--scope": ("hypothesis", "premise", "both"), "--features": ("word", "word,bigram", "word,length,negation"),
    "--min-count": ("1", "2", "5"), "--language": ("en", "de"), "--regex": ("ends=no$", "first=^h"),
    "--examples": ("0", "1", "20"), "--memory": ("1GB", "400MB"), "--engine": ("local",),
    "--sort": ("significance", "cueness"), "--expect": ("length",), "--shortest": ("2", "5"), "--words": ("2", "4"),
    "--top": ("1", "5"), "--cues": ("no", "so,no"), "--stratify": ("label",), "--budget": ("1", "3"),
    "--change": ("drop",), "--max-weight": ("5", "20"), "--min-ess": ("0.1", "0.5"),
    "--ngrams": ("1", "2"), "--target": ("uniform", "overall"), "--solver": ("entropy", "softmax"),
    "--strength": ("0.5", "1"),
    "--ridge": ("1", "cv"), "--aim": ("gap", "worst-group"), "--bands": ("2",), "--per-label": ("1", "3"),
    "--sample": ("1", "10"), "--match": ("yes",), "--kind": ("hard",), "--show": ("1", "3"),
    "--permute": ("2", "all", "cyclic"), "--input": ("full", "hypothesis,full"),
    "--prompt": ("short", "alternative-steps"),
    "--stress": ("no",), "--max-cost": ("1",), "--max-requests": ("3",), "--rate": ("10",), "--concurrency": ("2",),
    "--timeout": ("2",), "--rows": ("400",), "--map": ("pca", "none"), "--map-size": ("10", "50"),
    "--transform": ("shuffled_words",), "--license": ("mit",), "--url": ("https://example.org/data",),
    "--reaudit": ("cues",), "--weight-column": ("w",), "--subset": ("40",),
}  # fmt: skip
#: Verbs that end within seconds, without a server, and what they begin with where it is not in `RIGHT`.
BEGINNINGS = {
    **{
        verb: RIGHT[verb]
        for verb in (
            "audit", "probe", "debias", "correct", "overlap", "board", "stress", "explain", "check", "compare",
            "report", "export", "plan", "demo", "tools datasets",
        )
    },
    "ask": [*RIGHT["ask"], "--dry-run"],
}  # fmt: skip
#: Flags that need something else on the line, or a window.
_WITH_OTHERS = {
    "--open", "--init", "--trade-off", "--record-dynamics", "--surplus-ids", "--keep-unlabelled", "--balance-labels",
    "--pool", "--change-test", "--balanced", "--json", "--keep-copies",
}  # fmt: skip


def valid_command(rng: random.Random) -> Command:
    """Return a command line that a verb must run: each option fits the data, though two may exclude each other."""
    verb = rng.choice(sorted(BEGINNINGS))
    arguments = [*verb.split(), *BEGINNINGS[verb]]
    possible = [one for one in verbs()[verb] if _values(one) and not {*one.names} & {*arguments}]
    for one in rng.sample(possible, min(len(possible), rng.randrange(5))):
        arguments.append(rng.choice([name for name in one.names if name.startswith("--")]))
        arguments += [value for value in [rng.choice(_values(one))] if value]
    return Command(arguments)


def _values(parameter: Parameter) -> tuple[str, ...]:
    """Return the values of an option that fit: "" for a flag, none where it is left out."""
    long = [name for name in parameter.names if name.startswith("--")]
    if not long:
        return ()
    if not parameter.values:
        return () if _WITH_OTHERS & {*long} else ("",)
    return VALUES.get(long[0], ())
