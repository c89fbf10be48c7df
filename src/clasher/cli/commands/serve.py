"""``clasher serve``: serve a model over HTTP, with a dashboard."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from clasher.cli.format import counted
from clasher.cli.options import command, quiet_option, section
from clasher.cli.settings import ModelOptions, settings_options
from clasher.cli.terminal import prepare, say, warn
from clasher.errors import BusyError, ClasherError, MissingExtraError, ServiceError, SettingError

if TYPE_CHECKING:
    from clasher.server.service import Service, Setup
    from clasher.service.engine import Engine
    from clasher.settings import Settings

_service = section("Service")
_access = section("Access")


@command("serve", "Serve a model over HTTP, with a live dashboard.")
@_service("--data FOLDER  The folder of all data; created if missing.", required=True)
@_service(
    "--port PORT = 8000  The port to listen on; 0 takes a free one.",
    "model_path --model -m FILE  Start a new folder with this model file.",
    "--accept-loss  Start even if the end of the log, keys or waiting documents are lost or "
    "damaged.",
    "--demo  Feed it slowly with the stream of clasher demo.",
)
@_access(
    "--host ADDRESS = 127.0.0.1  The address to listen on (default: 127.0.0.1, this machine only).",
    "--token-file FILE  Admit only holders of a token in this file: see clasher token.",
    "--insecure  Listen on another address without tokens: anyone who reaches it may do anything.",
)
@_access(
    "hosts --allow-host NAME  A host name that requests may use, besides its addresses; "
    "repeatable.",
    multiple=True,
)
@_access("--root-path PATH  The path of the service behind a proxy, such as /clasher.", default="")
@settings_options
@quiet_option
def serve_command(
    options: ModelOptions,
    data: str,
    port: int,
    model_path: str | None,
    accept_loss: bool,
    demo: bool,
    host: str,
    quiet: bool,
    **access: Any,
) -> None:
    """Predict, learn and take corrections over HTTP, with a dashboard at /.

    Everything acknowledged is on disk: however the last run ended, the next
    one continues where it stopped. Settings of the model are for a new folder.

    $ clasher serve --data ./my-clasher --port 8000
    $ clasher serve --data ./demo --demo
    $ clasher serve --data ./news --host 0.0.0.0 --token-file tokens
    """  # fmt: skip
    try:
        from clasher.server import app
        from clasher.server.service import Service
        from clasher.service.options import default_settings
    except ImportError as error:
        raise MissingExtraError.of("A service", "server") from error

    setup = _setup(host, **access)
    listening = app.bind(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"

    def open_engine() -> Engine:
        prepare(default_settings(), quiet=quiet)
        return _open_engine(data, options, model_path, service, accept_loss=accept_loss)

    async def ready(engine: Engine) -> None:
        for line in engine.notes:
            warn(line)
        figures = engine.metrics()
        say(
            f"{engine.folder.path}: {counted(figures.documents_learned, 'document')} learnt, "
            f"{counted(figures.labels, 'label')}, version {figures.version}; "
            f"{engine.replayed:,} log entries replayed",
            quiet=quiet,
        )
        say(f"dashboard: {address}{setup.root_path}/", quiet=quiet)
        if demo:
            await feed(service)

    service = Service(open_engine, setup)
    say(f"listening at {address}; recovering {data} …", quiet=quiet)
    try:
        app.run(app.Server(service, ready), listening)
    except (ClasherError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ServiceError(
            f"{data}: the service cannot start: {type(error).__name__}: {error}; this is a bug in "
            f"clasher, please report it"
        ) from error
    say("stopped; everything acknowledged is on disk", quiet=quiet)


def _setup(
    host: str, *, token_file: str | None, hosts: tuple[str, ...], root_path: str, insecure: bool
) -> Setup:
    """Decide who is admitted; refuse to serve a network without tokens unless told to."""
    from clasher.server.service import Setup
    from clasher.server.tokens import TokenFile

    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if token_file is None and not insecure and not is_local:
        raise SettingError(
            f"--host {host}: other machines can reach it, and it has no tokens; create some with "
            f"clasher token and give --token-file, or --insecure"
        )
    tokens = None if token_file is None else TokenFile(token_file)
    if tokens is not None and not tokens.holders():
        raise SettingError(f"{token_file}: nobody has a token; see clasher token")
    root_path = root_path.rstrip("/")
    if root_path and not root_path.startswith("/"):
        raise SettingError.of("root-path", "a path that begins with /", root_path, "serve")
    return Setup(tokens=tokens, hosts=hosts, root_path=root_path)


def _open_engine(
    data: str, options: ModelOptions, model_path: str | None, service: Service, *, accept_loss: bool
) -> Engine:
    from clasher.service.engine import Engine

    if model_path is not None and Path(data, "log.sqlite").exists():
        raise SettingError(
            f"--model {model_path}: {data} already has a model; leave it out, or replace the model "
            f"with PUT /v1/model"
        )
    engine = Engine(
        data,
        _settings(options),
        tokenizer=options.analysis.get("tokenizer"),
        is_stopping=service.is_stopping,
        accept_loss=accept_loss,
    )
    if model_path is not None:
        try:
            with open(model_path, "rb") as file:
                engine.replace_model(file, "serve").result()
        except BaseException:
            engine.close()
            raise
    return engine


def _settings(options: ModelOptions) -> Settings | None:
    """Return the given settings over the defaults of a service; None if none are given."""
    from clasher.service.options import default_settings
    from clasher.settings import Settings

    if not (options.given or options.paper or options.analysis):
        return None
    usual = default_settings()
    own = {name: getattr(usual, name) for name in usual.differences(Settings())}
    return replace(options, given={**own, **options.given}).settings()


# ── --demo ───────────────────────────────────────────────────────────────────────────────────────

DEMO = "demo"  # the user that feedback comes from
LIMIT = 12_000  # documents of a round
ROUNDS = 3
FIRST = 500  # documents learnt at once, so that there is something to see
TOP = 5  # probabilities of a prediction
PAUSE = 0.1  # seconds between two documents: as fast as people can follow
UNANSWERED = 0.3  # the share of documents left for people to correct


async def feed(service: Service, pause: float = PAUSE, limit: int = LIMIT) -> None:
    """Predict the docstrings of this Python one by one and answer most of them, for some rounds."""
    import asyncio

    from clasher.cli.demo_corpus import collect
    from clasher.service.structs import Document

    found = (await asyncio.to_thread(collect, limit)).documents
    engine = service.engine
    first = [Document(text=one.text, labels=one.labels) for one in found[:FIRST]]
    if first and not engine.metrics().documents_learned:
        await service.bridge.wait(engine.learn(first, DEMO))
    chance = random.Random(0)
    run = engine.version  # ids are new in each round and run
    for number, (place, one) in product(range(1, ROUNDS + 1), enumerate(found[FIRST:])):
        if service.is_stopping():
            return
        name = f"{one.name[:200]} {run}.{number}.{place}"
        start = perf_counter()
        try:
            document = Document(id=name, text=one.text)
            async for _ in service.predictor.predict([document], TOP, True):
                service.meters.add_documents(1)
            service.meters.add_request("predict", 200, perf_counter() - start)
            if chance.random() >= UNANSWERED:
                await service.bridge.wait(engine.feedback(name, one.labels, DEMO))
        except BusyError:
            pass  # others come first
        await asyncio.sleep(pause)
