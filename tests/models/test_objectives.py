"""The debiasing losses against closed forms and autograd."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from cuecard.models.text_model import Objective, scaled_confidence

torch = pytest.importorskip("torch", reason="needs the extra `models`")

from cuecard.models.neural.modules import Reader  # noqa: E402
from cuecard.models.neural.training import TrainedFor  # noqa: E402

N, K, D = 12, 3, 4
GOLD = np.arange(N) % K


class Linear(Reader):
    """A reader whose features are its input."""

    def __init__(self, outputs=K):
        super().__init__()
        torch.manual_seed(0)
        self.last = torch.nn.Linear(D, outputs)

    def features(self, batch):
        return batch["x"]


@pytest.fixture
def inputs():
    return {"x": torch.from_numpy(np.random.default_rng(0).normal(size=(N, D)).astype(np.float32))}


@pytest.fixture
def expert():
    return np.log(np.random.default_rng(1).dirichlet(np.ones(K), N))


def margins(module, inputs):
    return module.last(inputs["x"]).detach().numpy().astype(np.float64)


def losses(objective, inputs, module=None, sizes=None, gold=GOLD):
    trained = TrainedFor(objective, module or Linear())
    numbers = np.arange(len(gold))
    return trained, trained.losses(inputs, sizes, torch.from_numpy(gold), numbers)


def test_a_product_of_experts_has_the_gradient_of_the_product(inputs, expert):
    module = Linear()
    z = margins(module, inputs)
    _, each = losses(Objective("product-of-experts", 0.5, expert=expert), inputs, module)
    product = log_softmax(z, axis=1) + 0.5 * expert
    assert each.detach().numpy() == pytest.approx(-log_softmax(product, axis=1)[np.arange(N), GOLD], abs=1e-5)
    each.sum().backward()
    residual = softmax(product, axis=1) - np.eye(K)[GOLD]
    assert module.last.weight.grad.numpy() == pytest.approx(residual.T @ inputs["x"].numpy(), abs=1e-4)


def test_rows_that_compete_are_a_product_over_their_own_choices():
    rng = np.random.default_rng(2)
    sizes, gold = np.array([2, 3]), np.array([1, 0])
    x = {"x": torch.from_numpy(rng.normal(size=(5, D)).astype(np.float32))}
    expert = np.log(np.array([[0.4, 0.6, 1.0], [0.2, 0.3, 0.5]]))
    expert[0, 2] = -np.inf
    module = Linear(1)
    z = margins(module, x)[:, 0]
    first, second = log_softmax(z[:2] + expert[0, :2])[1], log_softmax(z[2:] + expert[1])[0]
    _, each = losses(Objective("product-of-experts", 1.0, expert=expert), x, module, sizes, gold)
    assert each.detach().numpy() == pytest.approx([-first, -second], abs=1e-5)
    _, plain = losses(Objective("product-of-experts", 0.0, expert=expert), x, module, sizes, gold)
    assert plain.detach().numpy() == pytest.approx([-log_softmax(z[:2])[1], -log_softmax(z[2:])[0]], abs=1e-5)
    _, mixed = losses(Objective("learned-mixin", 0.1, expert=expert), x, Linear(1), sizes, gold)
    assert torch.isfinite(mixed).all()
    mixed.sum().backward()


def test_a_learned_mixin_of_amount_one_is_the_product_of_experts(inputs, expert):
    module = Linear()
    trained = TrainedFor(Objective("learned-mixin", 0.0, expert=expert), module)
    with torch.no_grad():
        module.mixing.weight.zero_()
        module.mixing.bias.fill_(float(np.log(np.e - 1)))  # softplus of this is 1
    mixed = trained.losses(inputs, None, torch.from_numpy(GOLD), np.arange(N))
    _, product = losses(Objective("product-of-experts", 1.0, expert=expert), inputs)
    assert mixed.detach().numpy() == pytest.approx(product.detach().numpy(), abs=1e-5)
    penalised = TrainedFor(Objective("learned-mixin", 2.0, expert=expert), Linear())
    with torch.no_grad():
        penalised.module.mixing.weight.zero_()
        penalised.module.mixing.bias.fill_(float(np.log(np.e - 1)))
    more = penalised.losses(inputs, None, torch.from_numpy(GOLD), np.arange(N)) - mixed
    p = np.exp(expert)
    assert more.detach().numpy() == pytest.approx(-2 * (p * expert).sum(axis=1), abs=1e-5)


def test_what_training_adds_is_taken_away(inputs, expert):
    for objective in (Objective("learned-mixin", expert=expert), Objective("group-robust", groups=GOLD)):
        module = Linear()
        trained = TrainedFor(objective, module)
        assert set(module.state_dict()) != set(Linear().state_dict())
        trained.detach()
        assert set(module.state_dict()) == set(Linear().state_dict())


def test_confidence_learns_targets_and_labels_are_the_surest_ones(inputs):
    module = Linear()
    plain = -log_softmax(margins(module, inputs), axis=1)[np.arange(N), GOLD]
    _, each = losses(Objective("confidence", targets=np.eye(K)[GOLD]), inputs)
    assert each.detach().numpy() == pytest.approx(plain, abs=1e-5)
    flat = np.full((N, K), 1 / K)
    _, each = losses(Objective("confidence", targets=flat), inputs, module)
    assert each.detach().numpy() == pytest.approx(
        -log_softmax(margins(module, inputs), axis=1).mean(axis=1), abs=1e-5
    )


def test_group_weights_grow_with_the_loss_of_their_group(inputs):
    module = Linear()
    plain = -log_softmax(margins(module, inputs), axis=1)[np.arange(N), GOLD]
    trained, each = losses(Objective("group-robust", 0.5, groups=GOLD), inputs, module)
    of_group = np.array([plain[g == GOLD].mean() for g in range(K)])
    q = np.exp(0.5 * of_group) / np.exp(0.5 * of_group).sum()
    assert trained.module.group_weights.numpy() == pytest.approx(q, abs=1e-5)
    assert each.mean().item() == pytest.approx((q * of_group).sum(), abs=1e-5)


def test_scaled_confidence_keeps_the_order_and_impossible_answers():
    teacher = np.array([[0.7, 0.3, 0.0], [0.6, 0.3, 0.1]])
    scaled = scaled_confidence(teacher, np.array([0.5, 0.9]))
    assert scaled.sum(axis=1) == pytest.approx([1, 1])
    assert scaled[0, 2] == 0
    assert (np.diff(scaled[1]) < 0).all()
    assert scaled[1].max() < teacher[1].max()


def test_another_objective_is_another_run(expert):
    identities = {
        Objective("product-of-experts", 1.0, expert=expert).identity,
        Objective("product-of-experts", 2.0, expert=expert).identity,
        Objective("learned-mixin", 1.0, expert=expert).identity,
        Objective("product-of-experts", 1.0, expert=expert + 1).identity,
    }
    assert len(identities) == 4
