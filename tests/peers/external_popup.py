"""Signing in by a popup, end to end in Chromium: a front end opens the popup as
the seed's does, users answer at oidc-provider (npm), at an OAuth 2.0 provider
with rotation and at one of OAuth 1.0a, the back end starts tasks with the
tokens, and documents of these users arrive.  Then expiry and refresh, another
account, two popups at once, links, frames, clearing, crashes, faults of a
provider, and tasks of another back end.

CONSOLE_SHOTS=FOLDER keeps the screenshots.

usage: external_popup.sh PROGRAM
"""
import queue

from console_server import Browser
from external_front import *

CLIENT = ("argiope & co", "s+cr/et:=%41")
ACCESS_S = 6                     # the life of an access token that is refreshed


class Place:
    """Sites, a daemon, and a browser."""

    def __init__(self, browser):
        self.browser = browser
        self.back, self.beta_back = Back(), Back()
        self.acme = Tenant("acme", self.back, "acme", "https://" + FRONT)
        self.beta = Tenant("beta", self.beta_back, "beta",
                           "https://beta.example.org")
        self.front, self.mail = Front(FRONT, self.acme), Front(MAIL)

        def callback(name):
            return oauth_url(name, "/callback")

        self.rotating = Rotating("rotating", CLIENT,
                                 callback("rotating"), ACCESS_S, 3000)
        self.steady = Rotating("steady", CLIENT,
                               callback("steady"))
        self.signed = Signed("signed", CLIENT, callback("signed"))
        self.oidc = OidcProvider([{
            "client_id": CLIENT[0], "client_secret": CLIENT[1],
            "redirect_uris": [callback("oidc")]}], ACCESS_S)
        declared = [declaration(s.label, s.base, s.oauth(),
                                "oauth1" if s is self.signed else "bearer")
                    for s in (self.rotating, self.steady, self.signed)]
        if self.oidc.tools:
            declared += [
                declaration("oidc", self.oidc.base, self.oidc.oauth()),
                declaration("oidc_self", self.oidc.base, self.oidc.oauth(
                    register={"form": "rfc7591",
                              "url": self.oidc.base + "/reg"}))]
        client = dict(zip(("client_id", "client_secret"), CLIENT))
        self.door = SigningDoor(
            "door", connectors("connectors", *(put(d["name"] + ".json", d)
                                               for d in declared)),
            [self.acme, self.beta],
            {d["name"]: client for d in declared if "register" not in
             d["oauth"]}, [self.front, self.mail])
        self.url = self.front.base
        self.parts, self.ended = queue.Queue(), threading.Event()
        self.session = threading.Thread(target=self.browse, daemon=True)
        self.session.start()

    def drive(self, part, **more):
        """Let the browser do a part."""
        ended = threading.Event()
        self.parts.put((ended, {"part": part, **more}))
        while not ended.wait(1):
            if not self.session.is_alive():
                check(f"{part} is done", False, "the browser has ended")
                done()

    def browse(self):
        """On a thread of its own, since a browser starts slowly."""
        def next_part():
            self.ended.set()
            self.ended, part = self.parts.get()
            return part

        self.browser.drive("session", self, {"next": next_part},
                           rules=self.door.rules(), mail=self.mail.base)

    def end_browser(self):
        self.parts.put((self.ended, {}))
        self.session.join(30)

    def login(self, connector, provider, site, uuid, **more):
        self.drive("login", connector=connector, provider=provider,
                   site=site.base, end=oauth_url(connector), uuid=uuid, **more)

    def user_has(self, connector, uuid, account, name=None):
        """GET /token by the back end's ticket; what the front end has is the
        same."""
        code, said = self.door.oauth(self.acme, connector, uuid)
        same(f"{connector}: the token's user", (code, said.get("user"),
             said.get("reported_name")), (200, account, name))
        same("... as the front end has it", self.front.crawlers[
            connector, uuid], said)
        return said

    def documents(self, fid, connector, uuid, user, n=ITEMS, seconds=60):
        """A task with the token that the front end got, to its end."""
        self.door.task(fid, self.back.endpoint(fid), {}, connector,
                       credential={"oauth": self.front.crawlers[connector,
                                                                uuid]})
        same(f"{connector}: the task {fid}", self.door.ends(
            fid, seconds, connector=connector), "done")
        stored = self.back.stored.get(fid, {})
        same("... documents of that user", [stored[i]["name"] for i in sorted(
            stored)], [f"{user} {i}" for i in range(1, n + 1)])


