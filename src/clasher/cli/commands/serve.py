"""``clasher serve``: a model over HTTP, which learns from what people say and loses nothing.

A service that feeds itself, so that a newcomer sees it alive.

``clasher serve``: opens the data folder behind an address, and tells what it found.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import click

from clasher.cli.demo_corpus import Docstring, collect
from clasher.cli.format import counted
from clasher.cli.options import Command, option, quiet_option
from clasher.cli.settings import Wanted, settings_options
from clasher.cli.terminal import prepare, say, warn
from clasher.errors import BusyError, ClasherError, MissingExtraError, ServiceError, SettingError
from clasher.server.service import Service
from clasher.service.structs import Document
from clasher.settings import Settings

WHO = "demo"
LIMIT = 12_000  # documents of a round
ROUNDS = 3
FIRST = 500  # documents that are learnt at once, so that there is something to see
TOP = 5  # probabilities of a prediction
PAUSE = 0.1  # seconds between two documents: as fast as people can follow
UNANSWERED = 0.3  # the share of documents that is left for people to teach


async def feed(service: Service, pause: float = PAUSE, limit: int = LIMIT) -> None:
    """Predict the docstrings of this Python one by one, and answer most of them; ends some day."""
    found = (await asyncio.to_thread(collect, limit)).documents
    engine = service.engine
    first = [Document(text=one.text, labels=one.labels) for one in found[:FIRST]]
    if first and not engine.metrics().documents_learned:
        await service.bridge.wait(engine.learn(first, WHO))
    chance = random.Random(0)
    for name, one in _rounds(found[FIRST:], engine.version):
        if service.is_stopping():
            return
        try:
            await _predict(service, Document(id=name, text=one.text))
            if chance.random() >= UNANSWERED:
                await service.bridge.wait(engine.feedback(name, one.labels, WHO))
        except BusyError:
            pass  # others come first
        await asyncio.sleep(pause)


async def _predict(service: Service, document: Document) -> None:
    """Predict as for a request, which the figures tell of."""
    start = perf_counter()
    async for _ in service.predictor.predict([document], TOP, True):
        service.meters.add_documents(1)
    service.meters.add_request("predict", 200, perf_counter() - start)


def _rounds(documents: Sequence[Docstring], run: int) -> Iterator[tuple[str, Docstring]]:
    """The documents again and again, but not for ever; each time and in each run anew."""
    for number in range(1, ROUNDS + 1):
        for place, one in enumerate(documents):
            yield f"{one.name[:200]} {run}.{number}.{place}", one


try:
    from clasher.server import app
    from clasher.server.service import Service, Setup
    from clasher.server.tokens import TokenFile
    from clasher.service.engine import Engine
    from clasher.service.options import default_settings
except ImportError as error:
    raise MissingExtraError.of("A service", "server") from error


class Place(NamedTuple):
    """Where a service listens, and to whom."""

    host: str
    port: int
    token_file: str | None = None
    insecure: bool = False
    hosts: tuple[str, ...] = ()
    root_path: str = ""

    def setup(self) -> Setup:
        """Who is let in; raises where that would be everybody of a network, unasked."""
        if self.token_file is None and not self.insecure and not _is_local(self.host):
            raise SettingError(
                f"--host {self.host}: others could reach it there, and it has no tokens; make some "
                f"with clasher token and give --token-file, or say --insecure"
            )
        tokens = None if self.token_file is None else TokenFile(self.token_file)
        if tokens is not None and not tokens.holders():
            raise SettingError(f"{self.token_file}: nobody has a token; see clasher token")
        root_path = self.root_path.rstrip("/")
        if root_path and not root_path.startswith("/"):
            raise SettingError.of("root-path", "a path that begins with /", root_path, "serve")
        return Setup(tokens=tokens, hosts=self.hosts, root_path=root_path)


def serve(
    data: str,
    place: Place,
    wanted: Wanted,
    *,
    model_path: str | None = None,
    demo: bool = False,
    accept_loss: bool = False,
    quiet: bool = False,
) -> None:
    """Serve until told to stop."""
    setup = place.setup()
    listening = app.bind(place.host, place.port)
    port = listening.getsockname()[1]
    host = f"[{place.host}]" if ":" in place.host else place.host

    def open_engine() -> Engine:
        prepare(default_settings(), quiet=quiet)
        return _opened(data, wanted, model_path, service.is_stopping, accept_loss)

    service = Service(open_engine, setup)

    async def ready(engine: Engine) -> None:
        _tell(engine, quiet=quiet)
        say(f"dashboard: http://{host}:{port}{setup.root_path}/", quiet=quiet)
        if demo:
            await feed(service)

    say(f"listening at http://{host}:{port}; recovering {data} …", quiet=quiet)
    try:
        app.run(app.Server(service, ready), listening)
    except (ClasherError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ServiceError(
            f"{data}: the service cannot start: {type(error).__name__}: {error}; this is a mistake "
            f"in clasher, please report it"
        ) from error
    say("stopped; everything that was acknowledged is on disk", quiet=quiet)


def _opened(
    data: str,
    wanted: Wanted,
    model_path: str | None,
    is_stopping: Callable[[], bool],
    accept_loss: bool,
) -> Engine:
    """The engine of a folder; of a new one with the model or the settings that were asked for."""
    is_new = not Path(data, "log.sqlite").exists()
    if model_path is not None and not is_new:
        raise SettingError(
            f"--model {model_path}: {data} has a model already; leave it out, or replace that one: "
            f"PUT /v1/model"
        )
    tokenizer = wanted.analysis.get("tokenizer")
    engine = Engine(
        data,
        _settings(wanted),
        tokenizer=tokenizer,
        is_stopping=is_stopping,
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


def _settings(wanted: Wanted) -> Settings | None:
    """The settings that were asked for, the others as a service has them; None: none were."""
    if not (wanted.given or wanted.paper or wanted.analysis):
        return None
    usual = default_settings()
    own = {name: getattr(usual, name) for name in usual.differences(Settings())}
    return replace(wanted, given={**own, **wanted.given}).settings()


def _tell(engine: Engine, *, quiet: bool) -> None:
    """What a start found."""
    for line in engine.notes:
        warn(line)
    figures = engine.metrics()
    say(
        f"{engine.folder.path}: {counted(figures.documents_learned, 'document')} learnt, "
        f"{counted(figures.labels, 'label')}, version {figures.version}; "
        f"{engine.replayed:,} of the log's entries done again",
        quiet=quiet,
    )


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


EXAMPLES = """
    clasher serve --data ./my-clasher --port 8000
    clasher serve --data ./demo --demo
    clasher serve --data ./news --host 0.0.0.0 --token-file tokens
