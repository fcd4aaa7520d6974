"""The HTTP API: everything the pages do, as JSON. Described by /api/openapi.json."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from cuecard import wording
from cuecard.web import tables
from cuecard.web.explorer import biased
from cuecard.web.forms import all_forms
from cuecard.web.library import Entry
from cuecard.web.requests.bodies import AskBody, AuditBody, DataBody, DebiasBody, Json, PlanBody, ProbeBody
from cuecard.web.requests.places import own_file
from cuecard.web.requests.uploads import receive
from cuecard.web.service import Service
from cuecard.web.tables import CHARTS, prepared_folder

router = APIRouter(prefix="/api")


def service_of(request: Request) -> Service:
    """Return the app's service."""
    service: Service = request.app.state.service
    return service


Services = Annotated[Service, Depends(service_of)]


def entry_of(card: str, service: Services) -> Entry:
    """Return the card that a path names, or answer that there is none."""
    try:
        return service.library.get(card)
    except KeyError:
        raise HTTPException(404, "There is no such card.") from None


Entries = Annotated[Entry, Depends(entry_of)]


def opened_entry(entry: Entries, service: Services) -> Entry:
    """Return the card that a path names; where its pages are not prepared, that begins."""
    if service.explorer.prepared(entry) is None:
        service.prepare(entry)
    return entry


OpenedEntries = Annotated[Entry, Depends(opened_entry)]


def table_query(
    search: Annotated[str, Query(max_length=500)] = "",
    sort: Annotated[str, Query(max_length=200)] = "",
    descending: bool = True,
    by_size: bool = False,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=tables.MOST_ROWS)] = 50,
    where: Annotated[list[str] | None, Query(max_length=20)] = None,
) -> tables.Query:
    """Return which rows a request asks for; `where` is COLUMN:COMPARISON:VALUE, such as `z:>:3`."""
    return tables.Query(
        search=search,
        sort=sort,
        descending=descending,
        by_size=by_size,
        offset=offset,
        limit=limit,
        where=tuple(map(tables.parse_condition, where or ())),
    )


Queries = Annotated[tables.Query, Depends(table_query)]


@router.get("/cards")
def list_cards(
    service: Services, search: str = "", sort: str = "created", descending: bool = True, task: str = ""
) -> Json:
    """List the cards below the root."""
    entries = service.library.search(search, sort=sort, descending=descending, task=task)
    measured = [{**e.json(), **_sorted_by(e, sort)} for e in entries]
    return {"cards": measured, "deleted": service.library.deleted()}


def _sorted_by(entry: Entry, sort: str) -> Json:
    """Return the measure that cards are sorted by, as a number and written out."""
    measure = entry.measures.get(sort)
    if measure is None:
        return {"measure": None, "measure_shown": wording.MISSING}
    chance = "" if measure.chance is None else f"chance {wording.in_unit(measure.chance, measure.unit)}"
    return {
        "measure": measure.value,
        "measure_shown": wording.in_unit(measure.value, measure.unit),
        "measure_chance": chance,
    }


@router.get("/cards/{card}")
def card_page(entry: Entries, service: Services) -> Json:
    """Return what a card says; `prepared` is false while its pages are being made."""
    if service.explorer.prepared(entry) is None:
        return {"card": entry.json(), "prepared": False, "job": service.prepare(entry).id}
    return {"card": entry.json(), "prepared": True, "page": service.explorer.page(entry)}


@router.post("/cards/{card}/prepare")
def look_again(entry: Entries, service: Services) -> Json:
    """Prepare a card's pages again, such as after its data were copied below the root."""
    return service.jobs.seen(service.look_again(entry))


@router.get("/cards/{card}/card.json")
def card_json(entry: Entries) -> FileResponse:
    """Return the card itself."""
    return FileResponse(entry.folder / "card.json", media_type="application/json")


@router.delete("/cards/{card}")
def delete_card(entry: Entries, service: Services) -> Json:
    """Move a card to the trash."""
    return {"deleted": service.library.delete(entry.id).name}


@router.post("/cards/{card}/undelete")
def undelete_card(card: str, service: Services) -> Json:
    """Take a card back from the trash."""
    try:
        return {"card": service.library.undelete(card).json()}
    except KeyError:
        raise HTTPException(404, "There is no such card in the trash.") from None
    except FileExistsError as error:
        raise HTTPException(409, f"There is another folder at {error} now.") from None


@router.get("/cards/{card}/charts/{chart}")
def chart(entry: Entries, chart: str, service: Services) -> Response:
    """Return the Vega-Lite specification of a chart."""
    try:
        return Response(service.explorer.chart(entry, chart), media_type="application/json")
    except KeyError:
        raise HTTPException(404, "There is no such chart.") from None


@router.get("/cards/{card}/tables")
def table_names(entry: Entries, service: Services) -> Json:
    """List the tables of a card."""
    return {"tables": service.explorer.tables(entry)}


@router.get("/cards/{card}/tables/{table}")
def table_rows(entry: OpenedEntries, table: str, service: Services, query: Queries) -> Json:
    """Return a page of a table."""
    return service.explorer.table(entry, table, query).json()


@router.get("/cards/{card}/cues/{family}/{feature:path}")
def cue(entry: OpenedEntries, family: str, feature: str, service: Services) -> Json:
    """Return everything about one cue."""
    try:
        return service.explorer.cue(entry, family, feature)
    except KeyError:
        raise HTTPException(404, "There is no such cue on this card.") from None


@router.get("/cards/{card}/examples")
def examples(
    entry: OpenedEntries,
    service: Services,
    query: Queries,
    family: str = "",
    feature: str = "",
    same: Annotated[int | None, Query(ge=0)] = None,
) -> Json:
    """Return a page of examples with their texts.

    `family` and `feature` keep those that have a cue; `same` those that share a text with the example of that row.
    """
    cue = (family, feature) if family and feature else None
    return service.explorer.examples(entry, query, cue=cue, same=same).json()


