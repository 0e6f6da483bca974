"""Faults of an import over another tracker's API: kills, and files temporarily missing."""

import random
import subprocess
import time

import sqlalchemy as sa

from tests.importing.gitlab_server import NAME, PATH, GitLabServer, person
from tests.importing.tracker_server import Reply
from tests.support.serving import COMMAND, ROOT, environment
from tests.torture.faults import Figures, expect, is_killed
from tests.torture.stage import Stage

SECRET = "0123456789abcdef0123456789abcdef"
UPLOADS = f"{PATH.removesuffix('/issues')}/uploads/{SECRET}"
# For each issue, a fresh import requests its notes, its links and its file.
REQUESTS = 3
ROWS = """SELECT t.id, t.title, t.body, (SELECT count(*) FROM files f WHERE f.ticket_id = t.id),
    (SELECT count(*) FROM comments c WHERE c.ticket_id = t.id) FROM tickets t
    JOIN imported_issues i ON i.ticket_id = t.id"""


def moving(stage: Stage, kills: int, issues: int = 40) -> Figures:
    """SIGKILL an import that cannot get a third of the files, while the server runs.

    Run again, it leaves each issue once, with its comment and the file that its text shows.
    """
    server, chance, killed = GitLabServer(), random.Random(20261126), 0
    titles = [stage.ledger.title() for _ in range(issues)]
    settings = stage.settings | {"GITLAB_TOKEN": "t0ken"}
    given = environment(stage.directory / "instance", stage.port, **settings)
    where = ("--url", server.url, "--project", "LOAD", "--no-history", "--as", "ada")
    command = (*COMMAND[:-1], "import", "gitlab", NAME, *where)
    try:
        for number, title in enumerate(titles):
            text = f"[file](/uploads/{SECRET}/{number}.txt)"
            server.issue(number, title=title, description=text, user_notes_count=1)
            server.part(number, "notes", body="Said", author=person("root"), system=False)
        files = {f"{UPLOADS}/{one}.txt": Reply(raw=b"file %d" % one) for one in range(issues)}
        for _ in range(10 * kills):
            gone = chance.sample(sorted(files), issues // 3)
            server.files = files | dict.fromkeys(gone, Reply({}, 404))
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(command, cwd=ROOT, env=given, **silent) as running:
                # An import resumed after a kill may send fewer requests and finish by itself.
                at = len(server.asked) + chance.randrange(1, REQUESTS * issues)
                while len(server.asked) < at and running.poll() is None:
                    time.sleep(0.002)
                running.kill()
            killed += is_killed(running.returncode)
            if killed == kills:
                break
        expect(killed == kills, f"{killed} imports of {kills} were killed")
        server.files = files
        for _ in range(2):
            done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, check=False)
            expect(done.returncode == 0, f"an import ended with {done.stderr.decode()[-300:]}")
    finally:
        server.close()
    with stage.engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(sa.text(ROWS))]
    found = sorted(title for _, title, *_ in rows)
    expect(found == sorted(titles), f"{len(found)} tickets of {issues} issues")
    odd = [row for row in rows if "(/files/" not in row[2] or row[3:] != (1, 1)]
    expect(not odd, f"tickets without their file or comment, or with two: {odd[:3]}")
    left = list((stage.directory / "instance" / "imports").glob("*"))
    expect(not left, f"an import that is done left {left}")
    stage.ledger.tickets |= {str(one): title for one, title, *_ in rows}
    return {"issues": issues, "killed": killed}
