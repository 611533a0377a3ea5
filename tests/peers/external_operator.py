"""The external door, by requests of operators: who may make them, lists over
all back ends, the verbs of a task, connectors that are run by hand, and each
back end's last error.

usage: external_operator.sh PROGRAM
"""
from external_door_peer import *

PARAMS = {"kind": "a"}
TASK = "/external/things/task/"


class Door(External):
    """Two back ends and an operator."""

    def __init__(self, place, b, *settings):
        data = os.path.join(PLACE, "operators")
        self.tokens = {name: token(data, name, scope) for name, scope in (
            ("acme", "external:write"), ("other", "external:write"),
            ("operator", "external:write,console:read"),
            ("looker", "external:read,console:read"),
            ("reader", "external:read"))}
        self.entries = [{"name": n, "token": n, "prefix":
                         f"{b.base}/tasks/{n}"} for n in ("acme", "other")]
        self.back = b
        super().__init__("operators", place, "external.backends_file=" +
                         self.put_entries(), *settings)
        self.token = self.tokens["operator"]

    def put_entries(self):
        path = put("backends.json", self.entries)
        os.chmod(path, 0o600)
        return path

    def by(self, name, method, path, body=None):
        return self.ask(method, path, body, self.tokens[name])

    def begin(self, fid, back="acme", connector="things", params=PARAMS,
              **more):
        code, said = self.by(back, "POST", f"/external/{connector}/task", {
            "fid": fid, "endpoint": self.back.endpoint(f"{back}/{fid}"),
            "params": params, **more})
        assert code == 200, said

    def verb(self, fid, verb, body=None, back="acme", connector="things",
             more=""):
        return self.ask("POST", f"/external/{connector}/task/{fid}/{verb}?"
                        f"backend={back}{more}", body)

    def state(self, fid, connector="things", back="acme"):
        return self.look(fid, connector, token=self.tokens[back])["state"]

    def run(self, body, connector="things"):
        """(status, lines)"""
        code, said = self.ask("POST", f"/external/{connector}/run", body)
        if code != 200:
            return code, said
        if isinstance(said, dict):
            return code, [said]
        return code, [json.loads(line) for line in said.splitlines()]


def only(lines, name):
    return [x[name] for x in lines if name in x]


# ---- Who may -----------------------------------------------------------------

VERBS = "cancel", "retry", "redeliver", "reset-cursor"


def rights(s):
    for method, path in (("GET", "/connectors"), ("GET", "/external"),
                         ("GET", TASK + "x/rejected"),
                         ("POST", "/external/things/run"),
                         *(("POST", TASK + "x/" + v) for v in VERBS)):
        s.token = None
        code, said = s.ask(method, path)
        same(f"{method} {path}: no token", (code, said["success"]),
             (401, False))
        code, said = s.by("reader", method, path)
        same(f"{method} {path}: a token of nobody", (code, said["success"]),
             (403, False))
        code, said = s.by("looker", method, path, {} if method == "POST"
                          else None)
        same(f"{method} {path}: an operator who may read", code,
             403 if method == "POST" else 404 if "/x/" in path else 200)
        if method == "POST":
            code, said = s.by("acme", method, path, {})
            check(f"{method} {path}: a back end", code == 403 and
                  "operator" in said["messages"][0], said)
    s.token = s.tokens["operator"]
    for v in VERBS:
        same(f"{v}: no such task", s.verb("none", v)[0], 404)
        same(f"{v}: no task can be called so", s.verb("a%20b", v)[0], 404)
    same("retry: no such connector", s.verb("x", "retry",
                                            connector="none")[0], 404)
    same("run: no such connector", s.run({}, "none")[0], 404)
    for name in ("operator", "acme"):
        same(f"{name}: no such task has a log", s.by(
            name, "GET", TASK + "none/log")[0], 404)
        same(f"{name}: form", s.by(name, "GET", "/external/things/form")[0],
             200)
    same("POST /task stays with back ends", s.ask(
        "POST", "/external/things/task", {})[0], 403)
    same("so does PATCH", s.ask("PATCH", TASK + "x", {"code": 200})[0], 403)


# ---- Lists -------------------------------------------------------------------

