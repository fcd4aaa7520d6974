"""The measures of partial input: accuracy, AUC and bits of every input that should not be enough."""

from __future__ import annotations

from dataclasses import replace

from cuecard.analysis import Measure, MeasureKind, Summary
from cuecard.audits.partial_input.judging import TESTED_KINDS
from cuecard.audits.partial_input.leak_scores import SOLVED
from cuecard.wording import of_responses

NAME = "partial_input"
#: How accuracies of partial input are read.
CAVEAT = (
    "Ties count as one over the number of tied answers. Accuracies from partial input are lower bounds: a stronger "
    "model may find more."
)
#: A shortcut is an input that should not be enough; the other lines are what it is compared with.
ACCURACY = MeasureKind(
    "{shortcut}.accuracy", "{shortcut} accuracy", "share", "higher", solved=f"{SOLVED}{{shortcut}}"
)
EXCESS = MeasureKind(
    "{shortcut}.excess",
    "{shortcut} accuracy above chance",
    "points",
    "higher",
    solved=f"{SOLVED}{{shortcut}}",
)
TURNED = MeasureKind(
    "{shortcut}.turned_accuracy", "{shortcut} accuracy of the least likely answer", "share", "higher"
)
AUC = MeasureKind("{shortcut}.auc", "{shortcut} AUC", "score", "higher")
BITS = MeasureKind("{shortcut}.bits", "{shortcut} information", "bits", "higher")
REFERENCE = MeasureKind("{reference}.accuracy", "{reference} accuracy", "share")
LEARNER = MeasureKind("{model}.{shortcut}.accuracy", "{shortcut} accuracy of {model}", "share", "higher")
LEARNER_FULL = MeasureKind("{model}.full.accuracy", "full accuracy of {model}", "share")
NBA = MeasureKind("{model}.nba", "{model}: agreement of full and partial input (NBA)", "share")
NBR = MeasureKind("{model}.nbr", "{model}: both correct among agreements (NBR)", "share")
NBR_RELEASED = MeasureKind("{model}.nbr_released", "{model}: both correct among correct", "share")
ONLY_PARTIAL = MeasureKind(
    "{model}.only_partial", "{model}: only the partial input is answered correctly", "share"
)
TRA = MeasureKind("{model}.tra", "{model}: token relevance agreement (TRA)", "score")
OUTSIDE = MeasureKind(
    "outside.{column}.accuracy", "accuracy of the outside model ({column}, A_SOTA)", "share"
)
RECOVERED = MeasureKind(
    "{shortcut}.percent_s", "{shortcut}: share of the outside model's accuracy (%R_S)", "share", "higher"
)
#: Shares of a sum of which some parts may be below zero, so that others can be above 1: scores, not shares.
CARRIED = MeasureKind(
    "{shortcut}.carried", "{shortcut}: share of the log score that the listed features carry", "score"
)
CARRIES = MeasureKind("{shortcut}.carried.{cue}", "score carried by {label}", "score")
BY_STRONGEST = MeasureKind(
    "{shortcut}.carried_by_strongest",
    "{shortcut}: share of the log score that the words carry that give most away where they occur",
    "score",
)
KINDS = (
    *(ACCURACY, EXCESS, TURNED, AUC, BITS, REFERENCE),
    *(LEARNER, LEARNER_FULL, NBA, NBR, NBR_RELEASED, ONLY_PARTIAL, TRA),
    *(OUTSIDE, RECOVERED, CARRIED, CARRIES, BY_STRONGEST),
)
ENDS = ("low", "high", "chance", "n")
#: What a shortcut is called before "accuracy", where that is not its name.
SPOKEN = {
    "longest": "longest-answer",
    "shortest": "shortest-answer",
    "rarest_choice": "rarest-answer",
    "commonest_choice": "most-frequent-answer",
    "length": "length-only",
    "position": "position-only",
    "overlap": "shared-words",
    "metadata": "extra-columns",
}


def partial_measures(summary: Summary) -> list[Measure]:
    """Return the accuracy of every baseline, what shortcuts reach above chance, and every trained learner."""
    measures = []
    for line in summary["baselines"]:
        if line["kind"] in TESTED_KINDS:
            measures += _of_shortcut(line, summary.get("task", ""))
            continue
        chance = None if line["kind"] == "reference" else line["chance"]
        ends = {end: line[end] for end in ENDS} | {"chance": chance}
        measures.append(REFERENCE.of(NAME, line["accuracy"], **ends, reference=line["name"]))
    for pair in summary.get("learners", ()):
        measures += _of_learner(pair)
    return measures + _of_carried(summary) + _of_outside(summary)


