"""The operations of the model test can succeed: otherwise it might pass on refusals alone."""

import pytest

from tests.fuzz.adapters import DOORS, Doors
from tests.support.story import state_ids


@pytest.mark.parametrize("door", DOORS)
def test_every_door_leads_through(app, cast, door):
    doors = Doors(cast, cast.open_project)
    first, second = (doors.create(door, "T").answer["id"] for _ in range(2))
    page = doors.make_page(door, "one", "x").answer["id"]
    notes = [doors.make_note(door, "N").answer["id"] for _ in range(2)]
    relation = doors.relate(door, first, "blocks", second)
    done = [
        relation,
        doors.patch(door, first, title="U"),
        doors.claim(door, first),
        doors.transition(door, first, state_ids(cast.ada, cast.open_project)[1]),
        doors.comment(door, first, "C"),
        doors.unrelate(door, first, relation.answer["id"]),
        doors.put_page(door, page, "y"),
        doors.drop_page(door, page),
        doors.convert(door, notes[0]),
        doors.drop_note(door, notes[1]),
        doors.delete(door, first),
    ]
    assert [one.refusal for one in done] == [(None, None)] * len(done)
