"""The sentences of the cue audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import MEDIUM_GAIN, SEVERITIES, Evidence, Finding, Summary, severity_of
from cuecard.audits.cues.overall import NOTABLE_GAIN, CueEvidence, all_features, not_replicated
from cuecard.audits.cues.replication import HOLDS, OPEN, REVERSES, VANISHES
from cuecard.audits.cues.statistics import POINTS_TO
from cuecard.data import Instances
from cuecard.features import CueCounts
from cuecard.features.family import FAMILY_OF_LENGTH, cue_name
from cuecard.stats.arrays import Ints
from cuecard.wording import listed, percent, plural

#: A cue nearly all of whose instances have a stronger cue, to which it adds little, is that cue told twice.
TOLD_BEFORE = 0.9
FINDINGS_PER_LABEL = 4
EXAMPLES_PER_FINDING = 3
#: Cues that are parts of a finding, by name.
PARTS_NAMED = 4
#: A share corrected for selection is told beside the raw one where they differ by more.
VISIBLE = 0.015
#: Half of the last digit of a share in percent.
ROUNDING = 0.0005
#: What a sentence says of the test set, by outcome.
IN_TEST = {
    HOLDS: "",
    VANISHES: ", where it is lost",
    REVERSES: ", where it is turned round",
    OPEN: ", too few to confirm it",
}


def cue_findings(evidence: CueEvidence) -> list[Finding]:
    """Return a verdict over all features, the cues that give most away, and those that test does not confirm."""
    phrases, relational = evidence.phrases, evidence.relational
    blind = [family.name for family in evidence.families if getattr(family, "content_blind", False)]
    cues = notable_cues(evidence)
    confirmed = cues.filter(~pl.col("outcome").is_in([VANISHES, REVERSES]))
    lost = cues.filter(pl.col("outcome").is_in([VANISHES, REVERSES]))
    of_one_text = ~pl.col("family").is_in(relational)
    # What one text says is what a text task is about: there, only what is no part of it is surely a shortcut.
    expected = evidence.expected
    words = [] if evidence.sample.task != "text" else [name for name in phrases if name not in blind]
    content = [*words, *(name for name in expected if name not in words)]
    shortcuts = of_one_text & ~pl.col("family").is_in(content)
    new = confirmed.filter(pl.col("column").is_in(_not_told_before(evidence.redundancy, content).implode()))
    if evidence.sample.fixed_options:  # these are labels; their place is another cue only where it varies
        new = new.filter((pl.col("family") == "position") & (not evidence.sample.fixed_order))
    shown = pl.concat(
        [
            new.filter(pl.col("label") == label)
            .sort("given_away", descending=True, maintain_order=True)
            .head(FINDINGS_PER_LABEL)
            for label in evidence.sample.labels
        ]
    ).sort("given_away", descending=True, maintain_order=True)
    mirrors = _mirrors(shown.filter(pl.col("family").is_in(blind)), evidence)
    shown = shown.filter(~pl.col("column").is_in([mirror for of in mirrors.values() for mirror in of]))
    of_form = confirmed.filter(pl.col("family").is_in(blind))["given_away"].max()
    findings = []
    for row, examples in zip(shown.iter_rows(named=True), _examples(shown, evidence), strict=True):
        finding = _cue(row, phrases, evidence, examples)
        finding = replace(finding, parts=(*finding.parts, *mirrors.get(row["column"], {}).values()))
        if row["family"] in relational:
            finding = _as_information(finding, "It compares the two texts, which may be part of the task.")
        elif row["family"] in expected:
            finding = _as_information(finding, "It is expected as a part of the task (--expect).")
        elif row["family"] in words:
            # Words that give more away than any form lead, but nobody knows whether they are the task.
            leads = row["given_away"] > (of_form or 0.0) and finding.severity != "info"
            finding = _as_information(finding, f"What the text says may be the task or a shortcut. {EXPECT}")
            finding = replace(finding, severity="low") if leads else finding
        findings.append(finding)
    tested = evidence.cues.filter(~pl.col("family").is_in(content))
    overall = all_features(evidence, tested, confirmed.filter(shortcuts), besides_words=bool(content))
    told = [
        SEVERITIES.index(finding.severity)
        for finding, family in zip(findings, shown["family"], strict=True)
        if family not in content
    ]
    told_elsewhere = SEVERITIES.index(overall.severity) >= min(told, default=len(SEVERITIES))
    if told_elsewhere or evidence.sample.fixed_options:
        overall = replace(overall, severity="info")  # single cues say it already
    findings.insert(0, overall)
    if "test" in evidence.sample.splits and lost.filter(of_one_text).height:
        findings.append(not_replicated(lost.filter(of_one_text), cues.filter(of_one_text).height, phrases))
    return findings


#: Copies are named where fewer than this share of the instances are distinct.
MOST_DISTINCT = 0.98
#: Two cues that never occur together, and one of which nearly all instances have, are one.
COMPLEMENT = 0.99
#: What to type where the words of a text are what its label is about.
EXPECT = "If it is the task, type --expect words."


def notable_cues(evidence: CueEvidence) -> pl.DataFrame:
    """Return the cues whose share surely differs from chance by enough, or that surely give enough away in all.

    `column` is a cue's column in the rows; `given_away` the part of what chance leaves, over all examples.
    """
    strongest = evidence.cues.filter("significant").head(evidence.held.height).with_row_index("column")
    cues = pl.concat([strongest, evidence.held], how="horizontal")
    points = pl.col("direction") == POINTS_TO
    distance = (
        pl.when(points)
        .then(pl.col("held_low") - pl.col("chance"))
        .otherwise(pl.col("chance") - pl.col("held_high"))
    )
    # Cues that test turned round are told as such, so their own interval decides whether they were worth a word.
    lost = pl.col("outcome").is_in([VANISHES, REVERSES])
    enough = pl.when(lost).then(adjusted_gain()).otherwise(distance) >= NOTABLE_GAIN
    away = pl.when(points).then(pl.col("coverage") * distance / (1 - pl.col("chance"))).otherwise(0.0)
    # A smaller gain that many examples have gives as much away; what compares two texts may be the task.
    frequent = ~lost & ~pl.col("family").is_in(evidence.relational) & (away >= MEDIUM_GAIN)
    return cues.with_columns(given_away=away, by_points=enough).filter(pl.col("is_cue") & (enough | frequent))


def cue_gain() -> pl.Expr:
    """Return how far the nearer end of a cue's interval is from chance: above it, or below where it rules out."""
    points = pl.col("direction") == POINTS_TO
    above, below = pl.col("share_low") - pl.col("chance"), pl.col("chance") - pl.col("share_high")
    return pl.when(points).then(above).otherwise(below)


