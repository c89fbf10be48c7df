"""A proxy that can cut a connection before an answer comes through."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Proxy:
    """Forwards bytes, and cuts the connection instead of some answers.

    Parameters
    ----------
    port
        The port of the server on loopback.
    cuts
        Gets the last request; if true, its answer and the connection are lost.
    """

    def __init__(self, port: int, cuts: Callable[[bytes], bool]) -> None:
        self._target, self._cuts = port, cuts
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        last = [b""]

        def forward() -> None:
            try:
                while piece := client.recv(2**16):
                    last[0] = piece
                    server.sendall(piece)
            except OSError:
                pass
            _shut(server)

        threading.Thread(target=forward, daemon=True).start()
        try:
            while piece := server.recv(2**16):
                if self._cuts(last[0]):
                    break
                client.sendall(piece)
        except OSError:
            pass
        _shut(client)
        _shut(server)

    def close(self) -> None:
        """Cut everything."""
        self._listening.close()
        for one in self._open:
            _shut(one)
            one.close()


def _shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
