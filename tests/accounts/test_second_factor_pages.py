"""Codes on pages: the second step of the login, the profile, and the page of people."""

import pytest

from app.core import clock
from tests.accounts.helpers import API, PASSWORD, new_human, set_up, try_login
from tests.accounts.second_factors import WRONG, Phone

pytestmark = pytest.mark.usefixtures("still")


class TestPages:
    """The login page asks for the code in a separate step."""

    def first_step(self, client, **form):
        return client.post("/login", data={"username": "ada", "password": PASSWORD, **form})

    def second_step(self, client, code, **form):
        return client.post("/login", data={"code": code, **form})

    def test_a_login_in_two_steps(self, app, admin, phone, client):
        answer = self.first_step(client, next="/tickets")
        assert (answer.status_code, "Enter a code" in answer.text) == (200, True)
        assert client.get_cookie("app_session") is None
        step = next(one for one in answer.headers.getlist("Set-Cookie") if "app_login_step" in one)
        assert "HttpOnly" in step
        assert "SameSite=Lax" in step
        assert "Max-Age=300" in step
        assert client.get("/tickets").status_code == 401
        for code in (WRONG, "", " "):
            wrong = self.second_step(client, code, next="/tickets")
            assert (wrong.status_code, "Enter a code" in wrong.text) == (422, True)
            assert "The code is incorrect" in wrong.text, code
        done = self.second_step(client, phone.code(), next="/tickets")
        assert (done.status_code, done.location) == (303, "/tickets")
        assert client.get("/tickets").status_code == 200
        assert client.get_cookie("app_login_step") is None

    @pytest.mark.parametrize("end", ["late", "password", "forged", "none", "inactive"])
    def test_a_step_ends(self, app, admin, phone, client, monkeypatch, end):
        self.first_step(client)
        if end == "late":
            later = clock.now_ms() + 6 * 60_000
            monkeypatch.setattr("app.accounts.login.now_ms", lambda: later)
        elif end == "password":
            body = {"current_password": PASSWORD, "new_password": "another horse battery"}
            answer = admin.post(
                f"{API}/auth/change-password", json=body, headers={"X-Requested-By": "web"}
            )
            assert answer.status_code == 204
        elif end == "forged":
            client.set_cookie("app_login_step", "ab" * 40)
        elif end == "inactive":
            new_human(admin, "grace")
            me = admin.get(f"{API}/auth/me").json["id"]
            assert admin.patch(f"{API}/users/{me}", json={"is_active": False}).status_code == 200
        else:
            client.delete_cookie("app_login_step")
        answer = self.second_step(client, phone.code())
        assert (answer.status_code, "Enter your password again" in answer.text) == (422, True)
        assert 'name="password"' in answer.text
        assert client.get("/tickets").status_code == 401

    def test_guessing_in_the_second_step_is_limited(self, app, admin, phone, client):
        self.first_step(client)
        for _ in range(5):
            assert self.second_step(client, WRONG).status_code == 422
        answer = self.second_step(client, phone.code())
        assert (answer.status_code, "Too many attempts" in answer.text) == (429, True)

    def test_a_link_to_choose_a_password_replaces_no_code(self, app, admin, phone, client):
        new_human(admin, "grace")
        other = app.test_client()
        assert try_login(other, "grace").status_code == 200
        ada = admin.get(f"{API}/auth/me").json["id"]
        page = other.post(f"/people/{ada}/link").text
        link = page.partition('value="http')[2].partition('"')[0]
        path = link[link.index("/password/") :]
        answer = client.post(path, data={"password": "another horse battery"})
        assert (answer.status_code, "Enter a code" in answer.text) == (200, True)
        assert client.get("/tickets").status_code == 401
        assert self.second_step(client, phone.code()).status_code == 303
        assert client.get("/tickets").status_code == 200

    def test_the_profile_turns_it_on_and_off(self, app, client):
        admin = set_up(app)
        assert "/profile/two-factor" in admin.get("/profile").text
        assert "Off" in admin.get("/profile/two-factor").text
        wrong = admin.post("/profile/two-factor", data={"current_password": "x"})
        assert (wrong.status_code, "incorrect" in wrong.text) == (422, True)
        asked = admin.post("/profile/two-factor", data={"current_password": PASSWORD})
        assert '<svg viewBox="0 0' in asked.text
        secret = asked.text.partition('id="secret" value="')[2].partition('"')[0].replace(" ", "")
        phone = Phone(secret)
        again = admin.post("/profile/two-factor/confirm", data={"code": WRONG})
        assert (again.status_code, secret[:4] in again.text) == (422, True)
        phone.step -= 1
        shown = admin.post("/profile/two-factor/confirm", data={"code": phone.code()})
        codes = shown.text.partition("readonly>")[2].partition("<")[0].split()
        assert len(codes) == 10
        assert shown.headers["Cache-Control"] == "no-store, no-transform"
        page = admin.get("/profile/two-factor").text
        assert "10 of 10 recovery codes" in page
        assert codes[0] not in page
        form = {"current_password": PASSWORD, "code": phone.code()}
        made = admin.post("/profile/two-factor/recovery-codes", data=form)
        assert "no longer work" in made.text
        assert codes[0] not in made.text
        form["code"] = WRONG
        assert admin.post("/profile/two-factor/disable", data=form).status_code == 422
        form["code"] = phone.code()
        assert admin.post("/profile/two-factor/disable", data=form).status_code == 303
        assert "Off" in admin.get("/profile/two-factor").text

    def test_teammates_reset_it_on_the_page_of_people(self, app, admin, phone):
        new_human(admin, "grace")
        other = app.test_client()
        assert try_login(other, "grace").status_code == 200
        assert "Reset two-factor" in other.get("/people").text
        ada = admin.get(f"{API}/auth/me").json["id"]
        assert other.post(f"/people/{ada}/two-factor").location == "/people"
        assert "Reset two-factor" not in other.get("/people").text
        assert other.post(f"/people/{ada}/two-factor").status_code == 409

    def test_the_dialog_of_a_page_whose_session_ended_asks_for_the_code(self, admin, phone, client):
        htmx = {"HX-Request": "true"}
        form = {"username": "ada", "password": PASSWORD}
        answer = client.post("/login", data=form, headers=htmx)
        assert 'id="again-title"' in answer.text
        assert 'name="code"' in answer.text
        answer = client.post("/login", data={"code": phone.code()}, headers=htmx)
        assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/")
