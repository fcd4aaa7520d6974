from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import log_softmax

import cuecard as cc
from cuecard.data import Examples
from cuecard.data.demo import demo_choice
from cuecard.errors import CueCardError, UsageError
from cuecard.models import MODELS, BiasExpert, Debias, load_model
from cuecard.models.bias_experts import FamilyReader, fit_expert
from cuecard.models.debiasing import METHODS, erase_cues, refit_last_layer
from cuecard.models.fitted import answer_probabilities
from cuecard.models.ngram_models.descent import Descent
from cuecard.models.recipe import Recipe
from cuecard.models.text_model import Objective
from small_sets import pair_instances

LABELS, WORDS = ("contradiction", "entailment", "neutral"), ("nobody", "outdoors", "friend")
#: What a hypothesis with each label says of the premise's letter: the task itself.
SAYS = ("not", "same", "maybe")


@pytest.fixture(scope="module")
def data():
    """Pairs whose label a second word gives away, and a first word goes with."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, 420)
    word = np.where(rng.random(420) < 0.75, gold, rng.integers(0, 3, 420))
    says = np.where(rng.random(420) < 0.85, gold, rng.integers(0, 3, 420))
    return pair_instances(
        [
            (
                "train" if i < 300 else "test",
                f"letter {i}",
                f"{WORDS[word[i]]} {SAYS[says[i]]} x{i % 5}",
                LABELS[gold[i]],
            )
            for i in range(420)
        ]
    )


SMALL = {
    "fasttext": {"epochs": 3},
    "esim": {"epochs": 1, "dimensions": 8, "hidden": 8, "first_vectors": "random"},
}


def follows_word(model, data):
    """Return the share of test examples with another label than their word's that are answered as it says."""
    test = data.test
    said = answer_probabilities(model, test).argmax(axis=1)
    word = np.array([WORDS.index(text.split()[0]) for text in test.table["hypothesis"]])
    other = word != Examples(test).gold
    return (said == word)[other].mean()


def test_the_expert_predicts_from_listed_words_and_has_not_seen_what_it_predicts(data):
    train = data.train
    expert = BiasExpert("words", per_label=2, folds=3)
    log_probabilities = expert.cross_fitted(train)
    assert np.exp(log_probabilities).sum(axis=1) == pytest.approx(np.ones(train.n_examples))
    right = log_probabilities.argmax(axis=1) == Examples(train).gold
    assert right.mean() > 0.7
    names = FamilyReader(train, "words", expert.per_label).names
    assert set(names) & set(WORDS)
    features = expert.reader(train).rows(train)
    inside = log_softmax(fit_expert(features, train).decision_function(features), axis=1)
    gold = np.arange(train.n_examples), Examples(train).gold
    assert log_probabilities[gold].mean() < inside[gold].mean()
    weak = BiasExpert("words", per_label=2, folds=3, strength=0.001).cross_fitted(train)
    assert np.ptp(weak) < np.ptp(log_probabilities) / 2


@pytest.mark.parametrize(
    "cues", ["hypothesis", "premise", "length", "overlap", "words+length", "word:nobody"]
)
def test_an_expert_reads_a_part_of_the_input_or_a_family(data, cues):
    log_probabilities = BiasExpert(cues).log_probabilities(data.train, data.test)
    assert log_probabilities.shape == (data.test.n_examples, 3)
    assert np.isfinite(log_probabilities).all()


def test_one_feature_says_what_its_examples_say(data):
    """An expert of one word has two answers: the label shares with the word, and without."""
    expert = BiasExpert("word:nobody").log_probabilities(data.train, data.train)
    has = np.array([text.split()[0] == "nobody" for text in data.train.table["hypothesis"]])
    for members in (has, ~has):
        shares = np.bincount(Examples(data.train).gold[members], minlength=3) / members.sum()
        assert np.exp(expert[members]) == pytest.approx(np.tile(shares, (members.sum(), 1)), abs=0.04)
    with pytest.raises(UsageError, match="No training example has the feature 'nobodies'"):
        BiasExpert("word:nobodies").log_probabilities(data.train, data.train)