def adjusted_gain() -> pl.Expr:
    """Return what `cue_gain` does, of the interval that is corrected for selection."""
    points = pl.col("direction") == POINTS_TO
    above, below = pl.col("adjusted_low") - pl.col("chance"), pl.col("chance") - pl.col("adjusted_high")
    return pl.when(points).then(above).otherwise(below)


def _not_told_before(redundancy: pl.DataFrame, content: Sequence[str]) -> pl.Series:
    """Return the numbers of the cues that lead their group and say more than a stronger one they lie within.

    A cue of another family than those of `content` is not told by one of them: that is no shortcut.
    """
    own_name = pl.concat_str("family", "feature", separator=":")
    of_content = pl.col("group").str.split(":").list.first().is_in(list(content))
    given_content = pl.col("given").str.split(":").list.first().is_in(list(content)).fill_null(False)
    is_content = pl.col("family").is_in(list(content))
    leads = (pl.col("group") == own_name) | (of_content & ~is_content)
    within = _within() & ~(given_content & ~is_content)
    return redundancy.with_row_index("column").filter(leads & ~within)["column"]


def _mirrors(shown: pl.DataFrame, evidence: CueEvidence) -> dict[int, dict[int, str]]:
    """Return the cues that only say where another one is absent: the column of that one → column and name of each.

    What is chosen or right leads, otherwise the one that gives more away. `shown` are cues of form, not words.
    """
    columns = shown["column"].to_numpy().astype(np.int64)
    together, n = np.zeros((len(columns), len(columns)), dtype=np.int64), 0
    for _, rows in evidence.rows.slices():
        own = rows[:, columns]
        together += (own.T @ own).toarray()
        n += rows.shape[0]
    lead = {"choice": "right", "preference": "chosen"}.get(evidence.sample.task)
    counts, mirrors = np.diag(together), dict[int, dict[int, str]]()
    order = sorted(range(len(columns)), key=lambda i: shown["label"][i] != lead)
    told: set[int] = set()
    for place, i in enumerate(order):
        if i in told:
            continue
        for j in order[place + 1 :]:
            if together[i, j] == 0 and counts[i] + counts[j] >= COMPLEMENT * n:
                name = cue_name(shown["family"][j], shown["feature"][j], evidence.phrases)
                mirrors.setdefault(int(columns[i]), {})[int(columns[j])] = name
                told.add(j)
    return mirrors


