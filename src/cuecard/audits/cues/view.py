"""What the cue audit shows: the map of cues, the strongest of every label, and a table to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.cues.overall import strongest_words
from cuecard.features import FAMILIES
from cuecard.features.family import spoken_cue
from cuecard.text import reading_advice
from cuecard.view import (
    Axis,
    Bars,
    Chart,
    Column,
    CueMap,
    Intervals,
    KeyFigure,
    Outcome,
    Scatter,
    Table,
    View,
    interval_columns,
)
from cuecard.wording import count, display_text, percent, plural

CUES_PER_LABEL = 10
MOST_LABELS = 6
REDUNDANT_ROWS = 100
#: A chart carries at most this many points; a table at most this many rows.
MOST_POINTS = 2000
MOST_ROWS = 500
#: Cues of which the training share is drawn against the test share.
MOST_CONFIRMED = 500
_NOT_SIGNIFICANT_POINTS = 500
#: Families whose features are words of the text, so that one can repeat what another says.
_MADE_OF_WORDS = frozenset({"word", "bigram", "trigram", "4-gram"})
#: What the instances of a task are called.
_INSTANCES = {
    "pair": "pairs",
    "choice": "choices",
    "preference": "responses",
    "text": "texts",
    "open": "answers",
}
_HOW_TO_MOVE = "Choose a label in the legend; drag to move, Ctrl + wheel to zoom, double-click to reset."


def cue_view(outcome: Outcome) -> View:
    """Return how many features are associated with a label, and which."""
    summary = outcome.summary
    families: Mapping[str, Summary] = summary.get("families", {})
    skipped: dict[str, list[str]] = {}
    for name, family in families.items():
        if family.get("skipped"):
            skipped.setdefault(family["skipped"].rstrip("."), []).append(name)
    advice = reading_advice(summary.get("language", ""), summary.get("tokens", ""))
    return View(
        lead=[_verdict(summary), *_strongest(outcome)],
        figures=_figures(summary, families),
        charts=_charts(outcome),
        tables=[cue_table(outcome, outcome.tables["cues"]), *_giving_away(outcome), *_redundant(outcome)],
        notes=[
            *([advice] if advice else []),
            *(f"Not tested: {', '.join(names)} ({reason})." for reason, names in skipped.items()),
        ],
        front=["map"],
    )


def _figures(summary: Summary, families: Mapping[str, Summary]) -> list[KeyFigure]:
    listed = f"in at least {summary['min_count']} instances of each split"
    figures = [
        KeyFigure("features tested", count(summary["features"])),
        KeyFigure("significant", count(summary["significant"]), f"q ≤ {summary['alpha']:g}"),
        KeyFigure("cues", count(summary["cues"]), listed),
    ]
    if (by_length := summary.get("by_length")) is not None:
        left = count(summary["significant"] - by_length)
        figures.append(KeyFigure("given length", left, f"{count(by_length)} go with length"))
    tested = sum(not family.get("skipped") for family in families.values())
    return [*figures, KeyFigure("families", count(tested), f"of {len(families)} requested")]


def _verdict(summary: Summary) -> str:
    tested, significant = plural(summary["features"], "feature"), summary["significant"]
    rate = f"(false discovery rate {percent(summary['alpha'], 0)})"
    if not significant:
        return f"None of {tested} is significantly associated with a label {rate}."
    text = (
        f"{count(significant)} of {tested} ({percent(significant / summary['features'])}) "
        f"{'is' if significant == 1 else 'are'} significantly associated with a label {rate}"
    )
    if summary["cues"] == significant:
        return f"{text}."
    are = "is" if summary["cues"] == 1 else "are"
    return f"{text}; {count(summary['cues'])} of them {are} frequent enough to be listed as cues."


def _strongest(outcome: Outcome) -> list[str]:
    # What compares two texts may be the task: it is no cue by itself.
    relational = [name for name in FAMILIES.names() if getattr(FAMILIES.get(name), "relational", False)]
    frame = outcome.tables["cues"].filter(~pl.col("family").is_in(relational))
    if frame.is_empty() or not frame["significant"][0]:
        return []
    row = frame.row(0, named=True)
    chance = row.get("chance", _chance(outcome).get(row["label"]))
    n = compared(row)
    differing = round(n) != round(row["train_count"])
    where = f" in examples whose {_answers(outcome)} differ in it" if differing else ""
    return [
        f"Strongest: {display_text(spoken_cue(row['family'], row['feature']), 60)} "
        f"({percent(row['share'])} of the {count(n)} {outcome.training}instances with it{where} are "
        f"{row['label']}; chance is {percent(chance)})."
    ]


def _answers(outcome: Outcome) -> str:
    return "responses" if outcome.task == "preference" else "choices"


def _chance(outcome: Outcome) -> Mapping[str, float]:
    """Return the chance level of every label."""
    chance: Mapping[str, float] = outcome.summary.get("prior", {})
    return chance


def _charts(outcome: Outcome) -> list[Chart]:
    frame, summary = outcome.tables["cues"], outcome.summary
    if frame.is_empty():
        return []
    charts: list[Chart] = [_map(outcome, frame)]
    with_cues = [label for label in outcome.labels if strongest(frame, label, 1).height]
    charts += [_label_chart(outcome, label) for label in with_cues[:MOST_LABELS]]
    if summary["significant"] and "test" in outcome.splits:
        charts.append(_confirmation(outcome, frame))
    if len(summary.get("families", {})) > 1 and summary["significant"]:
        charts.append(_families(summary))
    return charts


def _points(cues: pl.DataFrame) -> pl.DataFrame:
    """Return cues with what hovering over one of them shows."""
    rows = cues.rows(named=True)
    return cues.with_columns(
        pl.col("label").cast(pl.String),
        n=pl.Series([compared(row) for row in rows], dtype=pl.Float64),
        train=pl.Series(
            [f"{percent(row['share'])} of {count(compared(row))}" for row in rows], dtype=pl.String
        ),
        test=pl.Series(
            [f"{percent(row['test_share'])} of {count(row['test_count'])}" for row in rows], dtype=pl.String
        ),
    )


def _map(outcome: Outcome, frame: pl.DataFrame) -> CueMap:
    sampled = ""
    if frame.height > MOST_POINTS:
        sampled = f" The chart shows the strongest {MOST_POINTS:,} of {frame.height:,} features."
    noun = f"{outcome.training}{_INSTANCES[outcome.task]}"
    named = strongest_words(frame).select("family", "feature")
    points = _points(sample_for_map(with_test_share(frame, outcome.labels)))
    return CueMap(
        title="Map of cues",
        data=points.join(
            named.with_columns(named=pl.lit(value=True)),
            on=["family", "feature"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.col("named").fill_null(value=False)),
        chance=_chance(outcome),
        critical_p=critical_p(outcome, frame),
        instances=outcome.instances.get("train", 0),
        named="named",
        x_title=f"share of {noun} with it (logarithmic)",
        colours=outcome.labels,
        tooltip=_point(outcome),
        alt=f"Scatter plot of {min(frame.height, MOST_POINTS):,} features by the share of the {noun} with them "
        "and the share of the label each predicts; features above the curve of their label are significant. The "
        "table of cues has the same numbers.",
        caption=f"Each point is a feature. Dashed lines show chance (the label's share in the {outcome.training_set}); "
        f"points above the curve of their colour are significant.{sampled} {_HOW_TO_MOVE}",
        brief="Each point is a feature: the higher, the more it gives away; the further right, the more examples "
        "have it.",
        name="map",
    )


def _point(outcome: Outcome) -> dict[str, Column]:
    """Return what hovering over a cue shows."""
    tested = {"test": Column("test set")} if "test" in outcome.splits else {}
    return {
        "family": Column("family"),
        "train": Column("training set" if outcome.training else "examples"),
        **tested,
        "lift": Column("lift", "decimal"),
        "log10_p": Column("p-value", "log10_p"),
    }


def _label_chart(outcome: Outcome, label: str) -> Intervals:
    cues = strongest(with_test_share(outcome.tables["cues"], outcome.labels), label, CUES_PER_LABEL)
    name, chance, tested = display_text(label, 40), _chance(outcome).get(label), "test" in outcome.splits
    start = min([*cues["share_low"].to_list(), chance or 0.0])
    top = ", ".join(display_text(feature, 40) for feature in cues["feature"].head(3))
    return Intervals(
        title=f"Cues of {name}",
        data=_points(cues),
        y="feature",
        x=Axis("share", "", "percent", domain=(max(0.0, min(start - 0.05, 0.5)), 1.0), ticks=4),
        low="share_low",
        high="share_high",
        second="test_share" if tested else "",
        colour="label",
        line=chance,
        colours=outcome.labels,
        tooltip=_point(outcome),
        alt=f"Share of {name} among instances with each of its strongest cues, in the {outcome.training_set} "
        f"with 95 % CI{' and in the test set' if tested else ''}; the strongest are {top}.",
        caption="● training set with 95 % CI · ◇ test set · ┆ chance"
        if tested
        else "● share with 95 % CI · ┆ chance",
        wide=False,
    )


def _confirmation(outcome: Outcome, frame: pl.DataFrame) -> Scatter:
    ticks = (0, 0.2, 0.4, 0.6, 0.8, 1)
    return Scatter(
        title="Training set and test set",
        data=_points(confirmed_cues(frame, outcome.labels)),
        x=Axis("share", "share in the training set", "percent", domain=(0, 1.02), ticks=ticks),
        y=Axis("test_share", "share in the test set", "percent", domain=(0, 1.02), ticks=ticks),
        colour="label",
        size="test_count",
        diagonal=True,
        colours=outcome.labels,
        tooltip={
            "feature": Column("feature"),
            "family": Column("family"),
            "test_count": Column("test instances", "count"),
        },
        alt="Scatter plot of the strongest cues by the share of their label in the training set and the test set.",
        caption="Each point is a significant cue in the training set; its size is the number of test instances with "
        "it. On the dashed line, the label share is equal in both sets. A cue that is only noise is near chance in the "
        "test set.",
        name="confirmation",
    )


def _families(summary: Summary) -> Bars:
    rows = [
        {
            "family": name,
            "significant": family["significant"] / tested,
            "cues": family["cues"] / tested,
            "text": f"{count(family['cues'])} of {count(tested)}",
        }
        for name, family in summary.get("families", {}).items()
        if not family.get("skipped") and (tested := family.get("features") or 0)
    ]
    schema = {"family": pl.String, "significant": pl.Float64, "cues": pl.Float64, "text": pl.String}
    return Bars(
        title="By family",
        data=pl.DataFrame(rows, schema=schema),
        y="family",
        x=Axis("cues", "share of the features tested", "percent", (0, 1.2), ticks=(0, 0.25, 0.5, 0.75, 1)),
        behind="significant",
        text="text",
        tooltip={"text": Column("cues / features tested")},
        alt="Bars of the share of features that are significant and that are cues, one per family.",
        caption="Blue: cues. Grey: significant, but too rare in a split to be listed.",
        name="families",
    )


def _redundant(outcome: Outcome) -> list[Table]:
    """Return the cues that co-occur with a stronger one, and what they add to it."""
    frame = outcome.rows("redundancy")
    if frame.is_empty() or (given := frame.filter(pl.col("given").is_not_null())).is_empty():
        return []
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "label": Column("Label", "label"),
        "given": Column("Co-occurs with", hint="a stronger cue that occurs in most of its instances"),
        "contained": Column("Together", "percent", "share of its instances with the stronger cue"),
        "share_with": Column("Share", "percent", "label share if both cues are present"),
        "base_with": Column("Stronger cue", "percent", "label share if the stronger cue is present"),
        "z_given": Column("Added z", "decimal", "what it adds to the stronger cue, in standard errors"),
    }
    stronger = [spoken_cue(*str(name).split(":", 1)) for name in given["given"].to_list()]
    given = given.with_columns(given=pl.Series(stronger, dtype=pl.String))
    title = "Cues that co-occur with a stronger cue"
    return [Table(title, "redundancy", columns, data=given, most=REDUNDANT_ROWS)]


def _giving_away(outcome: Outcome) -> list[Table]:
    """Return the words that give most away where they occur, if there are any."""
    words = strongest_words(outcome.tables["cues"])
    if words.is_empty():
        return []
    both = ", training and test set" if "test" in outcome.splits else ""
    columns = {
        "feature": Column("Word"),
        "label": Column("Label", "label"),
        "held_share": Column("Share", "percent", f"share of the label, corrected for selection{both}"),
        **interval_columns("held_", of="the share"),
        "chance": Column("Chance", "percent"),
        "coverage": Column("Coverage", "percent", "share of the examples with it"),
        "train_texts": Column("Texts", "count", f"distinct {outcome.training}texts with it", brief=False),
    }
    return [Table("Gives away most where it occurs", "cues", columns, data=words, total=words.height)]


def cue_table(outcome: Outcome, cues: pl.DataFrame) -> Table:
    """Return rows of the table of cues to look at, with the test share beside the training share."""
    frame = with_test_share(cues, outcome.labels).with_columns(
        pl.col("direction").replace({"points to": "for", "rules out": "against"})
    )
    differing = (
        f"those of them in examples whose {_answers(outcome)} differ in the feature; share and q are of these"
    )
    deviation = "deviation from balance that also holds in the test set, in percent"
    columns = {
        "feature": Column("Feature"),
        "family": Column("Family"),
        "direction": Column(
            "Cue", hint="for the label (more frequent with it) or against it (less frequent)"
        ),
        "label": Column("Label", "label"),
        "train_count": Column(
            "Train" if outcome.training else "Instances",
            "count",
            f"{outcome.training}instances with the feature",
        ),
        "train_texts": Column(
            "Texts", "count", "distinct texts among them; duplicates count once", brief=False
        ),
        "share_n": Column("Compared", "count", differing),
        "share": Column("Share", "percent", "share of the label among these instances"),
        **interval_columns("share_", of="the share"),
        "lift": Column("Lift", "decimal", "share divided by the label's prior"),
        "test_count": Column("Test", "count", "test instances with the feature"),
        "test_share": Column("Test share", "percent", "share of the same label in the test set"),
        "cueness": Column("Cueness", "decimal", deviation, brief=False),
        "z": Column("z", "decimal", "standard errors above the prior", brief=False),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
    }
    if "share_n" in frame.columns and (frame["share_n"].round() == frame["train_count"].round()).all():
        del columns["share_n"]
    if "test" not in outcome.splits:
        columns = {name: column for name, column in columns.items() if not name.startswith("test_")}
    title = "All cues" if frame.height <= MOST_ROWS else "Strongest cues"
    return Table(title, "cues", columns, data=frame, most=MOST_ROWS, searchable=True)


def with_test_share(cues: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the cues with `test_share`: how often the label a feature points to holds in test, too.

    Of questions only those count whose choices differ in the feature; a share that would count the others is missing.
    """
    if "direction" not in cues.columns:  # a card of an earlier version, or of a plug-in
        cues = cues.with_columns(direction=pl.lit("points to"), train_texts="train_count")
    counted = [label for label in labels if f"test_{label}" in cues.columns]
    if "test_count" not in cues.columns or not counted:
        missing = pl.lit(None, dtype=pl.Int64)
        return cues.with_columns(test_count=missing, test_share=missing.cast(pl.Float64))
    hits = pl.coalesce(
        *(
            pl.when(pl.col("label").cast(pl.String) == label).then(pl.col(f"test_{label}"))
            for label in counted
        )
    )
    share = pl.when(pl.col("test_count") > 0).then(hits / pl.col("test_count"))
    if not {"again_n", "again_share", "share_n"} <= set(cues.columns):
        return cues.with_columns(test_share=share)
    within = (
        pl.col("share_n") != pl.col("train_count")
    ).any()  # shares of examples that differ in the feature
    of_questions = pl.col("again_n").is_not_null() & within
    return cues.with_columns(
        test_count=pl.when(of_questions)
        .then(pl.col("again_n").round().cast(pl.Int64))
        .otherwise("test_count"),
        test_share=pl.when(within).then("again_share").otherwise(share),
    )