def test_an_expert_of_the_pair_graph_knows_frequent_sentences_in_pairs_it_has_not_seen():
    """Sentences that occur often are duplicates of each other; texts themselves say nothing."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(600):
        often = i % 9 < 5
        first, second = (rng.integers(0, 40, 2)) if often else (1000 + 2 * i, 1001 + 2 * i)
        rows.append(("train" if i < 400 else "test", f"s{first}", f"s{second}", ("no", "yes")[often]))
    data = pair_instances(rows)
    expert = BiasExpert("pair-graph")
    for values, part in (
        (expert.cross_fitted(data.train), data.train),
        (expert.log_probabilities(data.train, data.test), data.test),
    ):
        assert (values.argmax(axis=1) == Examples(part).gold).mean() > 0.9
    alone = expert.log_probabilities(data.train, data.test.rows(np.arange(len(data.test)) < 3))
    assert alone == pytest.approx(expert.log_probabilities(data.train, data.test)[:3])
    with pytest.raises(UsageError, match="only applies to pairs"):
        BiasExpert("pair-graph").cross_fitted(demo_choice(60, seed=0).instances.train)


def test_an_expert_of_choices_leaves_out_choices_that_are_not_there():
    data = demo_choice(200, seed=0).instances
    log_probabilities = BiasExpert("length", folds=2).cross_fitted(data.train)
    assert np.exp(log_probabilities).sum(axis=1) == pytest.approx(np.ones(data.train.n_examples))


@pytest.mark.parametrize("method", METHODS)
def test_fasttext_is_trained_with_every_method(data, method, tmp_path):
    recipe = Recipe("fasttext", options=SMALL["fasttext"], debias=Debias(method))
    model = recipe.fit(data.train)
    plain = Recipe("fasttext", options=SMALL["fasttext"]).fit(data.train)
    assert not np.array_equal(model.predict_proba(data.test), plain.predict_proba(data.test))
    model.save(tmp_path)
    assert np.array_equal(load_model(tmp_path).predict_proba(data.test), model.predict_proba(data.test))
    again = recipe.fit(data.train)
    assert np.array_equal(again.predict_proba(data.test), model.predict_proba(data.test))


@pytest.mark.parametrize("method", ["learned-mixin", "group-robust", "last-layer"])
def test_torch_models_are_trained_with_every_method(data, method, tmp_path):
    pytest.importorskip("torch", reason="needs the extra `models`")
    model = Recipe("esim", options=SMALL["esim"], debias=Debias(method)).fit(data.train, dynamics=True)
    assert model.dynamics_ is not None
    model.save(tmp_path)
    assert np.array_equal(load_model(tmp_path).predict_proba(data.test), model.predict_proba(data.test))


def test_a_stopped_run_ends_as_one_that_was_not(data, tmp_path):
    pytest.importorskip("torch", reason="needs the extra `models`")
    recipe = Recipe(
        "esim", options=SMALL["esim"] | {"epochs": 2}, debias=Debias("group-robust", strength=0.5)
    )
    whole = recipe.fit(data.train)

    class Stop(Exception):
        pass

    def stop(step):
        if step.epoch == 2:
            raise Stop

    with pytest.raises(Stop):
        recipe.fit(data.train, checkpoint=tmp_path, watch=stop)
    resumed = recipe.fit(data.train, checkpoint=tmp_path)
    assert np.array_equal(resumed.predict_proba(data.test), whole.predict_proba(data.test))
    with pytest.raises(UsageError, match="belongs to another run"):
        Recipe("esim", options=SMALL["esim"] | {"epochs": 2}).fit(data.train, checkpoint=tmp_path)


def test_a_product_of_experts_follows_the_word_less(data):
    plain, debiased = (
        Recipe("fasttext", options={"epochs": 20}, debias=debias).fit(data.train)
        for debias in (None, Debias("product-of-experts"))
    )
    assert follows_word(debiased, data) < follows_word(plain, data) - 0.1


def test_fasttext_learns_nothing_that_the_expert_is_sure_of(data):
    """The gradient of a product with a sure and right expert is 0, so first and last vectors are the same."""
    train = data.train
    sure = np.where(np.eye(3)[Examples(train).gold] > 0, 0.0, -200.0)
    model = MODELS.get("fasttext")(epochs=2, held_out=0.0)
    model.objective = Objective("product-of-experts", expert=sure)
    model.fit(train)
    assert np.array_equal(model.output_, np.zeros_like(model.output_))


def test_choices_are_trained_with_an_expert_and_resume_as_if_never_stopped(tmp_path):
    train = demo_choice(120, seed=0).instances.train
    plain = Recipe("fasttext", options=SMALL["fasttext"]).fit(train)
    for method in ("product-of-experts", "learned-mixin", "confidence", "group-robust", "upweight"):
        recipe = Recipe("fasttext", options=SMALL["fasttext"], debias=Debias(method, expert="length"))
        whole = recipe.fit(train, checkpoint=tmp_path / method)
        assert not np.array_equal(whole.predict_proba(train), plain.predict_proba(train))

        def stop(step):
            if step.epoch == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            recipe.fit(train, checkpoint=tmp_path / f"{method}-stopped", watch=stop)
        resumed = recipe.fit(train, checkpoint=tmp_path / f"{method}-stopped")
        assert np.array_equal(resumed.predict_proba(train), whole.predict_proba(train))


def test_groups_of_equal_loss_are_drawn_alike_often(data):
    """A group of a hundredth of the examples is seen as often as the rest."""
    model = MODELS.get("fasttext")(epochs=1, held_out=0.0)
    groups = (np.arange(data.train.n_examples) % 100 == 0).astype(np.int64)
    model.objective = Objective("group-robust", 0.01, groups=groups)
    orders = []
    original = Descent._order

    class Seen(Descent):
        def _order(self):
            orders.append(original(self))
            return orders[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cuecard.models.ngram_models.fasttext.Descent", Seen)
        model.fit(data.train)
    assert groups[orders[0]].mean() == pytest.approx(0.5, abs=0.1)


def test_labels_as_targets_are_plain_training(data):
    models = [MODELS.get("fasttext")(epochs=2) for _ in range(2)]
    models[1].objective = Objective("confidence", targets=np.eye(3)[Examples(data.train).gold])
    plain, targets = (model.fit(data.train).predict_proba(data.test) for model in models)
    assert plain == pytest.approx(targets, abs=1e-5)


def test_upweighting_is_training_with_weights_on_the_errors_of_one_epoch(data):
    def fitted(debias=None, **options):
        weights = options.pop("weights", None)
        recipe = Recipe("fasttext", options=SMALL["fasttext"] | options, debias=debias)
        return recipe.fit(data.train, weights=weights)

    early = answer_probabilities(fitted(epochs=1), data.train).argmax(axis=1)
    weights = np.where(early == Examples(data.train).gold, 1.0, 3.0)
    assert 1 < weights.mean() < 3
    pairs = (
        (fitted(Debias("upweight", strength=3.0)), fitted(weights=weights)),
        (fitted(Debias("upweight", strength=1.0)), fitted()),
    )
    for upweighted, same in pairs:
        assert np.array_equal(upweighted.predict_proba(data.test), same.predict_proba(data.test))


def test_nothing_linear_in_the_last_layers_input_predicts_the_erased_answer(data):
    """Erasing a share of zero is a last layer fitted on all examples; erasing all of it leaves means alike."""
    expert = BiasExpert("words", per_label=2).cross_fitted(data.train)
    models = [Recipe("fasttext", options=SMALL["fasttext"]).fit(data.train) for _ in range(3)]
    erase_cues(models[0], data.train, expert, strength=0.0)
    refit_last_layer(models[1], data.train, np.zeros(data.train.n_examples, np.int64))
    first, second = (model.predict_proba(data.train) for model in models[:2])
    assert first == pytest.approx(second, abs=1e-3)
    erase_cues(models[2], data.train, expert)
    logits = models[2].embed(data.train) @ models[2].output_.T + models[2].bias_
    answer = expert.argmax(axis=1)
    means = np.array([logits[answer == k].mean(axis=0) for k in np.unique(answer)])
    assert means == pytest.approx(np.tile(logits.mean(axis=0), (len(means), 1)), abs=1e-3)


def test_a_last_layer_on_equal_groups_is_a_regression_on_features(data):
    """With one group for all, the new layer minimises the plain penalised loss: its gradient is 0."""
    model = Recipe("fasttext", options=SMALL["fasttext"]).fit(data.train)
    features = model.embed(data.train)
    refit_last_layer(model, data.train, np.zeros(data.train.n_examples, np.int64), strength=0.1)
    p = answer_probabilities(model, data.train)
    spread = features.std(axis=0) + 1e-12
    residual = (p - np.eye(3)[Examples(data.train).gold]).T @ ((features - features.mean(axis=0)) / spread)
    assert residual + 10 * model.output_ * spread == pytest.approx(np.zeros_like(residual), abs=0.05)
    assert (p - np.eye(3)[Examples(data.train).gold]).sum(axis=0) == pytest.approx(np.zeros(3), abs=0.05)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda d: Debias("product"), "product-of-experts"),
        (lambda d: Debias("erase", expert="wrods"), "words"),
        (lambda d: Debias("erase", expert="words+lenght"), "length"),
        (lambda d: Debias("erase", expert="wrod:nobody"), "word"),
        (lambda d: Debias("erase", expert="word:"), "names no feature: write word:FEATURE"),
        (lambda d: Debias("erase", strength=2.0), "must be at most 1"),
        (lambda d: Debias("last-layer", strength=0.0), "must be a positive number"),
        (lambda d: Recipe("linear", debias=Debias("learned-mixin")).fit(d.train), "cannot be trained with"),
        (lambda d: Recipe("linear", debias=Debias("erase")).fit(d.train), "no last layer"),
        (lambda d: Recipe("linear", debias=Debias("group-robust")).fit(d.train), "choose fasttext"),
        (lambda d: Recipe("fasttext", debias=Debias("erase", "choices")).fit(d.train), "does not apply"),
    ],
)
def test_what_cannot_be_trained_is_told_in_a_sentence(data, make, sentence):
    with pytest.raises(CueCardError, match=sentence):
        make(data)


def test_the_command_trains_writes_and_says_how(cuecard, data, tmp_path):
    for split in ("train", "test"):
        data.split(split).table.drop("split", "position").write_csv(tmp_path / f"{split}.csv")
    arguments = ("train", tmp_path / "train.csv", "--test", tmp_path / "test.csv", "--model", "fasttext")
    run = (*arguments, "--debias", "upweight", "--strength", "3", "--epochs", "3", "--out", tmp_path / "run")
    ran = cuecard(*run, "--json")
    assert ran.code == 0, ran.err
    metrics = json.loads(ran.out)
    assert metrics["debias"] == {"method": "upweight", "expert": "words", "strength": 3.0, "seed": 0}
    python = cc.train(
        cc.load(tmp_path / "train.csv", test=tmp_path / "test.csv"),
        "fasttext",
        debias=Debias("upweight", strength=3.0),
        epochs=3,
    )
    assert metrics["splits"] == json.loads(json.dumps(python.metrics["splits"]))
    ran = cuecard(*run)
    assert "debiased by upweight (expert words, strength 3)" in ran.out
    ran = cuecard(*arguments, "--debias", "erase", "--epochs", "3", "--out", tmp_path / "run")
    assert ran.code == 2
    assert "contains another run" in ran.err
    ran = cuecard(*arguments, "--expert", "length", "--out", tmp_path / "other")
    assert ran.code == 2
    assert "only apply with --debias" in ran.err
