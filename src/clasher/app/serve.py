"""``clasher serve``: opens the data folder behind an address, and tells what it found."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from clasher.app.figures import counted
from clasher.app.notes import prepare, say, warn
from clasher.app.wanted import Wanted
from clasher.errors import ClasherError, MissingExtraError, ServiceError, SettingError
from clasher.settings import Settings

try:
    from clasher.app.server import running
    from clasher.app.server.feeding import feed
    from clasher.app.server.serving import Service, Setup
    from clasher.app.server.tokens import TokenFile
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
    listening = running.bind(place.host, place.port)
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
        running.run(running.Server(service, ready), listening)
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
    for line in engine.told:
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
