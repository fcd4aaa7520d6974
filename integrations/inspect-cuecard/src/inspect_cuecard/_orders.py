"""Multiple choice asked in several orders of the options within one sample, and scored over all of them."""

from __future__ import annotations

import re
from string import ascii_uppercase

from inspect_ai.model import ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from cuecard.probes.prompts.orders import check_permute, orders_of
from cuecard.stats.models.variants import flips

#: Names under which a log says what was asked; `cuecard probe` reads them.
ORDERS, PICKS = "cuecard_orders", "cuecard_picks"
TEMPLATE = """\
{question}

{choices}

Reply with a last line of the form “ANSWER: LETTER”, and one letter from {letters}."""
_ANSWER = re.compile(r"ANSWER\s*:\W*([A-Z])\b", re.IGNORECASE)


@solver
def ask_in_orders(permute: str = "cyclic", template: str = TEMPLATE, seed: int = 0) -> Solver:
    """Ask every question with its options in several orders, each in a conversation of its own.

    Args:
        permute: "cyclic" (each option in each place once), a number of random orders, or "all". Options that refer to
            others, such as "all of the above", keep their place.
        template: the question, with {question}, {choices} and {letters}.
        seed: of random orders.
    """
    check_permute(permute)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        options = [choice.value for choice in state.choices]
        question, before = state.user_prompt.text, list(state.messages)
        orders = [list(order) for order in orders_of(options, permute, seed=f"{seed}/{state.sample_id}")]
        picks = []
        for order in orders:
            listed = "\n".join(f"{ascii_uppercase[place]}) {options[k]}" for place, k in enumerate(order))
            letters = ", ".join(ascii_uppercase[: len(order)])
            asked = template.format(question=question, choices=listed, letters=letters)
            state.messages = [*before[:-1], ChatMessageUser(content=asked)]
            state = await generate(state)
            said = _ANSWER.findall(state.output.completion or "")
            place = ascii_uppercase.index(said[-1].upper()) if said else -1
            picks.append(order[place] if 0 <= place < len(order) else -1)
        state.store.set(ORDERS, orders)
        state.store.set(PICKS, picks)
        return state

    return solve


@scorer(metrics={"accuracy": [mean(), stderr()], "flips": [mean(), stderr()], "first_place": [mean()]})
def over_orders() -> Scorer:
    """Score over all orders: accuracy, how likely two get different answers, and how often the first place is picked.

    The log keeps orders and answers, so that `cuecard probe --predictions LOG` has the preference for places with
    intervals.
    """

    async def score(state: TaskState, target: Target) -> Score:
        orders, picks = state.store.get(ORDERS), state.store.get(PICKS)
        if not orders:
            raise ValueError("over_orders scores samples that the solver ask_in_orders asked.")
        key = ascii_uppercase.index(target.text.strip()[0])
        moved = float(flips([picks])[0])
        return Score(
            value={
                "accuracy": sum(pick == key for pick in picks) / len(picks),
                "flips": 0.0 if moved != moved else moved,
                "first_place": sum(pick == order[0] for pick, order in zip(picks, orders, strict=True))
                / len(picks),
            },
            answer=ascii_uppercase[picks[0]] if picks[0] >= 0 else "",
            metadata={ORDERS: orders, PICKS: picks},
        )

    return score