def _within() -> pl.Expr:
    """Return whether a cue lies within a stronger one and adds little to it."""
    adds_little = (pl.col("share_with") - pl.col("base_with")).abs() < NOTABLE_GAIN
    return ((pl.col("contained") >= TOLD_BEFORE) & adds_little).fill_null(False)


def _cue(row: Summary, phrases: dict[str, str], cue_evidence: CueEvidence, examples: Ints) -> Finding:
    name = cue_name(row["family"], row["feature"], phrases)
    label = row["label"]
    predicts = "for" if row["direction"] == POINTS_TO else "against"
    cue = row["feature"] if row["family"] == "word" else f"{row['family']}:{row['feature']}"
    finding = Finding(
        section="cues",
        severity="low",
        title=f"Cue {predicts} {_of_task(label, cue_evidence.sample)}: {name}",
        text=cue_sentence(row, name, cue_evidence.sample),
        value=row["held_share"],
        low=row["held_low"],
        high=row["held_high"],
        chance=row["chance"],
        n=round(row["share_n"]),
        evidence=_evidence(row, examples, cue_evidence.sample),
        cue=cue,
        label=label,
        counted="instances",
        coverage=row["coverage"],
        words=_words(row["family"], row["feature"]),
        parts=_parts(row, phrases, cue_evidence.redundancy),
        q_value=row["q_value"],
    )
    return replace(finding, severity=severity_of(finding.gain))


def _of_task(label: str, sample: Instances) -> str:
    """Return a label with what has it, where that is not the example: "right choices"."""
    nouns = {"choice": "choices", "preference": "responses"}
    return f"{label} {nouns[sample.task]}" if sample.task in nouns else label


def _words(family: str, feature: str) -> tuple[str, ...]:
    """Return what a cue is about: its words, or its family where one rule over all of it exists, such as length."""
    if family in ("word", "bigram", "trigram", "4-gram"):
        return tuple(feature.split())
    return (f"{family}:",) if family in ("length", "position") else ()


def cue_sentence(row: Summary, name: str, sample: Instances) -> str:
    """Return the share in train with its interval, what is left after correcting for selection, and the test share."""
    n, share, adjusted = round(row["share_n"]), row["share"], row["adjusted_share"]
    only = "" if row["direction"] == POINTS_TO else "Only "
    noun = {"choice": "choice", "preference": "response"}.get(
        sample.task, "training example" if len(sample.splits) > 1 else "example"
    )
    where = (
        f", in examples whose {noun}s differ in it,"
        if sample.grouped and round(row["train_count"]) != n
        else ""
    )
    text = f"{only}{percent(share)} of the {plural(n, noun)} with {name}{where} are {row['label']}"
    interval = f"95 % CI {percent(row['adjusted_low'])} to {percent(row['adjusted_high'])}"
    # Without a second sample, the corrected share is what the finding measures: it must be in the sentence.
    if abs(share - adjusted) > VISIBLE or (not row["again_n"] and percent(share) != percent(adjusted)):
        text += f"; corrected for selection, {percent(adjusted)} ({interval})"
    else:
        text += f" ({interval})"
    text += f"; chance is {percent(row['chance'])}."
    if row["again_n"]:
        texts = plural(round(row["again_texts"]), "distinct text")
        copies = f" ({texts})" if not sample.grouped and row["again_texts"] < row["again_n"] else ""
        text += f" In the test set: {percent(row['again_share'])} of {round(row['again_n']):,}{copies}"
        text += IN_TEST[row["outcome"]]
        pooled = f"95 % CI {percent(row['held_low'])} to {percent(row['held_high'])}"
        shares = row["share"], row["again_share"]
        level = ""
        # Where labels have other shares in the test set, the share of both is not that of their examples.
        if abs(row["again_at_chance"] - row["again_share"]) > ROUNDING:
            level = ", at the chance level of the training set,"
        elif not min(shares) - ROUNDING <= row["held_share"] <= max(shares) + ROUNDING:
            level = ", corrected for selection,"
        text += f"; training and test set together{level} {percent(row['held_share'])} ({pooled})."
    elif "test" in sample.splits:
        text += " It does not occur in the test set."
    return text + _repeated(row)