def _of_carried(summary: Summary) -> list[Measure]:
    """Return the share of the log score that the features carry that are listed, and that of each."""
    score = summary.get("carried")
    if score is None:
        return []
    name, n = score["input"], score["examples"]
    ends = {end: score[end] for end in ("low", "high")}
    return [
        CARRIED.of(NAME, score["share"], **ends, n=n, shortcut=name),
        *(
            CARRIES.of(
                NAME, row["share"], low=row["share_low"], high=row["share_high"],
                n=n, shortcut=name, cue=row["feature"], label=spoken_carrier(row),
            )
            for row in score["listed"]
        ),
    ]  # fmt: skip


def spoken_carrier(row: Summary) -> str:
    """Return what a feature that carries a score is called, with the label it speaks for."""
    return "the length" if row["family"] == "length" else f"“{row['feature']}” ({row['label']})"


def _of_outside(summary: Summary) -> list[Measure]:
    """Return the accuracy of a model that the data tells of, and how much of it partial input recovers."""
    outside = summary.get("outside")
    if outside is None:
        return []
    measures = [OUTSIDE.of(NAME, outside["accuracy"], n=outside["n"], column=outside["column"])]
    if not outside["accuracy"]:
        return measures
    scored = [(line["name"], line["accuracy"]) for line in summary["baselines"] if line["kind"] == "partial"]
    scored += [
        (f"{pair['learner']}.{pair['condition']}_only", pair["ssc"]["accuracy"])
        for pair in summary.get("learners", ())
    ]
    return measures + [
        RECOVERED.of(NAME, accuracy / outside["accuracy"], n=outside["n"], shortcut=name)
        for name, accuracy in scored
    ]


def _of_shortcut(line: Summary, task: str) -> list[Measure]:
    n, chance = line["n"], line["chance"]

    def measure(kind: MeasureKind, field: str, chance: float) -> Measure:
        low, high = line.get(f"{field}_low"), line.get(f"{field}_high")
        value = line.get(field)
        return kind.of(NAME, value, low=low, high=high, chance=chance, n=n, shortcut=line["name"])

    ends = {end: line[end] for end in ("low", "high")}
    above = {end: line[f"excess_{end}"] for end in ends}
    others = [measure(TURNED, "turned", chance), measure(AUC, "auc", 0.5), measure(BITS, "information", 0.0)]
    measures = [
        ACCURACY.of(NAME, line["accuracy"], **ends, chance=chance, n=n, shortcut=line["name"]),
        EXCESS.of(NAME, line["accuracy"] - chance, **above, chance=0.0, n=n, shortcut=line["name"]),
        *(other for other in others if other.value is not None),
    ]
    name = line["name"].replace("_", "-")
    spoken = of_responses(SPOKEN.get(line["name"], name), task)
    return [replace(one, label=spoken + one.label.removeprefix(name)) for one in measures]


def _of_learner(pair: Summary) -> list[Measure]:
    model, n = pair["learner"], pair["n"]
    full, partial = pair["psc"], pair["ssc"]
    tra = {"low": pair["tra_low"], "high": pair["tra_high"], "n": pair["tra_n"]}
    return [
        LEARNER_FULL.of(NAME, full["accuracy"], **{end: full[end] for end in ENDS}, model=model),
        LEARNER.of(
            NAME, partial["accuracy"], **{end: partial[end] for end in ENDS},
            model=model, shortcut=f"{pair['condition']}_only",
        ),
        NBA.of(NAME, pair["nba"], chance=pair["expected_nba"], n=n, model=model),
        NBR.of(NAME, pair["nbr"], n=n, model=model),
        NBR_RELEASED.of(NAME, pair["nbr_released"], n=n, model=model),
        *([] if "only_partial" not in pair else [ONLY_PARTIAL.of(NAME, pair["only_partial"], n=n, model=model)]),
        *([] if pair["tra"] is None else [TRA.of(NAME, pair["tra"], **tra, model=model)]),
    ]  # fmt: skip
