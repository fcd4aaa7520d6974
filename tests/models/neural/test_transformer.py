"""Fine-tuned checkpoints: learning, files that transformers loads itself, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cuecard.errors import InputError, UsageError
from cuecard.models import Transformer, load_model
from cuecard.models.embeddings import encode_sentences
from cuecard.models.examples import accuracy, examples_of
from cuecard.models.neural.transformer import LEARNING_RATES
from planted_cues import cue_choices, cue_pairs
from tiny_checkpoint import tiny_checkpoint

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def fitted(folder: Path) -> Transformer:
    return tiny(folder).fit(cue_pairs())


def tiny(folder: Path, **parameters: Any) -> Transformer:
    return Transformer(pretrained=str(folder), **{"epochs": 6, "learning_rate": 0.01, **parameters})


def score(model: Any, data: Any) -> float:
    return accuracy(model.predict_proba(data), examples_of(data, model.labels_))


def test_a_planted_cue_is_learned_and_hidden_texts_are_not_read(fitted: Transformer, folder: Path) -> None:
    assert score(fitted, cue_pairs(100, seed=1)) > 0.95
    blind = tiny(folder).fit(cue_pairs(where="premise"), condition="hypothesis")
    data = cue_pairs(100, seed=1, where="premise")
    assert score(blind, data) < 0.7
    other = data.with_columns(premise=data.table["premise"].reverse())
    np.testing.assert_array_equal(blind.predict_proba(other), blind.predict_proba(data))


def _noting(save: Any, written: list[Path]) -> Any:
    def noted(tensors: Any, file: Path, **options: Any) -> None:
        written.append(file)
        save(tensors, file, **options)

    return noted


def test_transformers_itself_loads_what_is_saved_once(
    fitted: Transformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import safetensors.torch

    from cuecard.models import saved

    data = cue_pairs(40, seed=2)
    written: list[Path] = []
    for module in (safetensors.torch, saved):
        monkeypatch.setattr(module, "save_file", _noting(module.save_file, written))
    fitted.save(tmp_path)
    assert len(written) == 1
    np.testing.assert_array_equal(load_model(tmp_path).predict_proba(data), fitted.predict_proba(data))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert model.config.id2label == dict(enumerate(fitted.labels_))
    texts = (data.table["premise"].to_list(), data.table["hypothesis"].to_list())
    with torch.no_grad():
        theirs = model(**tokenizer(*texts, padding=True, return_tensors="pt")).logits.softmax(1).numpy()
    np.testing.assert_allclose(theirs, fitted.predict_proba(data), atol=1e-5)
    assert not list(tmp_path.glob("*.bin"))


def test_vectors_are_what_enters_the_last_layer(fitted: Transformer) -> None:
    data = cue_pairs(30, seed=3)
    last = fitted.module_.last
    margins = fitted.embed(data) @ last.weight.detach().numpy().T + last.bias.detach().numpy()
    odds = np.exp(margins)
    np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), fitted.predict_proba(data), atol=1e-5)


def test_a_text_alone_is_read_as_one_text_before_the_non_linearity(fitted: Transformer) -> None:
    data = cue_pairs(12, seed=3).with_columns(premise=pl.lit(""))
    tokenizer, model = fitted._tokenizer, fitted.module_.model
    pieces = tokenizer(data.table["hypothesis"].to_list(), padding=True, return_tensors="pt")
    with torch.no_grad():
        pooled = model.base_model(**pieces).pooler_output.numpy()
    np.testing.assert_allclose(np.tanh(fitted.embed_alone(data)), pooled, atol=1e-5)
    assert not np.allclose(fitted.embed(data), pooled, atol=1e-3)
    exchanged = data.with_columns(premise=pl.col("hypothesis"), hypothesis=pl.lit(""))
    np.testing.assert_allclose(fitted.embed_alone(exchanged), fitted.embed_alone(data), atol=1e-6)


def test_the_choices_of_an_example_compete(folder: Path) -> None:
    model = tiny(folder).fit(cue_choices(), condition="choices")
    data = cue_choices(60, seed=1)
    np.testing.assert_allclose(np.bincount(data.example_codes, model.predict_proba(data)), 1)
    assert score(model, data) > 0.95


def test_the_learning_rate_is_chosen_on_held_out_examples(folder: Path, tmp_path: Path) -> None:
    model = tiny(folder, learning_rate=0.0, epochs=1, search_examples=80)
    model.fit(cue_pairs(), checkpoint=tmp_path)
    assert [tried["learning_rate"] for tried in model.searched_] == list(LEARNING_RATES)
    best = min(model.searched_, key=lambda tried: tried["loss"])
    assert model.learning_rate_ == best["learning_rate"]
    assert model.history_[0].learning_rate == best["learning_rate"]
    assert model.learning_rate == 0
    steps = []
    again = tiny(folder, learning_rate=0.0, epochs=1, search_examples=80)
    again.fit(cue_pairs(), checkpoint=tmp_path, watch=steps.append)
    assert again.searched_ == model.searched_
    assert not steps or steps[0].epochs == 1  # neither the search nor the epoch is run a second time
    np.testing.assert_array_equal(again.predict_proba(cue_pairs(20)), model.predict_proba(cue_pairs(20)))


def test_learning_rates_that_were_tried_are_known_by_all_but_the_batch_size(
    folder: Path, tmp_path: Path
) -> None:
    data, weights = cue_pairs(40), np.linspace(0.5, 1.5, 40)
    known = {"learning_rate": 0.0, "epochs": 1, "search_examples": 20}

    def epochs_of_first_step(place: str, batch_size: int, **given: Any) -> int:
        steps: list[Any] = []

        def stop(step: Any) -> None:
            steps.append(step)
            if step.epochs == 1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            tiny(folder, **known, batch_size=batch_size).fit(
                data, checkpoint=tmp_path / place, watch=stop, **given
            )
        return int(steps[0].epochs)

    assert epochs_of_first_step("a", 8) == len(LEARNING_RATES)
    assert epochs_of_first_step("a", 4) == 1
    assert epochs_of_first_step("a", 4, weights=weights) == len(LEARNING_RATES)
    assert epochs_of_first_step("a", 4, validation=cue_pairs(10, seed=1)) == len(LEARNING_RATES)


def test_no_learning_rate_is_chosen_without_examples_to_judge_it(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"2 training examples are too few.*learning_rate=1e-5"):
        tiny(folder, learning_rate=0.0).fit(cue_pairs(2))


def test_texts_of_no_tokens_and_of_too_many_are_read(fitted: Transformer) -> None:
    from small_sets import pair_instances

    data = pair_instances([("test", "", "", "yes"), ("test", "red " * 500, "blue " * 500, "no")])
    assert np.isfinite(fitted.predict_proba(data)).all()


def test_numbers_stay_in_single_precision(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path)
    half = transformers.AutoModel.from_pretrained(folder, dtype=torch.bfloat16)
    half.save_pretrained(folder)
    model = tiny(folder, epochs=1).fit(cue_pairs(40))
    assert {p.dtype for p in model.module_.parameters()} == {torch.float32}


def test_pickled_weights_are_refused_with_the_way_to_convert_them(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path)
    weights = folder / "model.safetensors"
    weights.rename(folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model\.bin but no safetensors.*safe_serialization=True"):
        tiny(folder).fit(cue_pairs(20))


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path, extra_words=30)
    with pytest.raises(InputError, match="token number 46, but the model has vectors for only 17 tokens"):
        tiny(folder).fit(cue_pairs(20))


def test_code_that_a_checkpoint_brings_is_not_run(tmp_path: Path) -> None:
    folder, told = tiny_checkpoint(tmp_path / "checkpoint"), tmp_path / "it-ran"
    found = json.loads((folder / "config.json").read_text())
    own = {"model_type": "strange", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "config.json").write_text(json.dumps(found | own))
    (folder / "own.py").write_text(f"open({str(told)!r}, 'w')\nclass Config: pass\n")
    with pytest.raises(InputError, match="its own code, which is never run") as error:
        tiny(folder).fit(cue_pairs(20))
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="which is never run"):
        encode_sentences(pl.Series(["red dog"]), folder)
    assert not told.exists()


def test_progress_bars_of_others_are_left_as_they_were(folder: Path) -> None:
    from transformers.utils import logging

    logging.enable_progress_bar()
    tiny(folder, epochs=1).fit(cue_pairs(8))
    assert logging.is_progress_bar_enabled()
    encode_sentences(pl.Series(["red dog"]), folder)
    assert logging.is_progress_bar_enabled()


def test_a_model_without_its_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = tiny_checkpoint(tmp_path)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="without its tokenizer"):
        tiny(folder).fit(cue_pairs(20))


def test_names_and_parameters_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a folder nor a checkpoint"):
        tiny(tmp_path / "no such/folder at all").fit(cue_pairs(20))
    with pytest.raises(InputError, match=r"no config\.json"):
        tiny(tmp_path).fit(cue_pairs(20))
    with pytest.raises(UsageError, match="learning_rate"):
        Transformer(learning_rate=-1.0)
    with pytest.raises(UsageError, match="most_tokens"):
        Transformer(most_tokens=1)


def test_other_weights_under_the_same_path_are_another_model(tmp_path: Path) -> None:
    from cuecard.models.recipe import Recipe

    place = tiny_checkpoint(tmp_path / "checkpoint")
    recipe = Recipe("transformer", options={"pretrained": str(place)})
    first = recipe.contents
    assert recipe.contents == first
    tiny_checkpoint(place, seed=1)
    assert recipe.contents != first
    assert recipe.contents["parameters"] == first["parameters"]
    tiny_checkpoint(place, seed=0)
    assert recipe.contents == first


def test_a_folder_trained_from_a_checkpoint_that_has_changed_says_so(tmp_path: Path) -> None:
    from cuecard.run import train

    place = tiny_checkpoint(tmp_path / "checkpoint")
    asked = {"out": tmp_path / "run", "pretrained": str(place), "epochs": 1, "learning_rate": 1e-3}
    train(cue_pairs(60), "transformer", **asked)
    tiny_checkpoint(place, seed=1)
    with pytest.raises(UsageError, match="checkpoint whose files have changed"):
        train(cue_pairs(60), "transformer", **asked)