def _parts(row: Summary, phrases: dict[str, str], redundancy: pl.DataFrame) -> tuple[str, ...]:
    """Return the cues that are this one under another name or within it."""
    own = f"{row['family']}:{row['feature']}"
    name = pl.concat_str("family", "feature", separator=":")
    same = ((pl.col("group") == own) | ((pl.col("given") == own) & _within())) & (name != own)
    parts = redundancy.filter(same).select("family", "feature").rows()
    named = [cue_name(family, feature, phrases) for family, feature in parts[:PARTS_NAMED]]
    rest = len(parts) - PARTS_NAMED
    return (*named, f"{rest:,} more") if rest > 0 else tuple(named)


def _repeated(row: Summary) -> str:
    """Return the sentence that says how many texts a cue was seen in, where some occur more than once."""
    n, texts = row["train_count"], row["train_texts"]
    if (
        not isinstance(n, int) or texts >= n * MOST_DISTINCT
    ):  # weights say nothing about the number of instances
        return ""
    have = (
        f"The {plural(n, 'instance')} with it {'has' if n == 1 else 'have'} {plural(texts, 'distinct text')}"
    )
    return f" {have}, near copies counted once."


def _as_information(finding: Finding, why: str) -> Finding:
    """Return the finding as information: what it is about may be what the task asks."""
    return replace(finding, severity="info", text=f"{finding.text} {why}")


def _examples(shown: pl.DataFrame, evidence: CueEvidence) -> list[Ints]:
    """Return a few train rows with each cue and its label, or another one where the cue rules its label out."""
    codes, labels = evidence.sample.label_codes, evidence.sample.labels
    label = [labels.index(name) for name in shown["label"]]
    points = (shown["direction"] == POINTS_TO).to_list()

    def wanted(i: int, where: slice) -> npt.NDArray[np.bool_]:
        return np.asarray((codes[where] == label[i]) == points[i])

    n_train = len(evidence.sample.train)  # train rows stand first
    return evidence.rows.first(shown["column"].to_list(), wanted, n_train, EXAMPLES_PER_FINDING)


def _evidence(row: Summary, rows: Ints, sample: Instances) -> tuple[Evidence, ...]:
    """Return these train instances as evidence of a cue."""
    return tuple(
        Evidence(
            example_id=str(instance["example_id"]),
            split="train",
            label=str(instance["label"]),
            hypothesis=instance["hypothesis"],
            premise=instance["premise"],
            highlight=(row["feature"],) if row["family"] in FAMILY_OF_LENGTH.values() else (),
        )
        for instance in sample.table[rows].iter_rows(named=True)
    )


def rare_features(counts: CueCounts) -> list[Finding]:
    """Return the remark that rare features were not tested, where all of them would need too much memory."""
    if not counts.raised:
        return []
    n, lowest, highest = int(counts.totals[0].sum()), min(counts.raised.values()), max(counts.raised.values())
    fewer = f"{lowest}" if lowest == highest else f"{lowest} to {highest} (by family)"
    return [
        Finding(
            section="cues",
            severity="info",
            title="Rare features were not tested",
            text=f"With {plural(len(counts.labels), 'label')} and {plural(n, 'training instance')}, the counts of all "
            f"features do not fit in the memory set aside for them. Features of the families "
            f"{listed(sorted(counts.raised))} are tested if they occur in at least {fewer} training instances; "
            "their counts and p-values are exact. Test fewer of them with a larger --min-count, or fewer families "
            "with --features.",
            key="rare-features",
        )
    ]
