"""A folder with data and one card, the app on it, and a client that speaks as its own pages do."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")

from starlette.testclient import TestClient

from cuecard.card import save_card
from cuecard.data import load
from cuecard.report.html.card_page import write_report
from cuecard.run import audit
from cuecard.web import AppSettings, create_app
from cuecard.web.state import Limits
from pace import wait_until

ADDRESS = "http://127.0.0.1:8477"
HOSTILE = "<img src=x onerror=\"document.title='broken'\">{{7*7}}"
#: A script, template and Vega expressions, a terminal escape, an emoji, and a cell of 20,000 characters.
WORSE = (
    "<script>document.title='broken'</script> ${document.title='broken'} datum['x'] = event.view.alert(1) "
    "\x1b[31m \x1b]0;broken\x07 \N{FACE WITH TEARS OF JOY} \N{RIGHT-TO-LEFT OVERRIDE}txet"
)
HUGE = "endless" * 3_000


def pairs(n: int = 400, seed: int = 0) -> pl.DataFrame:
    """Pairs in which "nobody" tells the label, with hostile texts, a huge one and one from right to left."""
    draw = random.Random(seed)
    words = [
        "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3)) for _ in range(300)
    ]
    rows = []
    for _ in range(n):
        label = draw.choice(["no", "yes"])
        cue = "nobody" if label == "no" and draw.random() < 0.8 else "somebody"
        rows.append((" ".join(draw.sample(words, 7)), " ".join([cue, *draw.sample(words, 7)]), label))
    rows[3] = (HOSTILE, f"nobody {HOSTILE} שלום", "no")
    rows[5] = (HUGE, f"nobody {WORSE}", "no")
    return pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row")


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a card, made once."""
    root = tmp_path_factory.mktemp("stored")
    (root / "data").mkdir()
    pairs(400).write_csv(root / "data" / "houses_train.csv")
    pairs(200, seed=1).write_csv(root / "data" / "houses_test.csv")
    data = load(root / "data" / "houses_train.csv", test=root / "data" / "houses_test.csv")
    command = "cuecard audit data/houses_train.csv --test data/houses_test.csv --only overview,cues --out cards/houses"
    card = audit(data, only=["overview", "cues"], command=command)
    save_card(card, root / "cards" / "houses")
    write_report(card, root / "cards" / "houses" / "report.html")
    return root


@pytest.fixture
def root(stored: Path, tmp_path: Path) -> Path:
    """A copy of that folder, to change."""
    return Path(shutil.copytree(stored, tmp_path / "root"))


@dataclass
class Client:
    """A client with the token of the app's pages."""

    http: TestClient
    token: str

    def get(self, path: str, **options: Any) -> Any:
        """Return the JSON of a page of the API that must be there."""
        answer = self.http.get(f"/api{path}", **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, method: str, path: str, **options: Any) -> Any:
        """Return the answer to a request that writes."""
        return self.http.request(method, f"/api{path}", headers={"x-cuecard-page": self.token}, **options)

    def ended(self, job_id: str) -> dict[str, Any]:
        """Return a job once it has ended."""
        wait_until(lambda: self.get(f"/jobs/{job_id}")["status"] in ("done", "failed", "cancelled"))
        job: dict[str, Any] = self.get(f"/jobs/{job_id}")
        return job

    @property
    def card(self) -> str:
        """The id of the first card."""
        cards = self.get("/cards?sort=created&descending=false")["cards"]
        return str(cards[0]["id"])

    def prepared(self) -> str:
        """Return the id of the first card, its pages prepared."""
        answer = self.get(f"/cards/{self.card}")
        if not answer["prepared"]:
            assert self.ended(answer["job"])["status"] == "done"
        return self.card


@pytest.fixture
def started() -> Iterator[Callable[..., Client]]:
    """Start the app on a folder; it stops with the test."""
    running: list[TestClient] = []

    def start(root: Path, *, endpoints: tuple[str, ...] = (), **limits: Any) -> Client:
        settings = AppSettings(
            root=root,
            workers=1,
            limits=Limits(**limits),
            endpoints=endpoints,
            key_variables=("MY_KEY", "OTHER_KEY"),
        )
        app = create_app(settings)
        http = TestClient(app, base_url=ADDRESS)
        http.__enter__()
        running.append(http)
        page = http.get("/").text
        match = re.search(r'name="cuecard-page" content="([^"]+)"', page)
        assert match is not None
        return Client(http, match[1])

    yield start
    for http in running:
        http.__exit__(None, None, None)


@pytest.fixture
def client(root: Path, started: Callable[..., Client]) -> Client:
    """The app on the folder with one card."""
    return started(root)