def lists(s):
    def fids(name, query=""):
        return [(t["backend"], t["fid"]) for t in s.by(
            name, "GET", "/external" + query)[1]["payload"]["tasks"]]

    for back, fid in (("acme", "one"), ("other", "same"), ("acme", "same")):
        s.begin(fid, back)
        s.ends(fid, back=back)
    mine, theirs = [("acme", "same"), ("acme", "one")], [("other", "same")]
    same("an operator sees all, the newest first", fids("operator"),
         mine[:1] + theirs + mine[1:])
    same("a back end its own", (fids("acme"), fids("other")), (mine, theirs))
    same("... whatever it asks for", fids("acme", "?backend=other"), mine)
    same("of one back end", fids("operator", "?backend=other"), theirs)
    same("of a connector", fids("operator", "?connector=none"), [])
    same("open ones", fids("operator", "?open=1"), [])
    code, said = s.ask("GET", "/external?size=2")
    got = said["payload"]
    same("a part, and there is more", (len(got["tasks"]), got["more"],
                                       got["operator"]), (2, True, True))
    code, said = s.ask("GET", f"/external?before={got['tasks'][1]['number']}")
    same("the rest", ([t["fid"] for t in said["payload"]["tasks"]],
                      said["payload"]["more"]), (["one"], False))
    same("the longest list", s.ask("GET", "/external?size=999")[0], 200)
    for query in ("size=0", "size=1000", "size=x", "before=x"):
        code, said = s.ask("GET", "/external?" + query)
        check(f"{query}: 400", code == 400 and query.split("=")[0] in
              said["messages"][0], said)
    for path in ("", "/log", "/rejected"):
        code, said = s.ask("GET", TASK + "same" + path)
        check(f"two back ends have it{path}: 409", code == 409 and
              "back ends" in said["messages"][0], said)
        same(f"... one is named{path}", s.ask(
            "GET", TASK + f"same{path}?backend=other")[0], 200)
        same(f"... one alone has it{path}", s.ask("GET", TASK + "one" +
                                                  path)[0], 200)
        same(f"another's token{path}", s.by(
            "other", "GET", TASK + "one" + path + "?backend=acme")[0], 404)
    same("rejected after: 400", s.ask(
        "GET", TASK + "one/rejected?after=x")[0], 400)
    code, said = s.ask("GET", "/connectors")
    all_ = [(c["name"], c["credential"], c["built_in"])
            for c in said["payload"]["connectors"]]
    same("declared connectors", [c for c in all_ if not c[2]], [
        ("chosen", "none", False), ("secret", "basic", False),
        ("signed", "oauth", False), ("things", "none", False),
        ("typed", "none", False)])
    check("built-in ones", ("web_crawl", "none", True) in all_, all_)
    same("by their names", all_, sorted(all_))


# ---- The verbs ---------------------------------------------------------------

def cancels(s, b, api):
    api.delay_s = 0.7
    s.begin("c1")
    wait_until(lambda: b.of(UPLOADS, "c1"))
    code, said = s.verb("c1", "cancel")
    same("cancel", (code, said["payload"]["state"]), (200, "draining"))
    same("... it fails", s.ends("c1"), "failed")
    last = b.of(STATUSES, "c1")[-1].status
    check("... and says so with 500", last["code"] == 500 and
          last["message"] == "Cancelled by an operator" and
          last["detail"].startswith("system: an operator"), last)
    given = len(b.ids("c1"))
    check("... what it gave is there, and no more", 0 < given < 45 and
          s.look("c1")["uploaded"] == given, given)
    check("... its log has it", any("operator" in x["text"] for x in s.ask(
        "GET", TASK + "c1/log")[1]["payload"]["lines"]))
    same("... again: 409", s.verb("c1", "cancel")[0], 409)
    same("... with drop: 409", s.verb("c1", "cancel", more="&drop=1")[0],
         409)
    api.delay_s = 0
    b.reply = lambda call, number: (503, {}, None)
    s.begin("c2")
    check("a back end that refuses: it drains", wait_until(
        lambda: s.state("c2") == "draining"))
    check("... and says why it waits", wait_until(lambda: s.look("c2")[
        "waiting"].startswith("the back end acme (HTTP 503), asked again "
                              "at ")), s.look("c2"))
    code, said = s.verb("c2", "cancel")
    check("... cancel: 409 that names drop", code == 409 and "drop=1" in
          said["messages"][0], said)
    code, said = s.verb("c2", "cancel", more="&drop=1")
    same("... drop", (code, said["payload"]["state"], said["payload"][
        "status"]["code"]), (200, "cancelled", 500))
    before = len(b.calls)
    time.sleep(3)
    same("... nothing more is sent", len(b.calls), before)
    look = s.look("c2")
    same("... the spool is empty, the cursor gone", (look["spooled"],
                                                     look["cursor"]),
         (0, None))
    b.reply = None


