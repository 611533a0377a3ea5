"""The seed's external crawler, each request and reply in its own spelling: POST
/task, PATCH status, upload, status, login, token and clear without tickets
(external.oauth_compat), `oauth` without `token`, and the seed's JavaScript in
Chromium with jQuery.

usage: external_seed.sh PROGRAM
"""
import calendar

from console_server import Browser
from external_front import *

CLIENT = ("client", "secret")
PARAMS = {"kind": "a"}
JQUERY = ("jquery", "3.7.1")
NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


class SeedDoor(External):
    """`source`: the address that requests come from, since calls without
    tickets are limited by it."""
    source = "127.0.0.1"

    def connection(self):
        return http.client.HTTPConnection(
            "127.0.0.1", self.http_port, timeout=60,
            source_address=(self.source, 0))


class BackEnd(Back):
    """Tasks are at the seed's address."""

    def endpoint(self, fid):
        return f"{self.base}/actions/tasks/{fid}"


class Page(Front):
    """A plain HTTP page on loopback: Chromium names it as Referer to plain HTTP,
    which it does not from https."""

    def __init__(self):
        super().__init__(secure=False)

    def answer(self, request):
        request.say(200, "<!doctype html><title>Front end</title>"
                    "<h1>Front end</h1>")


class Place:
    def __init__(self):
        self.api, self.back = Api(), BackEnd()
        self.front = Page()
        tenant = Tenant("acme", self.back, "acme", self.front.base)
        data = os.path.join(PLACE, "seed")
        tenant.token = token(data, "acme-be")
        self.provider = Rotating("steady", CLIENT, None)
        place = connectors("connectors", self.api.connector(), put(
            "steady.json", declaration("steady", self.provider.base,
                                       self.provider.oauth())))
        files = [put("backends.json", [tenant.entry()]), put("clients.json", {
            "steady": {"client_id": CLIENT[0], "client_secret": CLIENT[1]}})]
        for f in files:
            os.chmod(f, 0o600)
        self.door = SeedDoor(
            "seed", place, "external.backends_file=" + files[0],
            "external.clients_file=" + files[1],
            "external.oauth_compat=steady",
            "fetch.ca_file=" + CERTIFICATE[0], "fetch.allow_private=on",
            data=data)
        self.door.token = tenant.token
        self.base = f"http://127.0.0.1:{self.door.http_port}/external"
        self.oauth = self.base + "/steady/oauth"
        self.provider.redirect_uri = self.oauth + "/callback"
        self.calls = 1

    def call(self, method, path, **fields):
        """An OAuth call of the seed, from an address of its own, without a
        token: (status, JSON or text)."""
        self.calls += 1
        self.door.source = f"127.0.2.{self.calls}"
        held, self.door.token = self.door.token, None
        try:
            return self.door.ask(method, "/external/steady/oauth" + path,
                                 **fields)
        finally:
            self.door.token, self.door.source = held, "127.0.0.1"


# ---- Tasks ---------------------------------------------------------------------------

def start_a_task(p):
    fid = "task_object_id"
    code, said = p.door.ask(
        "POST", "/external/things/task?version=3", {
            "fid": fid, "params": PARAMS,
            "endpoint": p.back.endpoint(fid)})
    same("POST /task", (code, said), (200, {
        "success": True, "version": 0, "payload": {
            "callback": f"{p.base}/things/task/{fid}",
            "status": {"code": 0, "message": "New"}}}))
    same("... it is done", p.door.ends(fid), "done")
    same("POST .../upload: each document", p.back.ids(fid),
         list(range(1, 46)))
    same("... at the seed's address", {
        c.path for kind in (UPLOADS, STATUSES) for c in p.back.of(kind, fid)},
        {f"/actions/tasks/{fid}/upload", f"/actions/tasks/{fid}/status"})
    same("POST .../status: its members", {tuple(sorted(c.status)) for c in
                                          p.back.of(STATUSES, fid)},
         {("code", "detail", "message")})
    same("... 102, then 200", [c for i, c in enumerate(p.back.codes(fid))
                               if c != 102 or i == 0], [102, 200])
    code, said = p.door.ask("POST", "/external/things/task?version=3", {
        "fid": "no_endpoint", "params": PARAMS,
        "credential": {"oauth": {"expiry": "expiry_date"}}})
    check("without endpoint: 400", code == 400 and "endpoint" in
          said["messages"][0], said)


