"""The pages: rendered here, filled and refreshed by a little script that speaks to the API."""

from __future__ import annotations

import shlex
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader

from cuecard import wording
from cuecard._version import __version__
from cuecard.report.html import page as report_page
from cuecard.report.html.page import CHART_LIBRARY
from cuecard.report.html.page import resource as report_resource
from cuecard.report.palette import DARK, LIGHT, css_variables, vega_config
from cuecard.web.api import Entries, Services, entry_of
from cuecard.web.explorer import document
from cuecard.web.forms import all_forms, equivalent, plan_goals
from cuecard.web.library import Entry
from cuecard.web.requests.bodies import Json
from cuecard.web.requests.guard import REPORT_POLICY
from cuecard.web.requests.places import own_file
from cuecard.web.service import Service
from cuecard.web.state import Job
from cuecard.web.tables import PAGE
from cuecard.wording import display_text

router = APIRouter(include_in_schema=False)

SHARED_SCRIPTS = report_page.PAGE_SCRIPTS[:2]
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
#: Files of the app stay in the browser's cache as long as their address, which holds the version, is the same.
_KEEP = {"cache-control": "private, max-age=31536000, immutable"}


@cache
def environment() -> Environment:
    """Return the templates of the pages."""
    environment = report_page.environment()
    of_report = PrefixLoader({"report": PackageLoader("cuecard.report.html")})
    environment.loader = ChoiceLoader([PackageLoader("cuecard.web"), of_report])
    environment.globals.update(
        numbers=wording, show=display_text, say=report_page.sentence, version=_version_of_files()
    )
    return environment


def _version_of_files() -> str:
    """Return what the addresses of our files hold: it changes with their content, so that browsers fetch them again."""
    of_report = map(report_resource, (*SHARED_SCRIPTS, "report.css"))
    own = "".join([__version__, *map(_own_file, ("app.js", "map.js", "app.css")), *of_report])
    return sha256(own.encode()).hexdigest()[:12]


def _render(request: Request, template: str, **values: object) -> HTMLResponse:
    page = environment().get_template(template)
    token = request.scope.get("state", {}).get("page_token", "")
    return HTMLResponse(page.render(page_token=token, here=request.url.path, **values))


def _own_file(name: str) -> str:
    return files("cuecard.web").joinpath("static", name).read_text(encoding="utf-8")


@router.get("/")
def library(request: Request, service: Services) -> HTMLResponse:
    """Show the cards below the root."""
    service.library.refresh()
    return _render(
        request, "library.html.j2", measures=service.library.measure_names(), root=service.settings.root.name
    )


@router.get("/new")
def new_audit(request: Request, service: Services) -> HTMLResponse:
    """Show the form of a new audit."""
    return _render(request, "new.html.j2", files=service.data_files())


@router.get("/jobs/{job}")
def job_page(request: Request, job: str, service: Services) -> HTMLResponse:
    """Show a job while it runs."""
    try:
        seen = service.jobs.seen(service.state.job(job))
    except KeyError:
        raise HTTPException(404, "There is no such job.") from None
    return _render(request, "job.html.j2", job=seen)


@router.get("/jobs")
def jobs_page(request: Request, service: Services) -> HTMLResponse:
    """Show the newest jobs."""
    return _render(
        request, "jobs.html.j2", jobs=[service.jobs.seen(job) for job in service.state.jobs(limit=50)]
    )


@router.get("/help")
def help_page(request: Request) -> HTMLResponse:
    """Show how to use the app and how to read what it shows."""
    return _render(request, "help.html.j2")


@router.get("/compare")
def compare_page(
    request: Request, service: Services, card: Annotated[list[str] | None, Query(max_length=6)] = None
) -> HTMLResponse:
    """Show what changed from each of several cards to the next."""
    entries = [entry_of(one, service) for one in card or []]
    if len(entries) < 2:
        raise HTTPException(422, "There is nothing to compare: choose at least two cards in the library.")
    entries.sort(key=lambda entry: entry.created)
    found = service.comparison(entries)
    if isinstance(found, Job):
        return _render(
            request, "preparing.html.j2", card={"name": "Comparison"}, job=service.jobs.seen(found)
        )
    return _render(
        request,
        "compare.html.j2",
        page=document(found / PAGE),
        cards=entries,
        key=found.name.partition("compared-")[2],
        command=shlex.join(["cuecard", "compare", *(entry.place for entry in entries)]),
    )


@router.get("/cards/{card}")
def card_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show a card: its verdict, findings and sections."""
    return _of_card(request, service, entry, "card.html.j2")


@router.get("/cards/{card}/cues")
def cues_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show the cues of a card, searched as one types."""
    return _of_card(request, service, entry, "cues.html.j2")


