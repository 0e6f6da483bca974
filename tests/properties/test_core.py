"""Properties of the core, over arbitrary inputs."""

import json
import string
from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import ids, json_parsing, logs
from app.core.clock import LATEST_MS, iso
from app.core.errors import InvalidField
from app.core.etag import etag, matches
from app.database import pagination
from app.database.pagination import Cursor

UUIDS = st.uuids().map(str)
MOMENTS = st.integers(min_value=0, max_value=(1 << 53) - 1)
CURSORS = st.builds(Cursor, kind=st.sampled_from(["ticket", "label"]), id=UUIDS, at=MOMENTS)
BASE64 = string.ascii_letters + string.digits + "-_"
TOKENS = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=32, max_size=32).map(
    lambda rest: f"app_{rest}"
)


@given(CURSORS)
def test_a_cursor_comes_back_as_it_was(cursor):
    text = pagination.encode(cursor)
    assert set(text) <= set(BASE64)
    assert pagination.decode(text, cursor.kind) == cursor


@given(CURSORS, st.data())
def test_an_altered_cursor_is_refused_or_another_exact_one(cursor, data):
    text = pagination.encode(cursor)
    place = data.draw(st.integers(0, len(text) - 1))
    change = data.draw(st.sampled_from(["replace", "insert", "drop", "cut"]))
    letter = data.draw(st.sampled_from(BASE64 + "=+/ \n\x00é"))
    altered = {
        "replace": text[:place] + letter + text[place + 1 :],
        "insert": text[:place] + letter + text[place:],
        "drop": text[:place] + text[place + 1 :],
        "cut": text[:place],
    }[change]
    if altered == text:
        return
    with suppress(InvalidField):
        found = pagination.decode(altered, cursor.kind)
        # Cursors are verified, not signed: this may be another cursor, but not another spelling.
        assert found != cursor
        assert pagination.encode(found) == altered


@given(CURSORS)
def test_a_cursor_of_another_kind_is_refused(cursor):
    with pytest.raises(InvalidField):
        pagination.decode(pagination.encode(cursor), "audit_event")


@given(st.one_of(st.text(), st.text(BASE64, max_size=600)))
def test_no_text_breaks_the_reading_of_cursors(text):
    with pytest.raises(InvalidField):
        pagination.decode(text, "ticket")


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(1 << 53), 1 << 53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"])),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    ),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_plain_json_is_read_as_it_is(value, ascii_only):
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert json_parsing.loads(raw) == value


@given(st.one_of(st.binary(), st.text('{}[]",:\\u0d8tfn 1e-.', max_size=80).map(str.encode)))
def test_any_bytes_are_read_or_refused(raw):
    with suppress(json_parsing.JsonInvalid):
        found = json_parsing.loads(raw)
        # Parsed values can be stored and serialized again, and other parsers read them the same.
        assert orjson.loads(orjson.dumps(found)) == found
        assert json.loads(raw) == found


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 9)), min_size=1, max_size=6))
def test_an_object_is_refused_where_a_key_comes_twice(pairs):
    inner = ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs)
    raw = f"{{{inner}}}".encode()
    names = [key for key, _ in pairs]
    if len(set(names)) == len(names):
        assert json_parsing.loads(raw) == dict(pairs)
    else:
        with pytest.raises(json_parsing.JsonInvalid):
            json_parsing.loads(raw)


@given(st.integers(1, 70), st.sampled_from(["[", '{"a":']))
def test_nesting_is_read_to_the_limit_and_no_deeper(depth, opening):
    closing = "]" if opening == "[" else "}"
    raw = (opening * depth + "1" + closing * depth).encode()
    if depth <= json_parsing.MAX_DEPTH:
        json_parsing.loads(raw)
    else:
        with pytest.raises(json_parsing.JsonInvalid):
            json_parsing.loads(raw)


@given(st.text(), TOKENS, st.text())
def test_no_text_lets_a_token_through(before, token, after):
    assert token not in logs.scrub(f"{before}{token}{after}")


@given(st.text(string.ascii_letters + string.digits + "._-", min_size=1))
def test_no_mcp_address_lets_its_token_through(segment):
    scrubbed = logs.scrub(f'"POST /mcp/bot/{segment}/mcp HTTP/1.1" 404')
    assert scrubbed == '"POST /mcp/bot/<redacted>/mcp HTTP/1.1" 404'


@pytest.mark.parametrize("name", ["app_session", "app_login_step", "app_oidc", "app_oidc_xN-_4"])
def test_no_cookie_lets_its_value_through(name):
    assert logs.scrub(f"x; {name}=canary; y=z") == f"x; {name}=<redacted>; y=z"


SECRETS = st.sampled_from(["password", "Token", "SECRET", "api_key", "Private_Key"])


@given(
    st.recursive(
        st.just("canary"),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.dictionaries(SECRETS, inner, min_size=1, max_size=3),
        ),
        max_leaves=8,
    ),
    SECRETS,
)
def test_a_field_with_a_secret_name_hides_all_below_it(value, name):
    assert "canary" not in str(logs.redact({"a": [{name: value}]}))


@given(MOMENTS, UUIDS, MOMENTS, UUIDS)
def test_tags_match_exactly_their_version(moment, identifier, other_moment, other_id):
    tag, other = etag(moment, identifier), etag(other_moment, other_id)
    for header in (tag, tag.removeprefix("W/"), f"{other}, {tag}", "*"):
        assert matches(header, tag)
    assert matches(other, tag) == (tag == other)
    assert matches(f'"x",{other}', tag) == (tag == other)


@given(st.text())
def test_no_header_breaks_the_comparison_of_tags(header):
    assert matches(header, etag(1, "0" * 36)) in (True, False)


@given(st.integers(0, LATEST_MS - 1))
def test_times_sort_as_they_are_shown(moment):
    assert len(iso(moment)) == 24
    assert iso(moment) < iso(moment + 1)


@given(UUIDS)
def test_a_uuid_in_any_case_is_the_same(identifier):
    assert ids.as_uuid(identifier.upper()) == identifier
