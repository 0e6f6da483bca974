"""Keep a server busy: each client sends its next request once the last one is answered."""

import http.client
import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A kind of request."""

    name: str
    method: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True)
class Figures:
    """Results; times in milliseconds."""

    requests: int
    failures: int
    per_second: float
    p50: float
    p99: float
    worst: float


def keep_busy(
    port: int, target: Target, headers: dict[str, str], clients: int, seconds: float
) -> Figures:
    """Run the clients for ``seconds``; a failure is a missing or non-2xx response."""
    times: list[float] = []
    failures: list[str] = []
    ends = time.perf_counter() + seconds

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        own: list[float] = []
        while (began := time.perf_counter()) < ends:
            try:
                connection.request(target.method, target.path, target.body, headers)
                response = connection.getresponse()
                response.read()
            except (OSError, http.client.HTTPException) as error:
                failures.append(type(error).__name__)
                connection.close()
                continue
            own.append((time.perf_counter() - began) * 1000)
            if not 200 <= response.status < 300:
                failures.append(str(response.status))
        connection.close()
        times.extend(own)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _figures(sorted(times), len(failures), time.perf_counter() - began)


def _figures(times: list[float], failures: int, elapsed: float) -> Figures:
    return Figures(
        requests=len(times),
        failures=failures,
        per_second=len(times) / elapsed,
        p50=_quantile(times, 0.5),
        p99=_quantile(times, 0.99),
        worst=times[-1] if times else 0.0,
    )


def _quantile(ordered: list[float], part: float) -> float:
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0