def redelivers(s, b):
    b.reply = lambda call, number: (503, {}, None)
    s.begin("r1")
    same("undelivered", s.ends("r1"), "undelivered")
    code, said = s.ask("GET", "/doors", token=s.tokens["operator"])
    d = next(x for x in said["doors"] if x["details"].get("backends"))
    seen = {x["name"]: x for x in d["details"]["backends"]}
    same("a back end's last error", (seen["acme"]["last_error"],
         seen["acme"]["failures"] > 0), ("HTTP 503", True))
    b.reply = None
    code, said = s.verb("r1", "redeliver")
    same("redeliver", (code, said["payload"]["state"]), (200, "draining"))
    check("... it is done", wait_until(lambda: s.state("r1") == "done", 20),
          s.look("r1"))
    same("... with all documents", len(b.ids("r1")), 45)
    same("... again: 409", s.verb("r1", "redeliver")[0], 409)


def rejects(s, api):
    api.items[2] = {"id": 3}
    s.begin("j1")
    same("a document is rejected", s.ends("j1"), "done")
    api.items[2] = api.item(3)
    for name in ("operator", "acme"):
        got = s.by(name, "GET", TASK + "j1/rejected")[1]["payload"]
        r = got["rejected"][0]
        same(f"{name}: the document", (got["total"], r["number"], json.loads(
            r["document"])), (1, 3, {"id": 3}))
        check(f"{name}: the rule", "name" in r["message"], r)
    same("after it", s.ask("GET", TASK + "j1/rejected?after=3")[1][
        "payload"]["rejected"], [])


def cursors(s, api):
    check("a cursor", isinstance(s.look("one")["cursor"], dict))
    same("reset-cursor", s.verb("one", "reset-cursor")[0], 200)
    same("... it is gone", s.look("one")["cursor"], None)
    api.forget()
    code, said = s.verb("one", "retry")
    same("retry", (code, s.ends("one")), (200, "done"))
    same("... reads everything", api.asked[0].get("since"), None)
    api.forget()
    s.verb("one", "retry")
    same("... the next one what is new", (s.ends("one"), api.asked[0].get(
        "since"), s.look("one")["attempt"]), ("done", "45", 3))
    api.delay_s = 2
    s.begin("o1")
    wait_until(lambda: s.state("o1") == "running")
    for verb in ("reset-cursor", "retry", "redeliver"):
        same(f"{verb} of an open task: 409", s.verb("o1", verb)[0], 409)
    s.verb("o1", "cancel")
    s.ends("o1")
    api.delay_s = 0


def retries(s, safe):
    right = {"user": "ada", "password": "canary-right"}
    s.begin("k1", connector="secret", credential=right)
    s.ends("k1", connector="secret")
    code, said = s.verb("k1", "retry", connector="secret")
    check("retry without the credential: 400", code == 400 and
          "user" in said["messages"][0], said)
    same("... no JSON: 400", s.verb("k1", "retry", "{",
                                    connector="secret")[0], 400)
    same("... with it", (s.verb("k1", "retry", {"credential": right},
                                connector="secret")[0], s.ends(
        "k1", connector="secret")), (200, "done"))
    s.begin("p1", connector="typed", params={"pass": "canary-typed"})
    s.ends("p1", connector="typed")
    same("secret parameters are not kept", s.look("p1", "typed")["params"],
         {"pass": None})
    code, said = s.verb("p1", "retry", connector="typed")
    check("retry without them: 400", code == 400 and said["messages"][
        0].startswith("params: "), said)
    code, said = s.verb("p1", "retry", {"params": {"pass": "x", "day": 1.5}},
                        connector="typed")
    check("... a wrong one: 400", code == 400 and said["messages"][
        0].startswith("day: "), said)
    same("... with all of them", (s.verb(
        "p1", "retry", {"params": {"pass": "canary-typed"}},
        connector="typed")[0], s.ends("p1", connector="typed")),
        (200, "done"))


# ---- Choices -----------------------------------------------------------------

def with_choices(base):
    return {"type": "object", "properties": {"day": {
        "x-ui": "list", "x-choices": {"url": base + "/all", "items": "/items",
                                      "value": "/id", "label": "/name"}}}}


def choices(s):
    def ask(name, connector="chosen"):
        code, said = s.by(name, "POST", f"/external/{connector}/choices", {
            "name": "day"})
        return code, said.get("payload") or said["messages"][0]

    found = {"options": [{"value": str(i), "label": f"näme {i}"}
                         for i in range(1, 11)]}
    for name in ("operator", "acme"):
        same(f"choices: {name}", ask(name), (200, found))
    for name in ("looker", "reader"):
        same(f"choices: {name}", ask(name)[0], 403)
    code, said = ask("operator", "signed")
    check("choices of what people sign in for: not for an operator", code ==
          400 and said.startswith("credential: people sign in"), said)
    code, said = ask("acme", "signed")
    check("... a back end names who", code == 400 and "people sign in" not in
          said, said)


