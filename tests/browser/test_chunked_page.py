"""A page that arrives in two pieces, as over a slow line: what is already shown does not move."""

import socket
import time
import urllib.request
from contextlib import closing
from threading import Thread

import pytest

from tests.browser.test_board_budget import SHIFTS

# Longer than the browser waits before it paints what it has.
PAUSE_SECONDS = 0.4


@pytest.fixture
def in_pieces(seeded):
    """The port of a server that sends pages in two pieces, and a list of places to cut them at."""
    cuts: list[bytes] = []

    def answer(caller: socket.socket) -> None:
        with caller:
            path = caller.recv(65536).split(b" ", 2)[1].decode()
            asked = urllib.request.Request(seeded.url + path, headers={"Cookie": seeded.cookie})
            with urllib.request.urlopen(asked) as got:
                kind, body = got.headers["Content-Type"], got.read()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
            at = body.find(cuts[-1]) + len(cuts[-1]) if cuts and cuts[-1] in body else 0
            caller.sendall(head.encode() + body[:at])
            if at:
                time.sleep(PAUSE_SECONDS)
            caller.sendall(body[at:])

    def serve() -> None:
        while True:
            try:
                caller, _ = server.accept()
            except OSError:
                return
            Thread(target=answer, args=(caller,), daemon=True).start()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], cuts
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_what_comes_later_moves_nothing(browser, in_pieces):
    port, cuts = in_pieces
    shifted = {}
    for cut in (
        b'<details class="menu left switcher">',
        b'<details class="menu">',
        b"</h1>",
        b'<details class="menu view-menu">',
    ):
        cuts.append(cut)
        with closing(browser.new_page(viewport={"width": 1280, "height": 800})) as page:
            page.goto(f"http://127.0.0.1:{port}/projects/DEMO/board")
            shifted[cut] = page.evaluate(SHIFTS)
    assert not any(shifted.values()), shifted
