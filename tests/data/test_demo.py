"""The demo generators: exact strengths, clean controls, and nothing to find that was not planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from cuecard.data.demo import (
    CHOICE_CUES,
    NLI_CUES,
    Cue,
    Demo,
    demo_choice,
    demo_corpus,
    demo_corpus_chunks,
    demo_nli,
    demo_predictions,
)
from cuecard.data.demo.language import GRAMMAR_WORDS
from cuecard.data.demo.planted import complete, draw_features
from cuecard.data.instances import COLUMNS
from cuecard.errors import UsageError

SEEDS = range(4)
CONFIDENCE = 0.9999


def gold(demo: Demo) -> npt.NDArray[np.str_]:
    return np.asarray(demo.instances.table["label"].cast(pl.String).to_list())


def words(demo: Demo, column: str = "hypothesis") -> pl.Series:
    return demo.instances.table[column].str.to_lowercase().str.extract_all(r"\w+")


def presence(demo: Demo, ngrams: int = 1) -> tuple[sparse.csr_matrix, npt.NDArray[np.str_]]:
    vectorizer = CountVectorizer(binary=True, ngram_range=(ngrams, ngrams), token_pattern=r"\w+")
    matrix = vectorizer.fit_transform(demo.instances.table["hypothesis"].to_list())
    return matrix, vectorizer.get_feature_names_out()


def significant(
    demo: Demo, prior: float, label: str, level: float = 0.05, ngrams: int = 1
) -> dict[str, float]:
    """Features significant by Benjamini–Hochberg over two-sided exact binomial p-values, with their share."""
    matrix, names = presence(demo, ngrams)
    n = np.asarray(matrix.sum(axis=0)).ravel()
    k = np.asarray(matrix[gold(demo) == label].sum(axis=0)).ravel()
    p = np.minimum(1, 2 * np.minimum(stats.binom.cdf(k, n, prior), stats.binom.sf(k - 1, n, prior)))
    found = stats.false_discovery_control(p) <= level
    return dict(zip(names[found], (k / n)[found], strict=True))


def agrees(hits: int, n: int, probability: float) -> bool:
    interval = stats.binomtest(int(hits), int(n), probability).proportion_ci(CONFIDENCE)
    return bool(interval.low <= probability <= interval.high)


def crossfit_accuracy(texts: list[str], labels: npt.NDArray[np.str_]) -> int:
    """How many labels a cross-fitted linear model on words and bigrams gets right."""
    matrix = CountVectorizer(binary=True, ngram_range=(1, 2), min_df=3).fit_transform(texts)
    predicted = cross_val_predict(LogisticRegression(C=0.1, max_iter=200), matrix, labels, cv=3)
    return int((predicted == labels).sum())


@pytest.fixture(scope="module")
def clean() -> Demo:
    return demo_nli(cues=None)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_planted_strength_and_share_are_recovered(make, seed):
    demo = make(seed=seed)
    label = gold(demo)
    assert {cue.kind for cue in demo.truth} == set(demo.present)
    for cue in demo.truth:
        here = demo.present[cue.kind]
        assert agrees((label[here] == cue.label).sum(), here.sum(), cue.strength), cue
        assert abs(here.mean() - cue.share) < 5 * np.sqrt(cue.share / len(here)), cue


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_ground_truth_names_are_what_the_texts_hold(make):
    demo = make()
    tokens = words(demo)
    joined = " " + tokens.list.join(" ") + " "
    has = {cue.kind: joined.str.contains(f" {cue.feature} ", literal=True).to_numpy() for cue in demo.truth}
    np.testing.assert_array_equal(has["word"], demo.present["word"])
    np.testing.assert_array_equal(has["bigram"], demo.present["bigram"])
    negated = joined.str.contains_any([" no ", " not "]).to_numpy()
    np.testing.assert_array_equal(negated, demo.present["negation"])
    repeated = demo.instances.table["hypothesis"].is_duplicated().to_numpy()
    assert (repeated == demo.present["pair_graph"]).mean() > 0.999
    assert all(cue.label in cue.sentence and f"{cue.strength:.0%}" in cue.sentence for cue in demo.truth)


def test_repeated_hypotheses_stand_in_three_pairs_of_one_split():
    table = demo_nli().instances.table
    groups = table.filter(pl.col("hypothesis").is_duplicated()).group_by("hypothesis")
    sizes = groups.agg(pl.len(), splits=pl.col("split").n_unique(), premises=pl.col("premise").n_unique())
    assert (sizes["len"] == 3).mean() > 0.99
    assert sizes["splits"].max() == 1
    assert (sizes["premises"] == sizes["len"]).all()


@pytest.mark.parametrize(("make", "prior"), [(demo_nli, 1 / 3), (demo_choice, 1 / 4)])
def test_the_words_of_the_bigram_alone_are_no_cues(make, prior):
    demo = make(n=16_000)
    label = gold(demo)
    cue = demo.planted("bigram")
    for word in cue.feature.split():
        has = words(demo).list.contains(word).to_numpy()
        assert has.sum() > 2 * demo.present["bigram"].sum() * 0.9
        assert agrees((label[has] == cue.label).sum(), has.sum(), prior)


def test_long_hypotheses_are_longer_without_any_new_word():
    demo = demo_nli()
    tokens, long = words(demo), demo.present["length"]
    assert tokens.list.len().to_numpy()[long].mean() > tokens.list.len().to_numpy()[~long].mean() + 3
    distinct = tokens.list.n_unique().to_numpy()
    assert stats.ttest_ind(distinct[long], distinct[~long & ~demo.present["pair_graph"]]).pvalue > 1e-4


def test_the_long_choice_is_the_longest_of_its_example():
    demo = demo_choice()
    lengths = demo.instances.table["hypothesis"].str.len_chars().to_numpy().reshape(-1, 4)
    long = demo.present["length"].reshape(-1, 4)
    rows = long.any(axis=1)
    assert (long.sum(axis=1) <= 1).all()
    assert (lengths[rows].argmax(axis=1) == long[rows].argmax(axis=1)).mean() > 0.9


@pytest.mark.parametrize("label", ["entailment", "neutral", "contradiction"])
def test_planted_words_are_found_and_other_words_hardly(label):
    expected = {"entailment": {"indeed"}, "neutral": set(), "contradiction": {"no", "not"}}[label]
    demo = demo_nli()
    found = {word for word, share in significant(demo, 1 / 3, label).items() if share > 1 / 3}
    assert expected <= found
    assert len(found - expected) <= 1


def test_each_cue_can_be_switched_on_alone():
    for cue in NLI_CUES:
        demo = demo_nli(n=8000, cues=[cue])
        label = gold(demo)
        assert [planted.kind for planted in demo.truth] == [cue.kind]
        for kind, here in demo.present.items():
            for name in demo.instances.labels:
                others = (1 - cue.strength) / 2
                expected = 1 / 3 if kind != cue.kind else cue.strength if name == cue.label else others
                assert agrees((label[here] == name).sum(), here.sum(), expected), (cue, kind, name)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("make", "prior", "label"), [(demo_nli, 1 / 3, "neutral"), (demo_choice, 1 / 4, "right")]
)
def test_clean_control_has_no_significant_word_or_bigram(make, prior, label, seed):
    demo = make(seed=seed, cues=None)
    assert demo.clean
    assert demo.truth == ()
    assert demo.present["word"].any()
    assert significant(demo, prior, label) == {}
    assert significant(demo, prior, label, ngrams=2) == {}


def test_clean_features_do_not_depend_on_the_labels():
    labels = ("entailment", "neutral", "contradiction")
    prior = np.full(3, 1 / 3)
    free = np.ones(5000, dtype=np.bool_)
    cues = complete(None, NLI_CUES, labels)

    def draw(codes: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.bool_]]:
        kinds = ("word", "bigram", "negation", "length")
        return draw_features(kinds, cues, labels, prior, (codes, free, prior), np.random.default_rng(1))

    rng = np.random.default_rng(0)
    one, other = draw(rng.integers(0, 3, 5000)), draw(rng.integers(0, 3, 5000))
    for name, mask in one.items():
        np.testing.assert_array_equal(mask, other[name])


def test_neither_sentence_alone_predicts_a_clean_label_but_both_do(clean):
    table, label = clean.instances.table, gold(clean)
    chance = np.unique(label, return_counts=True)[1].max() / len(label)
    for column in ("hypothesis", "premise"):
        hits = crossfit_accuracy(table[column].to_list(), label)
        assert stats.binomtest(hits, len(label), chance, alternative="greater").pvalue > 0.001, column
    said = pl.DataFrame({"p": words(clean, "premise"), "h": words(clean)})
    overlap = said.select(
        share=pl.col("h").list.set_intersection("p").list.len() / pl.col("h").list.n_unique(),
        missing=pl.col("h").list.set_difference("p").list.len(),
    )
    pairs = overlap.to_numpy()
    predicted = cross_val_predict(LogisticRegression(max_iter=500), pairs, label, cv=3)
    assert (predicted == label).mean() > 0.75


def test_hypothesis_alone_predicts_the_label_once_cues_are_planted():
    demo = demo_nli()
    label = gold(demo)
    hits = crossfit_accuracy(demo.instances.table["hypothesis"].to_list(), label)
    assert stats.binomtest(hits, len(label), 0.36, alternative="greater").pvalue < 1e-6


def test_choices_alone_do_not_tell_the_answer_of_a_clean_set():
    demo = demo_choice(cues=None)
    label = gold(demo)
    n = demo.instances.n_examples
    matrix = CountVectorizer(binary=True, min_df=3).fit_transform(
        demo.instances.table["hypothesis"].to_list()
    )
    half = len(label) // 2 // 4 * 4
    scores = (
        LogisticRegression(C=0.1, max_iter=200).fit(matrix[:half], label[:half]).predict_proba(matrix[half:])
    )
    picked = scores[:, 0].reshape(-1, 4).argmax(axis=1)
    right = (label[half:] == "right").reshape(-1, 4).argmax(axis=1)
    assert agrees((picked == right).sum(), n - half // 4, 1 / 4)


def test_the_context_tells_the_right_choice_of_the_person_asked_about():
    demo = demo_choice(cues=None)
    said = pl.DataFrame({"p": words(demo, "premise"), "h": words(demo)})
    missing = said.select(pl.col("h").list.set_difference("p").list.len()).to_series().to_numpy()
    right = (gold(demo) == "right").reshape(-1, 4)
    missing = missing.reshape(-1, 4)
    most = 1 + 2 + 1 + 1 + 2  # an opener, the bigram's words, the planted word, a negation, a link to clothes
    assert (missing[right] <= most).all()
    assert missing[right].mean() < missing[~right].mean() - 1


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_instances_follow_the_contract(make):
    data = make(n=400, test_fraction=0.2).instances
    assert tuple(data.table.columns) == COLUMNS
    assert data.table.schema["position"] == pl.Int32
    assert data.table.schema["label"] == pl.Enum(data.labels)
    assert data.splits == ("train", "test")
    assert data.n_examples == 400
    assert data.test is not None
    assert data.test.n_examples == 80
    assert data.table.null_count().sum_horizontal().item() == 0
    if data.grouped:
        per_example = data.table.group_by("split", "example_id").agg(
            pl.len(), right=(pl.col("label") == "right").sum(), premises=pl.col("premise").n_unique()
        )
        assert per_example.select("len", "right", "premises").unique().rows() == [(4, 1, 1)]
        assert data.table["position"].to_list() == [0, 1, 2, 3] * 400


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_same_seed_same_data_and_other_seed_other_data(make):
    assert make(seed=5).instances.fingerprint == make(seed=5).instances.fingerprint
    assert make(seed=5).instances.fingerprint != make(seed=6).instances.fingerprint


def test_texts_read_as_sentences_over_several_hundred_words(clean):
    texts = pl.concat([clean.instances.table["premise"], clean.instances.table["hypothesis"]])
    assert texts.str.contains(r"^[A-Z][^.]*\.$").all()
    assert not texts.str.contains(r"  | ,|\ba [aeio]").any()
    assert 400 < words(clean).explode().n_unique() < 1500
    assert set(words(clean).explode()) - GRAMMAR_WORDS == {"indeed", "again", "today"}


def test_two_choices_and_no_test_split_are_possible():
    demo = demo_choice(500, 2, test_fraction=0, cues=[Cue("position", "right", 0.9, 0.5, "1")])
    assert demo.instances.splits == ("train",)
    assert demo.planted("position").share == 0.5
    right_last = gold(demo)[1::2] == "right"
    assert agrees(right_last.sum(), 500, 0.9)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (demo_nli, {"n": 0}, "n ≥ 1"),
        (demo_nli, {"test_fraction": 1.0}, "test_fraction"),
        (demo_nli, {"cues": [Cue("position", "neutral", 0.5, 0.1)]}, "does not fit"),
        (demo_nli, {"cues": [Cue("word", "right", 0.5, 0.1)]}, "labels are"),
        (demo_nli, {"cues": [Cue("word", "neutral", 1.5, 0.1)]}, "probabilities"),
        (demo_nli, {"cues": [Cue("word", "neutral", 0.9, 0.6)]}, "at most 0.315"),
        (demo_nli, {"cues": [Cue("word", "neutral", 0.9, 0.1, "kitchen")]}, "do not use otherwise"),
        (demo_nli, {"cues": [Cue("bigram", "neutral", 0.9, 0.1, "alas")]}, "needs 2"),
        (demo_nli, {"cues": [NLI_CUES[0], NLI_CUES[0]]}, "twice"),
        (demo_nli, {"cues": [Cue("pair_graph", "neutral", 0.9, 0.6)]}, "pair_graph"),
        (demo_choice, {"k": 1}, "choices"),
        (demo_choice, {"cues": [replace(CHOICE_CUES[5], text="4")]}, "0 to 3"),
        (demo_choice, {"cues": [replace(CHOICE_CUES[5], label="wrong")]}, "'right'"),
        (demo_choice, {"cues": [replace(CHOICE_CUES[3], share=0.3)]}, "at most"),
        (demo_choice, {"cues": [replace(CHOICE_CUES[4], share=0.3)]}, "pair_graph"),
    ],
)
def test_impossible_requests_are_explained(make, arguments, message):
    with pytest.raises(UsageError, match=message):
        make(**arguments)
    with pytest.raises(UsageError, match="No word cue"):
        demo_nli(100, cues=None).planted("word")


def test_a_simulated_model_follows_the_cue_as_often_as_told():
    demo = demo_nli(20_000, cues=[NLI_CUES[2]])
    predictions = demo_predictions(demo, follow=0.4, accuracy=0.8, seed=1)
    assert predictions["example_id"].equals(demo.instances.table["example_id"])
    label, answer = gold(demo), predictions["prediction"].to_numpy()
    here = demo.present["negation"]
    tempted = here & (label != "contradiction")
    assert agrees((answer[~here] == label[~here]).sum(), (~here).sum(), 0.8)
    assert agrees((answer[tempted] == "contradiction").sum(), tempted.sum(), 0.4 + 0.6 * 0.2 / 2)
    right = here & ~tempted
    assert agrees((answer[right] == "contradiction").sum(), right.sum(), 0.4 + 0.6 * 0.8)


def test_simulated_probabilities_belong_to_the_prediction():
    for demo, names in (
        (demo_nli(500), ["entailment", "neutral", "contradiction"]),
        (demo_choice(300), list("0123")),
    ):
        predictions = demo_predictions(demo)
        probabilities = predictions.select(f"p_{name}" for name in names).to_numpy()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        best = [names[i] for i in probabilities.argmax(axis=1)]
        assert predictions["prediction"].cast(pl.String).to_list() == best
        assert predictions.height == demo.instances.n_examples


def test_a_simulated_model_picks_choices_by_position_or_avoids_negated_ones():
    demo = demo_choice(8000)
    by_position = demo_predictions(demo, follow=1.0, only=("position",))
    assert (by_position["prediction"] == 2).all()
    avoiding = demo_predictions(demo, follow=1.0, only=("negation",))["prediction"].to_numpy()
    negated = demo.present["negation"].reshape(-1, 4)
    some = negated.any(axis=1) & ~negated.all(axis=1)
    assert not negated[some, avoiding[some]].any()
    with pytest.raises(UsageError, match="probabilities"):
        demo_predictions(demo, follow=2)


def test_predictions_on_a_clean_set_follow_nothing(clean):
    predictions = demo_predictions(clean, follow=1.0, accuracy=0.7)
    hits = (predictions["prediction"].to_numpy() == gold(clean)).sum()
    assert agrees(hits, predictions.height, 0.7)


def test_the_corpus_has_the_shape_of_snli():
    corpus = demo_corpus()
    assert corpus.columns == ["premise", "hypothesis", "label"]
    assert corpus.height == 550_000
    premises = corpus["premise"].unique()
    assert corpus.height / len(premises) == pytest.approx(3, abs=0.01)
    texts = [
        column.str.to_lowercase().str.strip_chars(".").str.split(" ")
        for column in (premises, corpus["hypothesis"])
    ]
    assert texts[0].list.len().mean() == pytest.approx(14, abs=0.1)
    assert texts[1].list.len().mean() == pytest.approx(7.5, abs=0.1)
    counts = pl.concat([column.explode() for column in texts]).value_counts()["count"]
    assert 30_000 < len(counts) < 40_000
    assert 0.2 < (counts == 1).mean() < 0.4


def test_corpus_chunks_are_made_independently_and_repeat():
    chunks = list(demo_corpus_chunks(91_000, seed=2))
    assert [chunk.height for chunk in chunks] == [90_000, 1_000]
    (last,) = demo_corpus_chunks(91_000, seed=2, start=1)
    assert last.equals(chunks[1])
    assert not demo_corpus(100, seed=2).equals(demo_corpus(100, seed=3))


def test_a_hundred_thousand_pairs_are_made():
    assert len(demo_nli(100_000).instances) == 100_000
