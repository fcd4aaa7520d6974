"""Torch modules: padding-proof recurrence, gradients with respect to words, and what runs out of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from cuecard.errors import UsageError
from cuecard.models import MODELS, BiLSTM, Step
from planted_cues import TINY, cue_choices, cue_pairs

torch = pytest.importorskip("torch")


def test_two_directions_give_what_packed_sequences_give() -> None:
    from cuecard.models.neural.modules import Bidirectional, last_states

    torch.manual_seed(0)
    ours, theirs = Bidirectional(6, 5), torch.nn.LSTM(6, 5, batch_first=True, bidirectional=True)
    for name, value in ours.onward.named_parameters():
        getattr(theirs, name).data.copy_(value)
    for name, value in ours.backward_.named_parameters():
        getattr(theirs, f"{name}_reverse").data.copy_(value)
    vectors, lengths = torch.randn(4, 7, 6), torch.tensor([7, 3, 1, 5])
    packed = torch.nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    states, (ends, _) = theirs(packed)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)
    found = ours(vectors, lengths)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(found[row, :length], expected[row, :length])
    torch.testing.assert_close(last_states(found, lengths), torch.cat([ends[0], ends[1]], dim=1))


@pytest.mark.parametrize("name", ["bilstm", "siamese-lstm", "esim"])
@pytest.mark.parametrize("condition", ["full", "hypothesis"])
def test_outputs_follow_from_word_vectors_and_not_from_padding(name: str, condition: Any) -> None:
    data = cue_pairs(60)
    model = MODELS.get(name)(**{**TINY, "epochs": 1}).fit(data, condition=condition)
    seen = np.zeros(len(data), dtype=int)
    for rows, batch in model.batches(data, batch_size=16):
        seen[rows] += 1
        embedded = [vectors.detach().requires_grad_() for vectors in model.module_.embedded(batch)]
        outputs = model.module_.forward_from(embedded, batch)
        assert torch.equal(outputs, model.module_(batch))
        outputs.softmax(dim=1)[:, 0].sum().backward()
        for vectors, words, segments in zip(embedded, batch["words"], batch["segments"], strict=True):
            norms = vectors.grad.norm(dim=2)
            assert (norms[words == 0] == 0).all()
            assert (norms[segments > 0] > 0).all()
        read = {int(code) for segments in batch["segments"] for code in segments.unique()} - {0}
        assert read == ({1, 2} if condition == "full" else {2})
    assert (seen == 1).all()


@dataclass
class Greedy(BiLSTM):
    """A model that needs more memory than there is, for batches of more than `enough` rows."""

    name: ClassVar[str] = "greedy"
    enough: ClassVar[int] = 8

    def build(self, outputs: int) -> Any:
        module = super().build(outputs)

        def before(_: Any, inputs: Any) -> None:
            if len(inputs[0]["words"][0]) > self.enough:
                torch.empty(1 << 60, dtype=torch.uint8)

        module.register_forward_pre_hook(before)
        return module


def test_running_out_of_memory_suggests_a_batch_size_that_goes_on_from_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, steps = cue_pairs(40), []
    parameters = {**TINY, "epochs": 2, "held_out": 0}
    with pytest.raises(UsageError, match=r"batches of 32 examples: try batch_size=16\.$"):
        Greedy(**parameters).fit(data)

    def less_memory_after_an_epoch(step: Step) -> None:
        if step.done == 2:
            monkeypatch.setattr(Greedy, "enough", 8)

    monkeypatch.setattr(Greedy, "enough", 99)
    with pytest.raises(UsageError, match="try batch_size=16; the run then resumes from the checkpoint in"):
        Greedy(**parameters).fit(data, checkpoint=tmp_path, watch=less_memory_after_an_epoch)
    Greedy(**parameters | {"batch_size": 8}).fit(data, checkpoint=tmp_path, watch=steps.append)
    assert steps[0].epoch == 2


def test_memory_that_runs_out_over_choices_is_no_crash() -> None:
    with pytest.raises(UsageError, match="Out of memory with batches of 32 examples"):
        Greedy(**TINY).fit(cue_choices(10))