# ---- By hand -----------------------------------------------------------------

def runs(s, api, safe):
    before = s.ask("GET", "/external?size=1")[1]["payload"]["tasks"][0][
        "number"]
    code, lines = s.run({"params": PARAMS})
    same("run: documents", (code, [d["id"] for d in only(
        lines, "document")]), (200, list(range(1, 46))))
    same("... as the source has them", only(lines, "document")[0],
         api.item(1))
    same("... and its end", only(lines, "end"), [{
        "ok": True, "reason": "done",
        "message": "the source has no more documents"}])
    same("... NDJSON that nobody keeps", (s.fields["Content-Type"], s.fields[
        "Cache-Control"]), ("application/x-ndjson; charset=utf-8",
                            "no-store"))
    code, lines = s.run({"params": PARAMS, "documents_max": 7})
    same("run: documents_max", (len(only(lines, "document")), only(
        lines, "end")[0]["reason"]), (7, "limit"))
    same("run: documents_max is 1 at least", len(only(s.run(
        {"params": PARAMS, "documents_max": 1})[1], "document")), 1)
    same("run: ... and 100,000 at most", len(only(s.run(
        {"params": PARAMS, "documents_max": 100000})[1], "document")), 45)
    api.items[2] = {"id": 3}
    code, lines = s.run({"params": PARAMS})
    api.items[2] = api.item(3)
    bad = only(lines, "rejected")
    same("run: a rejected one", (len(bad), bad[0]["document"]),
         (1, {"id": 3}))
    check("... and the rule", "name" in bad[0]["message"], bad)
    same("... counted", only(lines, "progress")[-1], {
        "documents": 44, "rejected": 1, "waiting": "", "waits_s": 0})
    for body, text in (("{", "JSON"), ([], "object"), ({}, "kind: "),
                       ({"params": {"kind": "a", "most": 0}}, "most: "),
                       ({"params": PARAMS, "documents_max": 0},
                        "documents_max: "),
                       ({"params": PARAMS, "documents_max": 100001},
                        "documents_max: "),
                       ({"params": PARAMS, "documents_max": "x"},
                        "documents_max: ")):
        code, said = s.run(body)
        check(f"run {body}: 400", code == 400 and text in
              said["messages"][0], said)
    code, said = s.run({"params": PARAMS}, "secret")
    check("run: no credential: 400", code == 400 and said["messages"][
        0].startswith("credential: "), said)
    same("run: too long", s.run({"params": {"kind": "a" * (1 << 20)}})[0],
         413)
    safe.password = "right"
    code, lines = s.run({"params": PARAMS, "credential": {
        "user": "ada", "password": "canary-wrong"}}, "secret")
    safe.password = None
    end = only(lines, "end")[0]
    check("run: a source that refuses says who must act", code == 200 and
          not end["ok"] and end["message"].startswith("config: "), end)
    same("no task was made", s.ask("GET", "/external?size=1")[1]["payload"][
        "tasks"][0]["number"], before)


def leavers(s, api):
    """Connections that are closed end their runs; four are the limit."""
    api.delay_s = 0.5
    body = json.dumps({"params": PARAMS}).encode()
    open_ = []
    for i in range(4):
        c = http.client.HTTPConnection("127.0.0.1", s.http_port, timeout=60)
        c.request("POST", "/external/things/run", body, {
            "Authorization": "Bearer " + s.token})
        open_.append((c, c.getresponse()))
    code, said = s.run({"params": PARAMS})
    same("a fifth run: 429 with Retry-After", (code, bool(s.fields[
        "Retry-After"])), (429, True))
    check("... counted", 'argiope_external_limits_total{limit="runs_max"} 1'
          in s.ask("GET", "/metrics")[1])
    first = json.loads(open_[0][1].readline())
    check("documents come as they are read", "document" in first or
          "progress" in first, first)
    for c, answer in open_:
        answer.close()
        c.close()
    time.sleep(2)
    asked = len(api.asked)
    time.sleep(2)
    same("they end with their connections", len(api.asked), asked)
    api.delay_s = 0
    same("and leave room", s.run({"params": PARAMS})[0], 200)