@router.get("/compare")
def compare_cards(card: Annotated[list[str], Query(min_length=2, max_length=6)], service: Services) -> Json:
    """Return the measures of several cards side by side."""
    entries = [entry_of(one, service) for one in card]
    return {"cards": [entry.json() for entry in entries], "measures": service.side_by_side(entries)}


@router.get("/compare/{key}/charts/{chart}")
def compare_chart(key: str, chart: str, service: Services) -> Response:
    """Return a chart of a comparison, as Vega-Lite."""
    folder = prepared_folder(service.settings.root, f"compared-{key}") / CHARTS
    if not re.fullmatch(r"[0-9a-f]{24}", key) or chart not in {file.stem for file in folder.glob("*.json")}:
        raise HTTPException(404, "There is no such chart.")
    return Response((folder / f"{chart}.json").read_text(encoding="utf-8"), media_type="application/json")


@router.get("/files")
def files(service: Services) -> Json:
    """List the data files below the root."""
    return {"files": service.data_files()}


@router.post("/uploads")
async def upload(request: Request, service: Services, name: Annotated[str, Query(max_length=500)]) -> Json:
    """Receive a file as the body of the request."""
    done = await receive(request.stream(), name, service.settings, service.state)
    return {"upload": f"upload:{done.id}", "name": done.name, "bytes": done.bytes}


@router.post("/preview")
async def preview(body: DataBody, service: Services) -> Json:
    """Look at a dataset: columns, what they were recognised as, and some rows."""
    return await service.preview(body)


@router.get("/forms")
def analyses() -> Json:
    """Return the parameters of all analyses."""
    return all_forms()


@router.post("/audits")
def new_audit(body: AuditBody, service: Services) -> Json:
    """Queue an audit."""
    return service.jobs.seen(service.audit(body))


@router.post("/cards/{card}/probes")
def new_probe(entry: Entries, body: ProbeBody, service: Services) -> Json:
    """Queue a probe of models."""
    return service.jobs.seen(service.probe(entry, body))


@router.post("/cards/{card}/questions")
def new_questions(entry: Entries, body: AskBody, service: Services) -> Json:
    """Queue questions to a language model."""
    return service.jobs.seen(service.ask(entry, body))


@router.get("/cards/{card}/answers")
def answers(entry: Entries, service: Services) -> Json:
    """List the answers of language models to the test examples of a card."""
    return {"answers": service.answers(entry)}


@router.post("/cards/{card}/remedies")
def new_remedy(entry: Entries, body: DebiasBody, service: Services) -> Json:
    """Queue a remedy."""
    return service.jobs.seen(service.debias(entry, body))


@router.post("/cards/{card}/plans")
def new_plan(entry: Entries, body: PlanBody, service: Services) -> Json:
    """Queue a plan of which examples to change."""
    return service.jobs.seen(service.plan(entry, body))


@router.get("/cards/{card}/plans")
def plans(entry: Entries, service: Services) -> Json:
    """List the plans that were made for a card."""
    return {"plans": [service.jobs.seen(job) for job in service.plans(entry)]}


@router.get("/cards/{card}/models")
def biased_models(entry: Entries, service: Services) -> Json:
    """Return which model is biased by which cue, of all models that were probed on the dataset of a card."""
    return biased(service.settings.root, entry, service.library.entries())


@router.get("/cards/{card}/weights")
def weights(entry: Entries, service: Services) -> FileResponse:
    """Download the weighted rows that a remedy wrote."""
    for kind in (".parquet", ".csv", ".tsv", ".jsonl"):
        file = service.settings.weights / f"{entry.folder.name}{kind}"
        if own_file(service.settings.root, file):
            return FileResponse(file, filename=file.name, media_type="application/octet-stream")
    raise HTTPException(404, "This card has no weighted rows.")


@router.get("/jobs")
def list_jobs(service: Services) -> Json:
    """List the newest jobs."""
    return {"jobs": [service.jobs.seen(job) for job in service.state.jobs(limit=30)]}


@router.get("/jobs/{job}")
def one_job(job: str, service: Services) -> Json:
    """Return one job."""
    try:
        return service.jobs.seen(service.state.job(job))
    except KeyError:
        raise HTTPException(404, "There is no such job.") from None


@router.get("/jobs/{job}/file")
def job_file(job: str, service: Services) -> FileResponse:
    """Download what a job wrote: the worksheet of a plan, or the answers of a language model."""
    if one_job(job, service)["file"] is None:
        raise HTTPException(404, "This job has no file to download.")
    file = Path(service.state.job(job).out)
    return FileResponse(file, filename=file.name, media_type="application/octet-stream")


@router.get("/jobs/{job}/events")
async def job_events(job: str, service: Services) -> StreamingResponse:
    """Follow a job, as server-sent events."""
    one_job(job, service)
    return StreamingResponse(service.jobs.events(job), media_type="text/event-stream")


@router.post("/jobs/{job}/again")
def again(job: str, service: Services) -> Json:
    """Queue a job again that failed or was cancelled."""
    try:
        return service.jobs.seen(service.again(service.state.job(job)))
    except KeyError:
        raise HTTPException(404, "There is no such job.") from None


@router.post("/demo")
def demo(service: Services) -> Json:
    """Queue a card to play with: generated examples with planted cues, and a model that uses them."""
    return service.jobs.seen(service.demo())


@router.post("/jobs/{job}/cancel")
async def cancel_job(job: str, service: Services) -> Json:
    """Cancel a job that waits or runs."""
    await service.jobs.cancel(job)
    return one_job(job, service)