# ---- Providers, each from login to clear -----------------------------------------

def oidc(p):
    if not p.oidc.tools:
        skip("oidc-provider", "it cannot be had from npm")
        return
    p.login("oidc", "oidc", p.oidc, "u1", user="ada", account="ada",
            other="grace", otherAccount="grace")
    said = p.user_has("oidc", "u1", "grace", "User grace")
    same("... its address", said["email_address"], "grace@example.org")
    p.documents("o1", "oidc", "u1", "grace")
    time.sleep(ACCESS_S + 1)
    p.documents("o2", "oidc", "u1", "grace")
    check("the provider has refreshed tokens", p.oidc.count(
        "refresh_token.consumed") > 0, p.oidc.events()[-5:])
    same("... and no grant failed", p.oidc.count("grant.error"), 0)
    p.drive("clear", connector="oidc", end=oauth_url("oidc"), uuid="u1")
    check("... clearing revokes at the provider", wait_until(
        lambda: p.oidc.count("grant.revoked") > 0 or p.oidc.count(
            "refresh_token.destroyed") > 0, 20), p.oidc.events()[-5:])
    p.login("oidc_self", "oidc", p.oidc, "u1", user="ada", account="ada")
    same("a client that registers itself did so once", (p.oidc.count(
        "registration_create.success"), p.oidc.count(
            "registration_create.error")), (1, 0))
    p.documents("o3", "oidc_self", "u1", "ada")
    p.drive("refuse", connector="oidc", end=oauth_url("oidc"), uuid="u2",
            provider="oidc", site=p.oidc.base)
    same("oidc-provider met no fault", p.oidc.count("server_error"), 0)


def rotating(p):
    p.login("rotating", "own", p.rotating, "u1", user="ada", account="id-ada",
            other="grace", otherAccount="id-grace")
    check("switching revokes the token before", wait_until(
        lambda: p.rotating.revoked, 20))
    said = p.user_has("rotating", "u1", "id-grace", "Grace")
    issued, ends = [time.mktime(time.strptime(
        said[k], "%Y-%m-%dT%H:%M:%SZ")) for k in ("issued", "expiry")]
    check("... expires with its refresh token", abs(ends - issued - 3000) < 10,
          said)
    p.documents("r1", "rotating", "u1", "grace")
    time.sleep(ACCESS_S + 1)
    p.documents("r2", "rotating", "u1", "grace")
    check("an expired access token was refreshed", p.rotating.refreshes > 0)
    p.rotating.delay_s = ACCESS_S / 2 + 0.5
    p.documents("r3", "rotating", "u1", "grace")
    p.rotating.delay_s = 0
    same("no refresh token was used twice", (p.rotating.repeated,
                                             p.rotating.faults), (0, []))
    same("the handle stays", p.door.oauth(p.acme, "rotating", "u1")[1][
        "token"], said["token"])
    p.door.restart(kill=True)
    same("... over a crash, too", p.door.oauth(p.acme, "rotating", "u1")[1][
        "token"], said["token"])
    p.documents("r4", "rotating", "u1", "grace")
    withdrawn(p)
    cleared(p)


def withdrawn(p):
    """The user withdraws at the provider."""
    p.rotating.end_user("grace")
    time.sleep(ACCESS_S + 1)
    oauth = p.front.crawlers["rotating", "u1"]
    code, said = p.door.ask("POST", "/external/rotating/task", {
        "fid": "w1", "endpoint": p.back.endpoint("w1"), "params": {},
        "credential": {"oauth": oauth}})
    if code == 200:
        same("a grant that was withdrawn: the task fails", p.door.ends(
            "w1", connector="rotating"), "failed")
        last = p.back.of(STATUSES, "w1")[-1].status
        check("... and says who must act", last["code"] == 500 and
              last["detail"].startswith("config: ") and "sign in again" in
              last["detail"], last)
    else:
        check("a grant that was withdrawn: 400", code == 400 and
              "credential" in said["messages"][0], said)
    same("... GET /token: 404", p.door.oauth(p.acme, "rotating", "u1")[0],
         404)


