"""Trees by RFC 6962, with the vectors of Certificate Transparency, and JSON by RFC 8785."""

import json
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from app.audit import merkle

INPUTS = [
    bytes.fromhex(one)
    for one in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]

pytestmark = pytest.mark.one_database


def test_the_roots_are_those_of_the_standard():
    leaves = [merkle.leaf(one) for one in INPUTS]
    assert [merkle.root(leaves[: size + 1]).hex() for size in range(8)] == ROOTS
    assert merkle.root([]) == sha256(b"").digest()


@pytest.mark.parametrize("size", range(1, 40))
def test_every_path_leads_to_the_root(size):
    leaves = [merkle.leaf(bytes([number])) for number in range(size)]
    for index in range(size):
        node, steps = leaves[index], merkle.path(leaves, index)
        for side, sibling in steps:
            pair = sibling + node if side == "left" else node + sibling
            node = sha256(b"\x01" + pair).digest()
        assert node == merkle.root(leaves)
        assert len(steps) <= 6


def test_numbers_beyond_json_are_text():
    told = {"many": [2**53, -(2**60), 1], "few": 2**53 - 1, "is": True}
    assert json.loads(merkle.canonical(told)) == {
        "many": [str(2**53), str(-(2**60)), 1],
        "few": 2**53 - 1,
        "is": True,
    }


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(_VALUES)
def test_every_value_is_as_the_library_of_the_standard_writes_it(value):
    assert merkle.canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    "value",
    ['\x00\x1f\x7f\x80\u2028\ud7ff\ufb33\U0001f600"\\/', {"\ufb33": 1, "\U0001f600": 2}, 1e21],
)
def test_odd_characters_and_orders_are_those_of_the_standard(value):
    assert merkle.canonical([value]) == rfc8785.dumps([value])


def test_larger_numbers_become_text():
    assert merkle.canonical({"a": [2**53]}) == b'{"a":["9007199254740992"]}'
