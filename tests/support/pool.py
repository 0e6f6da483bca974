"""A pool of threads as the server has it: each takes the next request there is."""

import threading
from queue import SimpleQueue

from app.threads import Takers
from app.worker import answering

LIMIT = 100


class Exchange:
    """Takes the answer to one request."""

    def __init__(self):
        self.answered = threading.Event()
        self.status = None
        self.body = b""

    def response_bytes(self, status, headers, body):
        self.status, self.body = status, body
        self.answered.set()

    def response_iter(self, status, headers, body):
        self.response_bytes(status, headers, b"".join(body))


class Body:
    """A body that is there once it was sent; only the thread that took its request can read it."""

    def __init__(self, *, is_sent=False):
        self.sent = threading.Event()
        self.is_closed = False
        if is_sent:
            self.sent.set()

    def read(self, size):
        assert not self.is_closed
        self.sent.wait(10)
        return b"whole"[:size]


class Pool:
    """Threads that call ``answer`` for each request, as the server's do."""

    def __init__(self, application, most, wanted=1, size=None):
        self.takers = Takers(wanted, most)
        self._answer = answering(application, self.takers, max_body=LIMIT)
        self._requests = SimpleQueue()
        for _ in range(size or most):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while (request := self._requests.get()) is not None:
            body = request[1]["wsgi.input"]
            self._answer(*request)
            body.is_closed = True
            # Like the server, it keeps nothing.
            del request, body

    def ask(self, path="/", body=None, **more):
        exchange = Exchange()
        environ = {"PATH_INFO": path, "wsgi.input": body or Body(is_sent=True), **more}
        if body is not None:
            environ["CONTENT_LENGTH"] = "5"
        self._requests.put((exchange, environ))
        return exchange

    def end_one(self):
        self._requests.put(None)