def cleared(p):
    """The user disconnects while a task runs."""
    v = p.door.visitor()
    v.sign_in(p.acme, "rotating", "u3", "linus")
    oauth = p.door.oauth(p.acme, "rotating", "u3")[1]
    p.rotating.delay_s, p.rotating.items = 0.5, 1000
    p.door.task("c1", p.back.endpoint("c1"), {}, "rotating",
                credential={"oauth": oauth})
    wait_until(lambda: p.back.of(UPLOADS, "c1"), 20)
    before = len(p.rotating.revoked)
    p.drive("clear", connector="rotating", end=oauth_url("rotating"),
            uuid="u3")
    same("clearing closes the task", p.door.ends("c1", connector="rotating"),
         "failed")
    last = p.back.of(STATUSES, "c1")[-1].status
    check("... and says why", last["code"] == 500 and
          last["detail"].startswith("config: "), last)
    check("... and revokes at the provider", wait_until(
        lambda: len(p.rotating.revoked) > before, 20))
    p.rotating.delay_s, p.rotating.items = 0, ITEMS
    code, said = p.door.ask("POST", "/external/rotating/task", {
        "fid": "c2", "endpoint": p.back.endpoint("c2"), "params": {},
        "credential": {"oauth": oauth}})
    check("... its handle opens no task", code == 400 and "credential" in
          said["messages"][0], (code, said))


def signed(p):
    p.login("signed", "own", p.signed, "u1", user="ada", account="id-ada",
            other="grace", otherAccount="id-grace")
    said = p.user_has("signed", "u1", "id-grace", "Grace")
    check("... never expires", said["expiry"].startswith("9999-12-31"), said)
    p.documents("s1", "signed", "u1", "grace")
    p.door.restart()
    p.documents("s2", "signed", "u1", "grace")
    same("each signature was right", p.signed.faults, [])
    p.drive("refuse", connector="signed", end=oauth_url("signed"), uuid="u2",
            provider="own", site=p.signed.base)
    same("clear", p.door.clear(p.acme, "signed", "u1")[0], 200)
    same("... then 404", p.door.oauth(p.acme, "signed", "u1")[0], 404)


# ---- Several at once ---------------------------------------------------------------

def two_popups(p):
    both = [{"uuid": "two" + user, "user": user, "account": "id-" + user}
            for user in ("ada", "grace")]
    p.drive("two", connector="steady", end=oauth_url("steady"), both=both)


# ---- Crashes, faults, other back ends ------------------------------------------------

def crashes(p):
    v = p.door.visitor()
    page = v.begin(p.acme, "steady", "crash")
    used = p.acme.ticket("steady", "crash")

    def login():
        return v.ask(v.login_url(p.acme, "steady", "crash", ticket=used),
                     referer=p.acme.origin + "/")[0]

    same("a ticket is used", login(), 302)
    p.door.restart(kill=True)
    same("... also after a crash", login(), 403)
    same("a login goes on over a crash", (
        v.ask(v.answer(page, "ada"))[0],
        p.door.oauth(p.acme, "steady", "crash")[1].get("user")),
         (200, "id-ada"))


def faults(p):
    def after(name, **change):
        v = p.door.visitor()
        back = v.answer(v.begin(p.acme, "steady", "fault"), "ada")
        for k, x in change.items():
            setattr(p.steady, k, x)
        code, fields, text = v.ask(back)
        for k in change:
            setattr(p.steady, k, None)
        check(f"{name}: a page in words", code >= 400 and "text/html" in
              fields["Content-Type"] and "window.close" not in text, code)
        same("... no token", p.door.oauth(p.acme, "steady", "fault")[0], 404)

    stranger = Front()
    after("a provider whose /token fails", token_status=500)
    after("... redirects", token_redirect=stranger.base + "/token")
    same("... which is not followed", stranger.requests, [])
    after("... is no JSON", token_text="<html>")
    after("... sends 2 MiB", token_text=json.dumps({"x": "x" * (2 << 20)}))
    after("... whose profile refuses", profile_status=401)