def stop_a_task(p):
    p.api.delay_s = 1
    for at in ("/external/things/task/{}/status?version=3", "callback"):
        fid = "stop" + str(len(at))
        payload = p.door.task(fid, p.back.endpoint(fid), PARAMS)
        wait_until(lambda: p.back.of(UPLOADS, fid))
        path = at.format(fid)
        if at == "callback":
            path = urllib.parse.urlsplit(payload["callback"]).path
        code, said = p.door.ask("PATCH", path, {
            "code": 408, "message": "Task is timeout"})
        same(f"PATCH {at}", (code, said), (200, {
            "success": True, "version": 0, "payload": {"status": {
                "code": 408, "message": "Task is timeout"}}}))
        before = len(p.back.of(UPLOADS, fid))
        time.sleep(2)
        same("... no upload follows", len(p.back.of(UPLOADS, fid)), before)
    p.api.delay_s = 0


def codes(p):
    """Each status code of the seed: 0, 102, 200 and 408 were there."""
    p.api.password = "right"
    fid = "fails"
    p.door.task(fid, p.back.endpoint(fid), PARAMS)
    same("a source that refuses: failed", p.door.ends(fid), "failed")
    last = p.back.of(STATUSES, fid)[-1].status
    check("... 500 with message and detail", last["code"] == 500 and
          last["message"] and last["detail"], last)
    p.api.password = None


# ---- Signing in ------------------------------------------------------------------------

def sign_in(p):
    query = "?uuid=backend-user&subdomain=acme"
    code, said = p.call("GET", "/token" + query)
    same("GET /token before a login: 404", code, 404)
    v = Visitor({})

    def login(reset, user):
        code, said = p.call("GET", f"/login{query}&reset={reset}", Referer=
                            p.front.base + "/", **NAVIGATION)
        where = p.door.fields["Location"]
        cookie = p.door.fields["Set-Cookie"].split(";")[0]
        same(f"GET /login, reset={reset}: to the provider", (
            code, where.split("?")[0]), (302, p.provider.base +
                                         "/authorize"))
        back = v.answer(v.follow(where), user)
        code, said = p.call("GET", back.removeprefix(p.oauth), Cookie=cookie,
                            **NAVIGATION)
        same("... the page that closes the popup", (code, p.door.fields[
            "Content-Type"].split(";")[0], said.count(
                "<script>window.close()</script>")), (200, "text/html", 1))
        return where

    login("0", "ada")
    code, said = p.call("GET", "/token" + query)
    same("GET /token: what it must have, and may have", (code, sorted(said)), (
        200, ["email_address", "expiry", "issued", "reported_name", "token",
              "user"]))
    same("... the provider's user", (said["user"], said["reported_name"],
                                     said["email_address"]),
         ("id-ada", "Ada", "ada@example.org"))
    kept = said
    where = login("1", "grace")
    check("reset=1 asks for an account", "prompt=select_account" in where,
          where)
    code, said = p.call("GET", "/token" + query)
    same("... another one", (said["user"], said["token"] != kept["token"]),
         ("id-grace", True))
    for missing in ("uuid", "subdomain"):
        code, answer = p.call("GET", "/token?" + "&".join(
            x for x in query[1:].split("&") if not x.startswith(missing)))
        check(f"without {missing}: 400", code == 400 and missing in
              answer["messages"][0], answer)
    same("a subdomain of nobody: 403", p.call(
        "GET", "/token?uuid=backend-user&subdomain=x")[0], 403)
    return said


