"""The launcher's half of jccl.core.rendezvous: a few small values for the ranks of a job."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import struct

_MAX_REQUEST_BYTES = 4096
_MAX_VALUES = 4096
# How keys of ids begin.
_ID = "id/"


class Store:
    """Answers PUT and GET on an abstract Unix socket, driven by the launcher's selector.

    It answers only processes of the same user.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self.name = f"jccl-run-{secrets.token_hex(8)}"
        self._selector = selector
        self._values: dict[str, str] = {}
        self._readers: dict[str, int] = {}
        self._waiting: dict[str, list[socket.socket]] = {}
        self._requests: dict[socket.socket, bytes] = {}
        # Why no more ids come; None while they may.
        self._without_ids: str | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind("\0" + self.name)
        self._listener.listen(128)
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", peer)[1] != os.getuid():
            connection.close()
            return
        connection.setblocking(False)
        self._requests[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._receive(connection))

    def _receive(self, connection: socket.socket) -> None:
        try:
            received = connection.recv(16 * _MAX_REQUEST_BYTES)
        except OSError:
            received = b""
        request = self._requests[connection] + received
        if not received:
            self._drop(connection)
            return
        if len(request) > _MAX_REQUEST_BYTES:
            self._refuse(connection, f"it has more than {_MAX_REQUEST_BYTES} bytes")
            return
        self._requests[connection] = request
        if request.endswith(b"\n"):
            self._requests[connection] = b""
            self._answer(connection, request.decode("ascii", "replace").split())

    def _answer(self, connection: socket.socket, words: list[str]) -> None:
        match words:
            case ["PUT", _, _] | ["PUT", _, _, _] if len(self._values) >= _MAX_VALUES:
                self._refuse(connection, f"it holds {_MAX_VALUES} values already")
            case ["PUT", key, value]:
                self.put(key, value)
                self._reply(connection, "OK")
            case ["PUT", key, value, readers] if readers.isdecimal() and int(readers) > 0:
                self._readers[key] = int(readers)
                self.put(key, value)
                self._reply(connection, "OK")
            case ["GET", key] if key in self._values:
                self._reply(connection, self._values[key])
                self._read(key)
            case ["GET", key] if self._without_ids is not None and key.startswith(_ID):
                self._refuse(connection, self._without_ids)
            case ["GET", key]:
                self._waiting.setdefault(key, []).append(connection)
            case _:
                self._refuse(connection, "it is neither PUT key hex [readers] nor GET key")

    def put(self, key: str, value: str) -> None:
        """Sets a value and sends it to the ranks that wait for it."""
        self._values[key] = value
        for waiting in self._waiting.pop(key, []):
            self._reply(waiting, value)
            self._read(key)

    def end_ids(self, why: str) -> None:
        """Refuses requests for ids that are not there: no more come."""
        self._without_ids = why
        for key in [key for key in self._waiting if key.startswith(_ID)]:
            for connection in set(self._waiting.pop(key)):
                self._refuse(connection, why)

    def _read(self, key: str) -> None:
        """Forgets the value if that was its last reader."""
        if key in self._readers:
            self._readers[key] -= 1
            if self._readers[key] == 0:
                del self._readers[key], self._values[key]

    def get(self, key: str) -> str | None:
        """The value under ``key`` in hex; None if there is none yet."""
        return self._values.get(key)

    def _reply(self, connection: socket.socket, text: str) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(text.encode() + b"\n")

    def _refuse(self, connection: socket.socket, why: str) -> None:
        self._reply(connection, "REFUSED " + why)
        self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._requests[connection]
        for waiting in self._waiting.values():
            if connection in waiting:
                waiting.remove(connection)
        connection.close()

    def close(self) -> None:
        """Ends all connections."""
        for connection in list(self._requests):
            self._drop(connection)
        self._selector.unregister(self._listener)
        self._listener.close()
