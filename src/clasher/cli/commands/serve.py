"""Commands of a service: ``serve`` over HTTP, its ``token``, its ``log`` and their ``replay``."""

from __future__ import annotations

import ipaddress
import os
import random
import sys
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, decimals
from clasher.cli.options import command, model_option, section, written_option
from clasher.cli.settings import ModelOptions, settings_options
from clasher.errors import BusyError, ClasherError, MissingExtraError, ServiceError, SettingError
from clasher.service import default_settings
from clasher.settings import Settings

if TYPE_CHECKING:
    from clasher.server.service import Service, Setup
    from clasher.service.engine import Engine

_service = section("Service")
_access = section("Access")
_tokens = section("Tokens")


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
@partial(settings_options, usual=default_settings())
def serve_command(
    options: ModelOptions,
    data: str,
    port: int,
    model_path: str | None,
    accept_loss: bool,
    demo: bool,
    host: str,
    **access: Any,
) -> None:
    """Predict, learn and take corrections over HTTP, with a dashboard at /.

    Everything acknowledged is on disk: however the last run ended, the next
    one continues where it stopped. Model settings are for a new folder.

    $ clasher serve --data ./my-clasher --port 8000
    $ clasher serve --data ./demo --demo
    $ clasher serve --data ./news --host 0.0.0.0 --token-file tokens
    """
    try:
        from clasher.server import app
        from clasher.server.service import Service
        from clasher.service.engine import Engine
    except ImportError as error:
        raise MissingExtraError.of("A service", "server") from error

    setup = _setup(host, **access)
    listening = app.bind(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    context = click.get_current_context()

    def open_engine() -> Engine:
        usual = default_settings()
        with context.scope(cleanup=False):  # another thread runs this
            terminal.prepare(usual)
        if model_path is not None and Path(data, "log.sqlite").exists():
            raise SettingError(
                f"--model {model_path}: {data} already has a model; leave it out, or replace the "
                f"model with PUT /v1/model"
            )
        defaults = {name: getattr(usual, name) for name in usual.differences(Settings())}
        engine = Engine(
            data,
            options.settings(**defaults) if options else None,
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

    async def ready(engine: Engine) -> None:
        for line in engine.notes:
            terminal.warn(line)
        figures = engine.metrics()
        terminal.say(
            f"{engine.folder.path}: {counted(figures.documents_learned, 'document')} learnt, "
            f"{counted(figures.labels, 'label')}, version {figures.version}; "
            f"{engine.replayed:,} log entries replayed"
        )
        terminal.say(f"dashboard: {address}{setup.root_path}/")
        if demo:
            await feed(service)

    service = Service(open_engine, setup)
    terminal.say(f"listening at {address}; recovering {data} …")
    try:
        app.run(app.Server(service, ready), listening)
    except (ClasherError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ServiceError(
            f"{data}: the service cannot start: {type(error).__name__}: {error}; this is a bug in "
            f"clasher, please report it"
        ) from error
    terminal.say("stopped; everything acknowledged is on disk")


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


@command("token", "Manage the access tokens of a service.")
@click.argument("name", required=False)
@_tokens("--token-file FILE  The file for clasher serve; created if missing.", required=True)
@_tokens(
    "--scope predict|read|teach|admin = teach  predict: predict and explain only; read: also "
    "labels and figures; teach (the default): also see texts, learn and answer; admin: also change "
    "labels, export the log and the model.",
    "--remove  Remove the token of NAME.",
    "lists --list  List who has a token.",
)
def token_command(name: str | None, token_file: str, scope: str, remove: bool, lists: bool) -> None:
    """Create a token for NAME and print it, once.

    The file keeps only a hash of it. A running service notices changes of the
    file within about a second.

    $ clasher token ann --scope teach --token-file tokens
    $ clasher token --list --token-file tokens
    $ clasher token ann --remove --token-file tokens
    """
    from clasher.server.tokens import SCOPES, TokenFile

    tokens = TokenFile(token_file)
    if lists:
        for holder in tokens.holders():
            click.echo(f"{holder.name}\t{holder.scope}")
        return
    if name is None:
        raise click.UsageError("Give a NAME, or --list.")
    if remove:
        tokens.remove(name)
        terminal.say(f"removed the token of {name}")
        return
    token = tokens.add(name, next(known for known in SCOPES if known == scope))
    terminal.say(f"the token of {name}, scope {scope}; it is not shown again:")
    click.echo(token)


@command("log", "Export what a service was taught.", quiet=False)
@click.argument("folder", metavar="FOLDER")
@section("Log")(
    "--after N = 0  Only lessons after version N of the model (default: all that are kept).",
    type=click.IntRange(min=0),
)
@written_option
def log_command(folder: str, after: int, output: str) -> None:
    """Write what people taught, oldest first: who, when, before and after.

    FOLDER is the data folder of a stopped service; ask a running one at
    /v1/log. Each document, answer and change of a label is a JSON line with
    the version of the model that it made.

    $ clasher log ./my-clasher > taught.jsonl
    $ clasher log ./my-clasher --after 12000 | jq 'select(.kind == "feedback")'
    """
    terminal.check_outputs({"--output": output})
    import msgspec

    from clasher.service.export import read_folder

    encoder = msgspec.json.Encoder()
    with ExitStack() as stack:
        file: IO[bytes] = sys.stdout.buffer
        for number, lesson in enumerate(read_folder(folder, after)):
            if (
                not number and output != terminal.STANDARD_STREAM
            ):  # keep the file if there is no log
                file = stack.enter_context(open(output, "wb"))
            file.write(encoder.encode(lesson) + b"\n")
        file.flush()


@command("replay", "Rebuild a model from the log of a service.")
@click.argument("source", metavar="FOLDER|FILE")
@model_option("The model file to write.")
@settings_options
def replay_command(source: str, model_path: str, options: ModelOptions) -> None:
    """Teach a new model everything a service was taught, in order.

    FOLDER is the data folder of a stopped service, FILE the output of clasher
    log, or - for standard input. Every document is predicted before it is
    learnt: the figures say how good a service with these settings would have
    been.

    $ clasher replay ./my-clasher --model better.clasher --half-life 20000
    $ clasher log ./my-clasher | clasher replay - -m small.clasher --dimensions 8192
    """
    terminal.check_model_file("--model", model_path, [source])
    from clasher.runtime.quality import figures
    from clasher.service.export import read_folder, read_lines, replay
    from clasher.service.state import ServiceState

    state = ServiceState(options.create())
    terminal.prepare(state.model.settings)
    if os.path.isdir(source):
        done = replay(read_folder(source), state)
    else:
        with click.open_file(source, "rb") as file:  # - is standard input
            done = replay(read_lines(file, source), state)
    if not done.lessons:
        terminal.say(f"{source} holds no lessons; {model_path} is unchanged")
        return
    state.model.save(model_path)
    if done.passed_over:
        terminal.warn(f"skipped {counted(done.passed_over, 'lesson')}; the first: {done.first}")
    quality = figures(state.quality.all)
    macro, micro = decimals(quality.macro_f1.value), decimals(quality.micro_f1.value)
    terminal.say(
        f"learnt {counted(done.lessons, 'lesson')}, macro F1 {macro}, micro F1 {micro} over "
        f"{counted(quality.documents, 'judged document')}; "
        f"saved {model_path}: {counted(len(state.model.labels), 'label')}, "
        f"{bytes_(os.path.getsize(model_path))}"
    )


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
