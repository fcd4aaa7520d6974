"""The app: a library of cards, new audits, an explorer, models and remedies, on this machine (extra `serve`)."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.web.app import create_app
    from cuecard.web.state import AppSettings

__all__ = ["AppSettings", "create_app"]

__getattr__ = lazy_names(__name__)