def back_ends(p):
    """Handles are of use to the back end and the connector that they are of."""
    v = p.door.visitor()
    v.sign_in(p.acme, "steady", "shared", "ada")
    oauth = p.door.oauth(p.acme, "steady", "shared")[1]
    w = p.door.visitor()
    w.ask(w.answer(w.follow(w.login_url(p.beta, "steady", "shared"),
                            referer=p.beta.origin + "/"), "grace"))
    same("two back ends, one uuid: two users", [p.door.oauth(
        t, "steady", "shared")[1]["user"] for t in (p.acme, p.beta)],
        ["id-ada", "id-grace"])

    def task(tenant, oauth, fid, connector="steady"):
        code, said = p.door.ask("POST", f"/external/{connector}/task", {
            "fid": fid, "endpoint": tenant.back.endpoint(fid), "params": {},
            "credential": {"oauth": oauth}}, tenant.token)
        return code, "credential" in str(said.get("messages"))

    same("another's handle: 400", task(p.beta, oauth, "b1"), (400, True))
    same("another's user and date: 400", task(p.beta, {
        k: oauth[k] for k in ("user", "issued")}, "b2"), (400, True))
    same("a handle of another connector: 400", task(
        p.acme, oauth, "b3", "signed"), (400, True))
    same("an invented handle: 400", task(p.acme, {
        **oauth, "token": "argt_" + "A" * 43}, "b4"), (400, True))
    same("a provider's token: 400", task(p.acme, {
        **oauth, "token": p.steady.tokens()[0]}, "b5"), (400, True))
    same("the handle, here: 200", task(p.acme, oauth, "b6")[0], 200)
    same("... done", p.door.ends("b6", connector="steady"), "done")
    p.door.clear(p.beta, "steady", "shared")
    same("the other clears its own", p.door.oauth(p.acme, "steady",
                                                  "shared")[1], oauth)


# ---- Links, frames, pictures ---------------------------------------------------------

def foreign_pages(p):
    v = p.door.visitor()
    v.sign_in(p.acme, "steady", "mailed", "ada")
    asked = p.steady.asked("/authorize")
    p.drive("mailed", connector="steady", end=oauth_url("steady"),
            site=p.steady.base, title="Items of steady", name="Ada Lovelace",
            url=v.login_url(p.acme, "steady", "mailed", reset=1))
    same("... until then nothing was asked", p.steady.asked("/authorize"),
         asked + 1)
    v.sign_in(p.acme, "steady", "held", "ada")
    before = p.door.oauth(p.acme, "steady", "held")
    urls = [v.login_url(p.acme, "steady", "held", reset=1) for _ in range(4)]
    revoked = len(p.steady.revoked)
    p.drive("held", connector="steady", site=p.steady.base, urls=urls,
            title="Items of steady")
    same("... and resets nothing", (p.door.oauth(p.acme, "steady", "held"),
                                    len(p.steady.revoked)),
         (before, revoked))


def shots(p):
    v = p.door.visitor()
    v.sign_in(p.acme, "steady", "shots", "ada")
    p.drive("shots", pages=[
        ["confirm", v.login_url(p.acme, "steady", "other")],
        ["confirm-reset", v.login_url(p.acme, "steady", "shots", reset=1)],
        ["closing", v.login_url(p.acme, "steady", "shots")],
        ["error-ticket", v.login_url(p.acme, "steady", "x", ticket="wrong")],
        ["error-state", oauth_url("steady", "/callback?code=x&state=x")]])


def main():
    browser = Browser("external_popup")
    p = Place(browser)
    oidc(p)
    rotating(p)
    signed(p)
    two_popups(p)
    foreign_pages(p)
    shots(p)
    p.end_browser()
    crashes(p)
    faults(p)
    back_ends(p)
    secrets_ = [CLIENT[1], *p.rotating.tokens(), *p.steady.tokens(),
                *p.signed.tokens(), *p.rotating.codes, *p.steady.codes]
    with open(p.door.log, errors="replace") as f:
        log = f.read()
    same("no secret in the log", [s for s in secrets_ if s in log], [])
    same("... and no handle", re.findall(r"argt_\w+", log), [])
    same("it ends", p.door.stop(), 0)
    done()


main()