"""


@click.command(
    "serve", cls=Command, examples=EXAMPLES, short_help="Serve a model, with a live dashboard."
)
@option(
    "--data",
    metavar="FOLDER",
    required=True,
    section="Service",
    help="Where everything is kept; made where there is none.",
)
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    metavar="N",
    section="Service",
    help="The port to listen at, 0 for one that is free (default: 8000).",
)
@option(
    "--model",
    "-m",
    "model_path",
    metavar="FILE",
    section="Service",
    help="Begin with this model; for a folder that is new.",
)
@option(
    "--accept-loss",
    is_flag=True,
    section="Service",
    help="Start although the end of the log, keys or waiting documents are lost or damaged.",
)
@option("--demo", is_flag=True, section="Service", help="Feed it with the demo's stream, slowly.")
@option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    section="Access",
    help="The address to listen at (default: 127.0.0.1, this machine only).",
)
@option(
    "--token-file",
    metavar="FILE",
    section="Access",
    help="Let in only those who have a token of this file: see clasher token.",
)
@option(
    "--insecure",
    is_flag=True,
    section="Access",
    help="Listen at another address without tokens: everybody there may do everything.",
)
@option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    section="Access",
    help="A name that it is asked for by, beside its addresses; may be given again.",
)
@option(
    "--root-path",
    default="",
    metavar="PATH",
    section="Access",
    help="Where it is found behind a proxy: /clasher.",
)
@settings_options
@quiet_option
def serve_command(
    wanted: Wanted,
    data: str,
    port: int,
    model_path: str | None,
    accept_loss: bool,
    demo: bool,
    host: str,
    token_file: str | None,
    insecure: bool,
    hosts: tuple[str, ...],
    root_path: str,
    quiet: bool,
) -> None:
    """Predict, learn and take answers over HTTP, with a dashboard at /.

    What was acknowledged is on disk: a start goes on exactly where the last
    run ended, however that ended. The settings of the model are for a folder
    that is new.
    """  # fmt: skip
    place = Place(host, port, token_file, insecure, hosts, root_path)
    serve(
        data,
        place,
        wanted,
        model_path=model_path,
        demo=demo,
        accept_loss=accept_loss,
        quiet=quiet,
    )
