"""`nystream serve`: models in a folder, learning and answering over HTTP."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["load_server", "serve"]

EXTRA = "the server needs more packages: pip install 'nystream[serve]'"


def serve(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="Where everything is kept; made if new.")] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine's own only with --tokens.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8470,
    tokens: Annotated[Path | None, typer.Option(help="File of tokens; see --new-token.")] = None,
    new_token: Annotated[
        str | None,
        typer.Option(help="Add a token with this role (read, learn, admin) to --tokens, print it, and stop."),
    ] = None,
    memory: Annotated[str, typer.Option(help="Memory for keyed models; the others wait on the disk.")] = "1GB",
    log_limit: Annotated[str | None, typer.Option(help="The most that the log may take on the disk.")] = None,
    webhook: Annotated[str | None, typer.Option(help="URL that alarms are posted to.")] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="A web page elsewhere that may call the server, as in https://example.com.")
    ] = None,
    keep_keys: Annotated[str, typer.Option(help="How long idempotency keys are remembered.")] = "24h",
    snapshot_every: Annotated[str, typer.Option(help="Time between snapshots that are kept.")] = "5min",
    keep_all: Annotated[str, typer.Option(help="How long all snapshots are kept.")] = "1h",
    keep_hourly: Annotated[str, typer.Option(help="How long one snapshot an hour is kept.")] = "24h",
    keep_daily: Annotated[str, typer.Option(help="How long one snapshot a day is kept.")] = "30d",
    body_limit: Annotated[str, typer.Option(help="The largest request.")] = "32MiB",
    row_limit: Annotated[int, typer.Option(min=1, help="The most rows of a request.")] = 100_000,
    queue_limit: Annotated[int, typer.Option(min=1, help="The most requests that wait to be learnt.")] = 4096,
    open_limit: Annotated[int, typer.Option(min=1, help="Predictions of a model that may wait for labels.")] = 100_000,
    open_age: Annotated[str, typer.Option(help="How long a prediction waits for its label.")] = "30d",
    backlog_rows: Annotated[
        int, typer.Option(min=1, help="The most rows that are accepted and not learnt yet; more are refused (429).")
    ] = 500_000,
    backlog_bytes: Annotated[str, typer.Option(help="The same in bytes.")] = "256MiB",
    replay_seconds: Annotated[
        float, typer.Option(min=0.05, help="Seconds of learning that a restart may have to repeat.")
    ] = 0.5,
    drain_seconds: Annotated[
        float, typer.Option(min=2.0, help="Seconds in which the server ends after SIGTERM.")
    ] = 30.0,
    timeout: Annotated[str, typer.Option(help="The most time a request may take.")] = "30s",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing at the start.")] = False,
) -> None:
    """Serve models that learn: what is acknowledged is never forgotten."""
    server = load_server()
    if new_token is not None:
        if tokens is None:
            raise ValueError("--new-token needs --tokens FILE, to which the token's hash is added")
        print(importlib.import_module("nystream.serve.tokens").added(tokens, new_token))
        return
    if folder is None:
        raise ValueError("serve needs DIR, the folder where everything is kept")
    sizes = importlib.import_module("nystream.serve.settings")
    limits = server.Limits(
        body=sizes.bytes_of(body_limit),
        rows=row_limit,
        queue=queue_limit,
        queue_rows=backlog_rows,
        queue_bytes=sizes.bytes_of(backlog_bytes),
        open_labels=open_limit,
        open_age=sizes.seconds_of(open_age),
        seconds=sizes.seconds_of(timeout),
    )
    retention = server.Retention(
        every=sizes.seconds_of(snapshot_every),
        all_for=sizes.seconds_of(keep_all),
        hourly_for=sizes.seconds_of(keep_hourly),
        daily_for=sizes.seconds_of(keep_daily),
    )
    server.run(
        server.Settings(
            folder=folder,
            host=host,
            port=port,
            tokens=tokens,
            memory=sizes.bytes_of(memory),
            log_bytes=None if log_limit is None else sizes.bytes_of(log_limit),
            webhook=webhook,
            origins=tuple(origin or ()),
            answers_for=sizes.seconds_of(keep_keys),
            replay=replay_seconds,
            drain=drain_seconds,
            limits=limits,
            retention=retention,
        ),
        quiet=quiet,
    )


def load_server() -> Any:
    """The server's package, or an error that says how to install what it needs."""
    try:
        return importlib.import_module("nystream.serve")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "nystream":
            raise
        raise ImportError(f"{EXTRA} ({error.name} is missing)") from None