def compared(row: Summary) -> float:
    """Return how many training instances the share of a cue is of.

    Of choices and responses, these are the instances with the feature in examples whose answers differ in it.
    """
    n = row.get("share_n")
    return float(row["train_count"] if n is None else n)


def sample_for_map(cues: pl.DataFrame) -> pl.DataFrame:
    """Return at most `MOST_POINTS` cues: the strongest significant ones, and others for contrast."""
    if cues.height <= MOST_POINTS:
        return cues
    significant = cues.filter("significant")
    others = cues.filter(~pl.col("significant"))
    kept_others = min(others.height, max(_NOT_SIGNIFICANT_POINTS, MOST_POINTS - significant.height))
    step = max(1, -(-others.height // max(kept_others, 1)))
    return pl.concat([significant.head(MOST_POINTS - kept_others), others.gather_every(step)])


def strongest(cues: pl.DataFrame, label: str, top: int) -> pl.DataFrame:
    """Return the strongest significant cues of a label, each saying something the ones before it do not.

    Cues seen often enough in test are preferred; "is sleeping" after "sleeping" is left out, and so is a cue
    that the audit put into the group of an earlier one.
    """
    of_label = cues.filter((pl.col("label").cast(pl.String) == label) & pl.col("significant"))
    if "direction" in cues.columns:
        of_label = of_label.filter(pl.col("direction") == "points to")
    if "by_length" in cues.columns:
        of_label = of_label.filter(~pl.col("by_length"))
    if "group" in cues.columns:
        of_label = of_label.filter(pl.col("group").is_null() | pl.col("group").is_first_distinct())
    listed = of_label.filter("is_cue")
    candidates = (listed if listed.height >= min(3, of_label.height) else of_label).head(20 * top)
    kept = saying_something_new(candidates["family"].to_list(), candidates["feature"].to_list())
    return candidates[kept[:top]]


def saying_something_new(families: Sequence[str], features: Sequence[str]) -> list[int]:
    """Return the positions of features whose words do not include, or lie within, those of an earlier one."""
    shown: list[set[str]] = []
    kept = []
    for i, (family, feature) in enumerate(zip(families, features, strict=True)):
        words = set(feature.split()) if family in _MADE_OF_WORDS else set()
        if words and any(words <= other or other <= words for other in shown):
            continue
        kept.append(i)
        if words:
            shown.append(words)
    return kept


def confirmed_cues(cues: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the significant cues that test has, strongest first."""
    both = with_test_share(cues, labels).filter(pl.col("significant") & pl.col("test_share").is_not_null())
    return both.head(MOST_CONFIRMED)


def critical_p(outcome: Outcome, cues: pl.DataFrame) -> float:
    """Return the p-value at which significance begins: the largest significant one, otherwise Bonferroni's."""
    significant: float | None = cues.filter("significant")["log10_p"].max()  # type: ignore[assignment]
    if significant is not None:
        return float(10.0**significant)
    tests = max(1, cues.height * max(1, len(_chance(outcome))))
    return float(outcome.summary.get("alpha", 0.05)) / tests