def removed(s, api):
    """What a later configuration does not have any more."""
    s.entries = s.entries[1:]
    s.put_entries()
    check("the file is read again", wait_until(lambda: s.by(
        "acme", "GET", "/external")[0] == 403, 15))
    s.token = s.tokens["operator"]
    same("a task of a back end that is gone", s.look("one")["backend"],
         "acme")
    code, said = s.verb("one", "retry")
    check("... retry: 409", code == 409 and "back end" in said["messages"][
        0], said)
    api.delay_s = 600
    s.entries.append({"name": "acme", "token": "acme", "prefix":
                      f"{s.back.base}/tasks/acme"})
    s.put_entries()
    wait_until(lambda: s.by("acme", "GET", "/external")[0] == 200, 15)
    s.begin("p2", connector="typed", params={})
    wait_until(lambda: s.state("p2", "typed") == "running")
    os.remove(os.path.join(PLACE, "connectors", "typed.json"))
    s.restart()
    api.delay_s = 0
    code, said = s.verb("p2", "cancel", connector="typed")
    check("a task that waits for its connector: cancel: 409", code == 409 and
          "drop=1" in said["messages"][0], said)
    code, said = s.verb("p2", "cancel", connector="typed", more="&drop=1")
    same("... drop", (code, said["payload"]["state"]), (200, "cancelled"))
    same("a task of a connector that is gone", s.look("p1", "typed")["state"],
         "done")
    same("... is no longer its back end's to see", s.by(
        "acme", "GET", "/external/typed/task/p1")[0], 404)
    same("... its cursor", s.verb("p1", "reset-cursor",
                                  connector="typed")[0], 200)
    same("... its retry: 404", s.verb("p1", "retry",
                                      connector="typed")[0], 404)


def local(place, b):
    """Without a file of back ends whoever is let in is both."""
    s = External("local", place)
    s.task("h1", b.endpoint("h1"), PARAMS)
    same("local: a task", s.ends("h1"), "done")
    got = s.ask("GET", "/external")[1]["payload"]
    same("local: its list", (got["operator"], [t["backend"] for t in
                                               got["tasks"]]),
         (True, ["local"]))
    same("local: retry", s.ask("POST", TASK + "h1/retry")[0], 200)
    s.ends("h1")
    crawler = token(s.data, "crawler", "realtime:write")
    time.sleep(2)
    same("local: where a token exists, an operator has one", (
        s.ask("POST", TASK + "h1/retry")[0], s.ask("GET", "/external")[1][
            "payload"]["operator"]), (403, False))
    same("local: ... that may read the console", s.ask(
        "POST", TASK + "h1/retry", token=crawler)[0], 403)
    viewer = token(s.data, "viewer", "console:read")
    time.sleep(2)
    same("local: ... as this one", s.ask("POST", TASK + "h1/retry",
                                         token=viewer)[0], 200)
    s.stop()


def main():
    api, safe, b = Api(), Api("things.example.org"), Back()
    place = connectors("connectors", api.connector(), api.connector(
        "typed", parameters={"type": "object", "properties": {
            "pass": {"title": "Pass", "x-ui": "password"},
            "day": {"title": "Day", "x-ui": "integer"}}},
        api={"url": api.base + "/all", "label": "things", "items": "/items",
             "id": "/id", "next": {"cursor": "/next", "parameter": "after"}}),
        api.connector("chosen", parameters=with_choices(api.base), api={
            "url": api.base + "/all?day={day}", "label": "things", "items":
            "/items", "id": "/id"}),
        api.connector("signed", parameters=with_choices("https://a.example"),
                      credential="oauth", oauth={
                          "kind": "oauth2", "authorize":
                          "https://a.example/auth", "token":
                          "https://a.example/token"}, api={
            "url": "https://a.example/x?day={day}", "label": "things",
            "items": "/items", "id": "/id", "auth": {"kind": "bearer"}}),
        safe.connector("secret", credential="basic", api={
            "url": safe.base + "/{kind}?most={most}", "label": "things",
            "items": "/items", "id": "/id", "auth": {"kind": "basic"},
            "next": {"cursor": "/next", "parameter": "after"}}))
    s = Door(place, b, "external.retry_s_max=8", *safe.settings[1::2])
    rights(s)
    lists(s)
    cancels(s, b, api)
    redelivers(s, b)
    rejects(s, api)
    cursors(s, api)
    retries(s, safe)
    choices(s)
    runs(s, api, safe)
    leavers(s, api)
    removed(s, api)
    check("no secret in the log", "canary" not in open(s.log).read())
    same("it ends", s.stop(), 0)
    local(place, b)
    done()


main()
