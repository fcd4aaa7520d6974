from __future__ import annotations

import pytest

from cuecard.errors import InputError, UsageError
from cuecard.probes import read_predictions

pytestmark = pytest.mark.slow


@pytest.fixture
def classifier(tmp_path):
    """A folder with a tiny untrained classifier, as `save_pretrained` writes it."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder = tmp_path / "tiny-bert"
    folder.mkdir()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *(f"p{i}" for i in range(15)),
        *(f"h{i}" for i in range(15)),
    ]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    labels = {0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=3,
        id2label=labels,
        label2id={name: i for i, name in labels.items()},
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder, safe_serialization=True)
    return folder


def test_a_saved_classifier_labels_every_test_example(classifier, pairs, questions):
    (read,) = read_predictions(classifier, pairs)
    assert read.model == "tiny-bert"
    assert set(read.answers.tolist()) <= {0, 1, 2}
    assert len(read.answers) == 6
    with pytest.raises(
        UsageError, match="only applies to pairs and single texts; this dataset holds multiple choice"
    ):
        read_predictions(classifier, questions)


def test_a_folder_without_a_safe_model_is_an_error(classifier, pairs, tmp_path):
    with pytest.raises(InputError, match=r"without config\.json"):
        read_predictions(tmp_path, pairs)
    (classifier / "model.safetensors").unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        read_predictions(classifier, pairs)
