"""A cluster that is not there."""

from __future__ import annotations

import socket
import time

import pytest

from cuecard.engines.ray_cluster import ANSWERS, connect
from cuecard.errors import UsageError

ray = pytest.importorskip("ray", reason="needs the extra ray")


def test_an_address_where_no_cluster_answers_is_refused_within_seconds():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens there
        address = f"127.0.0.1:{free.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(UsageError, match=f"No Ray cluster answers at {address}: start one with"):
            connect(address)
    assert time.monotonic() - start < ANSWERS + 10  # importing Ray takes some of it


def test_the_variable_is_named_where_the_address_stands_in_it(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "a..b:6379")
    with pytest.raises(UsageError, match=r"answers at a\.\.b:6379: .*correct RAY_ADDRESS, or leave it out"):
        connect(None)


def test_what_is_no_address_is_refused_in_one_sentence():
    with pytest.raises(UsageError, match=r"--address takes HOST:PORT of a Ray cluster, .* not 'nonsense'"):
        connect("nonsense")