def task_with_oauth(p, oauth):
    """The seed's credential has no token: it is found by user and date."""
    seconds = calendar.timegm(time.strptime(oauth["issued"],
                                            "%Y-%m-%dT%H:%M:%SZ"))
    for name, date in (("ISO 8601", oauth["issued"]), ("seconds", seconds),
                       ("milliseconds", seconds * 1000)):
        fid = "oauth-" + name.split()[0]
        given = {"expiry": oauth["expiry"], "issued": date,
                 "user": oauth["user"],
                 "reported_name": oauth["reported_name"],
                 "email_address": oauth["email_address"]}
        code, said = p.door.ask(
            "POST", "/external/steady/task?version=1", {
                "fid": fid, "params": {}, "credential": {"oauth": given},
                "endpoint": p.back.endpoint(fid)})
        if not same(f"oauth without token, its date in {name}", code, 200):
            note(said)
            continue
        same("... done", p.door.ends(fid, connector="steady"), "done")
        same("... documents of that user", {d["name"].split()[0] for d in
             p.back.stored[fid].values()}, {"grace"})
    for name, change in (("another user", {"user": "id-ada"}),
                         ("another date", {"issued": seconds - 1000})):
        code, said = p.door.ask(
            "POST", "/external/steady/task?version=1", {
                "fid": "no", "params": {}, "credential": {"oauth": {
                    **oauth, "token": None, **change}},
                "endpoint": p.back.endpoint("no")})
        check(f"... of {name}: 400", code == 400 and "credential" in
              said["messages"][0], (code, said))


def clear(p):
    query = "?uuid=backend-user&subdomain=acme"
    for again in ("", ", again"):
        same("DELETE /token" + again, p.call("DELETE", "/token" + query), (
            200, {"success": True, "payload": {}, "version": 0}))
        same("... then GET is 404", p.call("GET", "/token" + query)[0], 404)


def limit(p):
    """Calls without tickets: 10 a minute of an address, and of a user."""
    def ask(uuid, source):
        p.door.source = source
        held, p.door.token = p.door.token, None
        code = p.door.ask("GET", "/external/steady/oauth/token?uuid="
                          f"{uuid}&subdomain=acme")[0]
        p.door.token = held
        return code

    same("10 calls of an address", [ask(f"l{i}", "127.0.3.1")
                                    for i in range(11)], [404] * 10 + [429])
    check("... says when the next is allowed", 0 < int(p.door.fields[
        "Retry-After"]) <= 60, p.door.fields["Retry-After"])
    same("10 calls of a user", [ask("one", f"127.0.4.{i + 1}")
                                for i in range(11)], [404] * 10 + [429])
    p.door.source = "127.0.0.1"
    check("... each is logged", "oauth_compat" in p.door.said(),
          p.door.said()[-300:])


# ---- jQuery ------------------------------------------------------------------------------

def jquery(p, browser):
    place = npm_package(*JQUERY)
    if place is None:
        skip("the seed's JavaScript", "jQuery cannot be had from npm")
        return
    p.url = p.front.base
    stranger = Page()
    more = {"jquery": place + "/dist/jquery.js",
            "rules": "EXCLUDE localhost,",
            "oauth_end_point": p.oauth, "uuid": "jquery-user",
            "subdomain": "acme", "door": p.base.rsplit("/", 1)[0],
            "stranger": stranger.base}
    p.api.delay_s = 2
    browser.drive("backend", p, **more, fid="jquery_task",
                  EC_end_point=p.base + "/things", external_crawler_version=1,
                  endpoint=p.back.endpoint("jquery_task"), credential={
                      "user": "ada", "password": "custom"},
                  headers={"Authorization": "Bearer " + p.door.token})
    p.api.delay_s = 0
    same("... the task is stopped", p.door.ends("jquery_task"), "timeout")
    browser.drive("frontend", p, **more)
    browser.drive("stranger", p, **more)


def main():
    browser = Browser("external_seed")
    p = Place()
    jquery(p, browser)
    start_a_task(p)
    stop_a_task(p)
    codes(p)
    oauth = sign_in(p)
    task_with_oauth(p, oauth)
    clear(p)
    limit(p)
    same("it ends", p.door.stop(), 0)
    done()


main()
