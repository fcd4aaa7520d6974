"""What requests cost beforehand, and the budget that stops them: number, cost and rate of requests."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cuecard.data.reading.formats import check_regular
from cuecard.documents import checked
from cuecard.errors import CueCardError, InputError
from cuecard.models.answers import Question
from cuecard.wording import display_text

__all__ = ["Budget", "Estimate", "LimitReachedError", "Price", "estimate", "price_of"]

#: How tokens are counted where no vocabulary is at hand.
HOW_COUNTED = (
    "input tokens: UTF-8 bytes / 4, plus 8 per request; output tokens: at most as many as a request allows"
)
_BYTES_PER_TOKEN, _PER_REQUEST = 4, 8
#: A token has at least one byte, and the frame of a chat has at most this many tokens.
_LARGEST_FRAME = 32
_A_MILLION = 1_000_000
_CORRECT = "correct the table: [MODEL] with input, output (US dollars per million tokens) and date"
#: What providers write after the name of a model for a version of it.
_VERSION = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class LimitReachedError(CueCardError):
    """No further request may be sent."""


class Price(BaseModel):
    """What a model costs, in US dollars per million tokens, and when that was so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    date: date

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of some tokens in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / _A_MILLION

    def most(self, question: Question) -> float:
        """Return what one request can cost at most."""
        return self.cost(_sent_bytes(question) + _LARGEST_FRAME, question.max_tokens)


def price_of(model: str, own: Path | None = None) -> Price | None:
    """Return the price of a model by its name, with or without the date of a version; None where no table has it."""
    shipped = resources.files("cuecard.models").joinpath("prices.toml").read_text(encoding="utf-8")
    table = {**_read(shipped, "prices.toml"), **(_read(_text(own), str(own)) if own else {})}
    return table.get(model) or table.get(_VERSION.sub("", model))


def _text(path: Path) -> str:
    try:
        check_regular(path, rows=False)
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the table of prices cannot be read ({error}).") from None


def _read(text: str, where: str) -> dict[str, Price]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{where} is not valid TOML ({error}): {_CORRECT}.") from None
    return {name: checked(Price, row, f"{where}, [{name}]", _CORRECT) for name, row in tables.items()}


@dataclass(frozen=True)
class Estimate:
    """What asking some questions takes, beforehand; `cost` is None where the model's price is unknown."""

    requests: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    priced: date | None = None

    def as_json(self) -> dict[str, int | float | str | None]:
        """Return the numbers, the date of the price, and how tokens are counted."""
        priced = None if self.priced is None else str(self.priced)
        return {**asdict(self), "priced": priced, "counted": HOW_COUNTED}

    def lines(self, model: str) -> list[str]:
        """Return what people are told."""
        cost = f"unknown: the table of prices lacks {display_text(model, 60)}; add it with --prices FILE"
        if self.cost is not None:
            cost = f"at most about {self.cost:.4f} US dollars"
            cost += f" (prices of {self.priced})" if self.priced else ""
        return [
            f"Requests to send: {self.requests:,} ({self.cached:,} more are cached)",
            f"Tokens: about {self.input_tokens:,} input, at most {self.output_tokens:,} output ({HOW_COUNTED})",
            f"Cost: {cost}",
        ]


def estimate(questions: Sequence[Question], cached: int, price: Price | None) -> Estimate:
    """Return what asking takes: questions that are to be sent, and the number of those already answered."""
    tokens = sum(_PER_REQUEST - -_sent_bytes(question) // _BYTES_PER_TOKEN for question in questions)
    written = sum(question.max_tokens for question in questions)
    cost = 0.0 if not questions else price.cost(tokens, written) if price else None
    return Estimate(len(questions), cached, tokens, written, cost, price.date if price else None)


def _sent_bytes(question: Question) -> int:
    schema = json.dumps(question.schema) if question.schema else ""
    return len(question.prompt.encode("utf-8", "surrogatepass")) + len(schema)


@dataclass
class Budget:
    """How many requests may be sent, what they may cost, and how many a minute.

    A request is sent only if what it can cost at most still fits. Once it is answered, what the server says it used
    counts; a request without an answer counts in full, because it may be billed.
    """

    max_requests: int | None = None
    max_cost: float | None = None
    price: Price | None = None
    rate: float | None = None
    sent: int = 0
    spent: float = 0.0
    under_way: float = 0.0
    next_start: float = 0.0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def reserve(self, question: Question, stop: asyncio.Event) -> float:
        """Wait for the turn of a request and return what it can cost at most, or raise if it may not be sent."""
        most = self.price.most(question) if self.price else 0.0
        async with self.changed:
            await self.changed.wait_for(lambda: self._fits(most) or not self.under_way)
            if self.max_requests is not None and self.sent >= self.max_requests:
                raise LimitReachedError(f"The limit of {self.max_requests:,} requests is reached")
            if not self._fits(most):
                raise LimitReachedError(
                    f"The next request may exceed the limit of {self.max_cost:g} US dollars "
                    f"({self.spent:.4f} are spent)"
                )
            self.sent += 1
            self.under_way += most
        await self._turn(stop)
        return most

    async def settle(self, most: float, usage: tuple[int, int] | None) -> None:
        """Count a request that has ended, by the input and output tokens that the server names."""
        async with self.changed:
            # Sums of floats leave dust behind, which must not look like a request.
            self.under_way = left if (left := self.under_way - most) > 1e-12 else 0.0
            self.spent += self.price.cost(*usage) if self.price and usage else most
            self.changed.notify_all()

    def _fits(self, most: float) -> bool:
        return self.max_cost is None or self.spent + self.under_way + most <= self.max_cost

    async def _turn(self, stop: asyncio.Event) -> None:
        """Wait until the rate allows the next request, or the run is stopped."""
        if self.rate is None:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self.next_start)
        self.next_start = start + 60.0 / self.rate
        try:
            await asyncio.wait_for(stop.wait(), start - now)
        except TimeoutError:
            return
