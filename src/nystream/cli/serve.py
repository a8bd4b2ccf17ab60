"""`nystream serve`: models in a folder, learning and answering over HTTP."""

from __future__ import annotations

import difflib
import importlib
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["load_server", "serve"]

EXTRA = "the server needs more packages: pip install 'nystream[serve]'"


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take options from NYSTREAM_* variables and from a TOML file. Flags come first, then variables, then the file."""
    context.auto_envvar_prefix = "NYSTREAM"
    if path is None:
        return None
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"--config {path}: {error}") from None
    known = {parameter.name for parameter in context.command.params if parameter.name} - {"config", "new_token"}
    options = {("folder" if name in ("dir", "DIR") else name.replace("-", "_")): value for name, value in found.items()}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), 1)
            hint = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
            raise ValueError(f"--config {path}: there is no option {name.replace('_', '-')!r}{hint}")
    context.default_map = {**(context.default_map or {}), **options}
    return path


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", envvar="NYSTREAM_DIR", help="Where everything is kept; made if new."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            callback=read_config,
            is_eager=True,
            envvar="NYSTREAM_CONFIG",
            help="TOML file with these options, as in `port = 8470`. Options may also be set as NYSTREAM_PORT.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine's own only with --tokens.")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8470,
    tokens: Annotated[Path | None, typer.Option(help="File of tokens; see --new-token.")] = None,
    new_token: Annotated[
        str | None,
        typer.Option(help="Add a token with this role (read, learn, admin) to --tokens, print it, and stop."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, max=256, help="Processes that the models are spread over; 0: one process for all.")
    ] = 0,
    follow: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Be a replica of the server at this address: predict, never learn."),
    ] = None,
    follow_token: Annotated[
        Path | None, typer.Option(help="File with the token (role read) that the primary is asked with.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Folder that gets all that models learn; see `nystream restore`.")
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
    column_limit: Annotated[int, typer.Option(min=1, help="The most columns of a row.")] = 4096,
    model_memory: Annotated[
        str | None, typer.Option(help="The most memory of one model; one that has more learns no more.")
    ] = None,
    rate_limit: Annotated[
        float | None, typer.Option(min=0.01, help="Requests a second of one token (or address); more are refused.")
    ] = None,
    address_limit: Annotated[int, typer.Option(min=1, help="The most connections of one address.")] = 256,
    audit: Annotated[str, typer.Option(help="Requests in DIR/audit.log: changes, all or off.")] = "changes",
    log_format: Annotated[str, typer.Option(help="Lines on standard error: text or json.")] = "text",
    log_requests: Annotated[bool, typer.Option(help="Log every request.")] = False,
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
        columns=column_limit,
        model_bytes=None if model_memory is None else sizes.bytes_of(model_memory),
        rate=rate_limit,
        per_address=address_limit,
    )
    for name, value, known in (
        ("audit", audit, ("changes", "all", "off")),
        ("log-format", log_format, ("text", "json")),
    ):
        if value not in known:
            raise ValueError(f"--{name} is one of {', '.join(known)}; got {value!r}")
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
            workers=workers,
            follow=follow,
            follow_token=follow_token,
            archive=archive,
            memory=sizes.bytes_of(memory),
            log_bytes=None if log_limit is None else sizes.bytes_of(log_limit),
            webhook=webhook,
            origins=tuple(origin or ()),
            answers_for=sizes.seconds_of(keep_keys),
            replay=replay_seconds,
            drain=drain_seconds,
            audit=audit,
            log_format=log_format,
            log_requests=log_requests,
            limits=limits,
            retention=retention,
        ),
        quiet=quiet,
    )


def load_server() -> Any:
    """Return the server's package; an error says how to install what it needs."""
    try:
        return importlib.import_module("nystream.serve")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "nystream":
            raise
        raise ImportError(f"{EXTRA} ({error.name} is missing)") from None