@router.get("/cards/{card}/cue")
def cue_page(request: Request, entry: Entries, service: Services, family: str, feature: str) -> HTMLResponse:
    """Show one cue."""
    return _of_card(request, service, entry, "cue.html.j2", family=family, feature=feature)


@router.get("/cards/{card}/concepts")
def concepts_page(
    request: Request, entry: Entries, service: Services, name: Annotated[str, Query(max_length=500)] = ""
) -> HTMLResponse:
    """Show one discovered concept: its texts by strength, and what another threshold would make of it."""
    return _of_card(request, service, entry, "concepts.html.j2", feature=name)


@router.get("/cards/{card}/examples")
def examples_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show the examples of a card."""
    return _of_card(request, service, entry, "examples.html.j2", models=service.explorer.models(entry))


@router.get("/cards/{card}/map")
def map_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show the map of clusters, with a lasso."""
    return _of_card(request, service, entry, "map.html.j2")


@router.get("/cards/{card}/models")
def models_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show which model is biased, by which cue, and take further models."""
    forms = all_forms()
    return _of_card(
        request,
        service,
        entry,
        "models.html.j2",
        models=forms["models"],
        prompts=forms["prompts"],
        inputs=forms["inputs"].get(entry.task, []),
        endpoints=service.settings.endpoints,
        key_variables=service.settings.key_variables,
        files=service.data_files(),
    )


@router.get("/cards/{card}/remedies")
def remedies_page(request: Request, entry: Entries, service: Services) -> HTMLResponse:
    """Show what can be done about the findings."""
    return _of_card(
        request,
        service,
        entry,
        "remedies.html.j2",
        remedies=all_forms()["remedies"],
        goals=plan_goals(entry.measures),
        measures=sorted(entry.measures),
    )


@router.get("/cards/{card}/table/{table}")
def table_page(request: Request, entry: Entries, service: Services, table: str) -> HTMLResponse:
    """Show one table of a card."""
    if table not in service.explorer.tables(entry):
        raise HTTPException(404, "There is no such table.")
    return _of_card(request, service, entry, "table.html.j2", table=table)


@router.get("/cards/{card}/report")
def report(entry: Entries, service: Services) -> FileResponse:
    """Return the report of a card, which runs apart from the app."""
    file = entry.folder / "report.html"
    if not own_file(service.settings.root, file):
        raise HTTPException(404, "This card has no report.")
    return FileResponse(file, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})


def _of_card(
    request: Request, service: Service, entry: Entry, template: str, **values: object
) -> HTMLResponse:
    """Render a page of a card, or one that waits until its pages are prepared."""
    if service.explorer.prepared(entry) is None:
        job = service.jobs.seen(service.prepare(entry))
        return _render(request, "preparing.html.j2", card=entry, job=job)
    page = service.explorer.page(entry)
    labels = {label: i % len(LIGHT.labels) for i, label in enumerate(page["labels"])}
    return _render(
        request,
        template,
        card=entry,
        page=page,
        root_name=str(service.settings.root),
        label_colours=labels,
        tables=service.explorer.tables(entry),
        has_report=own_file(service.settings.root, entry.folder / "report.html"),
        command=equivalent(
            template.partition(".")[0],
            entry.command,
            entry.folder,
            service.settings.root,
            feature=str(values.get("feature", "")),
        ),
        **values,
    )


@router.get("/static/{version}/vega.js")
def vega(version: str) -> Response:
    """Return the chart library, the same that reports carry."""
    return Response(report_resource(CHART_LIBRARY), media_type=_SCRIPT, headers=_KEEP)


@router.get("/static/{version}/page.js")
def shared_script(version: str) -> Response:
    """Return what the app shares with reports: tables and charts."""
    return Response("".join(map(report_resource, SHARED_SCRIPTS)), media_type=_SCRIPT, headers=_KEEP)


@router.get("/static/{version}/app.js")
def script(version: str) -> Response:
    """Return the script of the pages."""
    return Response(_own_file("app.js"), media_type=_SCRIPT, headers=_KEEP)


@router.get("/static/{version}/map.js")
def map_script(version: str) -> Response:
    """Return the script of the map of clusters."""
    return Response(_own_file("map.js"), media_type=_SCRIPT, headers=_KEEP)


@router.get("/static/{version}/app.css")
def style(version: str) -> Response:
    """Return the style of the pages: the report's, and what the app adds."""
    variables = (
        f":root {{ {css_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}\n"
    )
    text = variables + report_resource("report.css") + _own_file("app.css")
    return Response(text, media_type=_STYLE, headers=_KEEP)


@router.get("/static/{version}/themes.json")
def themes(version: str) -> Json:
    """Return the colours of charts, light and dark."""
    return {"light": vega_config(LIGHT), "dark": vega_config(DARK)}
