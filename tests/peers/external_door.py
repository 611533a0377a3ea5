"""The external door, by requests of a back end: what POST /task refuses, tasks
to their ends, repeats and retries, stops, faults of the back end, restarts, two
back ends, and `argiope external simulate-backend` as the other side.

usage: external_door.sh PROGRAM
"""
from concurrent.futures import ThreadPoolExecutor

from external_door_peer import *
from external_peer import PAGE, Backend

PARAMS = {"kind": "a"}


# ---- What is refused -------------------------------------------------------------

def refusals(s, b):
    path = "/external/things/task"
    fine = {"fid": "r1", "endpoint": b.endpoint("r1"), "params": PARAMS}

    def refused(name, status, text, body=None, path=path, method="POST",
                **change):
        code, said = s.ask(method, path, {**fine, **change} if body is None
                           else body)
        check(f"{status}: {name}", code == status and isinstance(said, dict)
              and said.get("success") is False and
              text in "\n".join(said.get("messages", [])),
              f"{code} {said}")

    refused("no such connector", 404, "connector",
            path="/external/nothing/task")
    refused("no such address", 404, "address", path="/external/things/x")
    refused("an empty body", 400, "JSON", body="")
    refused("no JSON", 400, "JSON", body="{")
    refused("no object", 400, "object", body="[]")
    refused("33 levels", 400, "levels", body="{\"a\":" + "[" * 33 + "]" * 33 +
            "}")
    refused("no fid", 400, "fid", fid=None)
    refused("a fid with a blank", 400, "fid", fid="a b")
    refused("a fid of 129 letters", 400, "fid", fid="a" * 129)
    refused("no endpoint", 400, "endpoint", endpoint=None)
    refused("an endpoint that is no URL", 400, "endpoint", endpoint="x")
    refused("a user in the endpoint", 400, "endpoint",
            endpoint="http://u:p@127.0.0.1/t")
    refused("a version that is no number", 400, "version",
            path=path + "?version=x")
    refused("a foreign endpoint", 403, "endpoint",
            endpoint="https://example.org/t")
    refused("a metadata service as endpoint", 403, "endpoint",
            endpoint="http://169.254.169.254/t")
    refused("params that are a list", 400, "params", params=[])
    refused("a missing parameter", 400, "kind: ", params={})
    refused("a wrong parameter", 400, "most: ",
            params={"kind": "a", "most": 0})
    code, said = s.ask("POST", path, {**fine, "params": {"most": "x"}})
    same("each wrong parameter has a message", (code, sorted(
        m.split(":")[0] for m in said["messages"])), (400, ["kind", "most"]))
    refused("no credential", 400, "credential",
            path="/external/secret/task")
    refused("a credential that is a text", 400, "credential",
            credential="x", path="/external/secret/task")
    refused("a body of more than 1 MiB", 413, "", body=json.dumps(
        {**fine, "params": {"kind": "a" * (1 << 20)}}))
    for one in ("", "/status"):
        refused("a status for no task" + one, 404, "task", method="PATCH",
                body={"code": 200}, path=path + "/r1" + one)
    refused("the log of no task", 404, "task", method="GET", body="",
            path=path + "/r1/log")
    same("none of them has made a task", b.calls, [])


# ---- A connector -------------------------------------------------------------------

def connector(s):
    code, said = s.ask("GET", "/external/things/object")
    o = said["payload"]
    same("object: its endpoint", o["endpoint"],
         f"http://127.0.0.1:{s.http_port}/external/things")
    same("object: no headers", o["headers"], {})
    same("object: parameters", [p["name"] for p in o["parameters"]],
         ["kind", "most"])
    code, said = s.ask("GET", "/external/things/form")
    same("form: JSON Schema", (said["payload"]["parameters"]["required"],
                               said["payload"]["docIdField"]),
         (["kind"], "id"))


def checks(s, api, safe):
    def ask(params, connector="things", **more):
        return s.ask("POST", f"/external/{connector}/check",
                     {"params": params, **more})[1]["payload"]

    def named(said):
        return [(c["name"], c["ok"]) for c in said["checks"]]

    said = ask(PARAMS)
    same("check: all is right", (said["ok"], named(said)), (True, [
        ("parameters", True), ("credential", True), ("source", True),
        ("documents", True)]))
    same("check: one request", len(api.asked), 1)
    said = ask({"kind": "a", "most": -1})
    same("check: a wrong parameter", (said["ok"], named(said)[0]),
         (False, ("parameters", False)))
    said = ask(PARAMS, "secret")
    same("check: no credential", (said["ok"], named(said)[1]),
         (False, ("credential", False)))
    safe.password = "right"
    said = ask(PARAMS, "secret", credential={"user": "ada",
                                             "password": "wrong"})
    same("check: a wrong password", (said["ok"], named(said)[2]),
         (False, ("source", False)))
    check("... says who must act", said["checks"][2]["message"].startswith(
        "config: "), said)
    said = ask(PARAMS, "secret", credential={"user": "ada",
                                             "password": "right"})
    same("check: the right password", said["ok"], True)
    safe.password = None
    api.items[3] = {"id": 4, "name": 7}
    said = ask(PARAMS)
    same("check: an invalid document", (said["ok"], named(said)[3]),
         (False, ("documents", False)))
    api.items[3] = api.item(4)
    api.forget()


def with_choices(api):
    """Parameters, one of which has its options from the API."""
    return {"type": "object", "required": ["kind"], "properties": {
        "kind": {"x-ui": "string"}, "most": {"x-ui": "integer"},
        "board": {"x-ui": "list", "x-choices": {
            "url": api.base + "/boards?like={query}&kind={kind}",
            "items": "/items", "value": "/id", "label": "/name"}}}}


def choices(s, api, safe):
    def ask(connector="boards", **body):
        return s.ask("POST", f"/external/{connector}/choices", body)

    code, said = ask(name="board", query="e 1", params={"kind": "a"})
    same("choices: options", (code, said["payload"]), (200, {"options": [
        {"value": str(i), "label": f"näme {i}"} for i in
        (1, *range(10, 19))]}))
    same("... one call, with query and parameter", api.asked,
         [{"like": "e 1", "kind": "a"}])
    api.forget()
    code, said = ask(name="board")
    same("choices: without query and parameters", (code, api.asked),
         (200, [{}]))
    for name, status, text, body in (
            ("no name", 400, "name", {}),
            ("a query that is no text", 400, "query", {
                "name": "board", "query": 7}),
            ("a query of 1,025 bytes", 400, "query", {
                "name": "board", "query": "x" * 1025}),
            ("params that are a list", 400, "params", {
                "name": "board", "params": []}),
            ("a parameter without choices", 404, "name", {"name": "kind"}),
            ("no such parameter", 404, "name", {"name": "nothing"})):
        code, said = ask(**body)
        check(f"choices, {name}: {status}", code == status and
              text in said["messages"][0], (code, said))
    same("choices of a connector without any: 404", ask(
        "things", name="kind")[0], 404)
    same("a query of 1,024 bytes", ask(name="board", query="x" * 1024)[0],
         200)
    code, said = ask("secret", name="board")
    check("choices, no credential: 400", code == 400 and "credential" in
          said["messages"][0], said)
    safe.password = "right"
    for password, want in (("wrong", 400), ("right", 200)):
        code, said = ask("secret", name="board", credential={
            "user": "ada", "password": password})
        same(f"choices, a {password} password: {want}", code, want)
    safe.password = None
    api.statuses = {len(api.asked) + 1: 500}
    code, said = ask(name="board")
    check("choices, a source that fails: 503", code == 503 and
          said["messages"][0].startswith("transient: "), (code, said))
    api.delay_s = 2
    with ThreadPoolExecutor(17) as pool:
        codes = list(pool.map(lambda i: ask(name="board")[0], range(17)))
    same("17 choices at once: one is 429", sorted(codes), [200] * 16 + [429])
    api.delay_s = 0
    items, api.page = api.items, 2000
    for n in (1000, 1001):
        api.items = [api.item(i) for i in range(1, n + 1)]
        said = ask(name="board")[1]["payload"]
        same(f"of {n} choices 1,000 are there, and it is said",
             (len(said["options"]), said.get("more", False)),
             (1000, n > 1000))
    api.items, api.page = items, PAGE
    form = s.ask("GET", "/external/boards/form")[1]["payload"]
    same("the form says that there are choices", form["parameters"][
        "properties"]["board"]["x-choices"], True)
    api.forget()


# ---- A task --------------------------------------------------------------------------

def one_task(s, b, api):
    got = s.task("t1", b.endpoint("t1") + "?signed=x%20y", PARAMS)
    same("POST: callback and status", got, {
        "callback": f"http://127.0.0.1:{s.http_port}/external/things/task/t1",
        "status": {"code": 0, "message": "New"}})
    same("it is done", s.ends("t1"), "done")
    same("all documents, each once", (b.ids("t1"), b.repeated),
         (list(range(1, 46)), 0))
    calls = b.of(UPLOADS)
    documents = [d for c in calls for d in c.documents]
    same("in their order", [d["id"] for d in documents],
         list(range(1, 46)))
    same("as the source has them", documents[0], api.item(1))
    same("their type", {c.fields["Content-Type"] for c in calls},
         {"application/x-ndjson; charset=utf-8"})
    same("no line end behind the last", [c for c in calls
                                         if c.body.endswith(b"\n")], [])
    same("the endpoint's query stays", {c.path for c in calls},
         {"/tasks/t1/upload?signed=x%20y"})
    same("keys", [c.key for c in calls],
         [f"t1:{i}" for i in range(len(calls))])
    codes = b.codes("t1")
    check("102 first, 200 last and once", codes[0] == 102 and
          codes[-1] == 200 and codes.count(200) == 1, codes)
    same("status: its key", b.of(STATUSES)[0].key, "t1:s0")
    last = b.of(STATUSES)[-1].status
    same("status: message and detail", last,
         {"code": 200, "message": "45 uploaded, 0 rejected",
          "detail": None})
    look = s.look("t1")
    same("GET: counts", [look[k] for k in ("uploaded", "spooled", "rejected",
                                           "attempt", "state")],
         [45, 0, 0, 1, "done"])
    same("GET: status", look["status"]["code"], 200)
    check("GET: cursor", isinstance(look["cursor"], dict), look)
    lines = s.ask("GET", "/external/things/task/t1/log")[1]["payload"]["lines"]
    check("log", lines and lines[0]["text"] == "attempt 1 begins", lines)
    same("log after its last", s.ask(
        "GET", f"/external/things/task/t1/log?after={lines[-1]['number']}")[1][
            "payload"]["lines"], [])
    code, said = s.ask("PATCH", "/external/things/task/t1/status",
                       {"code": 408, "message": "late", "detail": None})
    same("PATCH of a closed task: its status", (code, said["payload"]["status"]
         ["code"]), (200, 200))


def retries(s, b, api):
    api.forget()
    api.items += [api.item(i) for i in range(46, 61)]
    s.task("t1", b.endpoint("t1"), PARAMS)
    same("a retry is done", s.ends("t1"), "done")
    same("it asks for what is new", api.asked[0].get("since"), "45")
    same("and delivers that", (b.ids("t1"), b.repeated),
         (list(range(1, 61)), 0))
    same("its keys go on", b.of(UPLOADS)[-1].key != "t1:0", True)
    same("attempt", s.look("t1")["attempt"], 2)
    api.forget()
    s.task("t1", b.endpoint("t1"), {"kind": "b"})
    s.ends("t1")
    same("other parameters begin anew", api.asked[0].get("since"), None)
    api.forget()
    s.task("t1", b.endpoint("t1"), {"kind": "b"}, reset=True)
    s.ends("t1")
    same("so does reset", api.asked[0].get("since"), None)
    api.forget()
    s.task("c1", b.endpoint("c1"), PARAMS, crawler="stream-1")
    s.ends("c1")
    s.task("c2", b.endpoint("c2"), PARAMS, crawler="stream-1")
    same("a crawler's next task is done", s.ends("c2"), "done")
    same("... and has what is new", (api.asked[-1].get("since"),
                                     b.ids("c2")), ("60", []))
    del api.items[45:]
    api.forget()
    b.repeated = 0               # Those that were asked for anew.


def repeats(s, b, api):
    api.delay_s = 0.5
    first = s.task("p1", b.endpoint("p1"), PARAMS)
    again = s.task("p1", b.endpoint("p1") + "?signature=2", PARAMS)
    same("a repeat has the same callback", again["callback"],
         first["callback"])
    code, said = s.ask("POST", "/external/things/task", {
        "fid": "p1", "endpoint": b.endpoint("p1"), "params": {"kind": "z"}})
    same("other parameters: 409", code, 409)
    code, said = s.ask("POST", "/external/things/task", {
        "fid": "p1", "endpoint": b.endpoint("p2"), "params": PARAMS})
    same("another endpoint: 409", code, 409)
    same("it is done", s.ends("p1"), "done")
    same("once", (b.ids("p1"), b.repeated), (list(range(1, 46)), 0))
    same("the new query is used", b.of(UPLOADS, "p1")[-1].path.split("?")[-1],
         "signature=2")
    api.delay_s = 0


def stops(s, b, api):
    for one in ("/status", ""):
        fid = "s" + str(len(one))
        api.delay_s = 1
        s.task(fid, b.endpoint(fid), PARAMS)
        wait_until(lambda: b.of(UPLOADS, fid))
        code, said = s.ask("PATCH", f"/external/things/task/{fid}{one}",
                           {"code": 408, "message": "Task is timeout",
                            "detail": None})
        same(f"stop{one}: answer", (code, said), (200, {
            "success": True, "payload": {"status": {
                "code": 408, "message": "Task is timeout"}}, "version": 0}))
        before = len(b.of(UPLOADS, fid)) + len(b.of(STATUSES, fid))
        time.sleep(3)
        same(f"stop{one}: silence", len(b.of(UPLOADS, fid)) +
             len(b.of(STATUSES, fid)), before)
        same(f"stop{one}: state", s.state(fid), "timeout")
        same(f"stop{one}: again", s.ask(
            "PATCH", f"/external/things/task/{fid}{one}",
            {"code": 408, "message": "x"})[0], 200)
    for body, text in (("{", "JSON"), ({"code": "x"}, "code"),
                       ({"code": 1000}, "code"), ({}, "code")):
        code, said = s.ask("PATCH", "/external/things/task/s0", body)
        check(f"PATCH {body}: 400", code == 400 and text in
              said["messages"][0], said)
    api.delay_s = 0


# ---- Faults ----------------------------------------------------------------------------

def faults(s, b, api):
    def refuse(status, until=1, fields={}, body=None, kind=UPLOADS):
        def reply(call, number):
            return (status, fields, body) if call.kind == kind and \
                number <= until else None
        return reply

    def lines(call, number):
        if call.kind == UPLOADS and number == 1:
            b.store(call.path, Kept(call, [2]))
            return 406, {}, json.dumps({"success": False, "messages": ["x"],
                    "payload": {"errors": [{"line": 2, "error": "odd"}]}})

    def lost(call, number):
        return (None, {}, None) if call.kind == UPLOADS and number == 1 \
            else None

    def single(call, number):
        bad = call.kind == UPLOADS and any(d["id"] == 7
                                           for d in call.documents)
        return (400, {}, None) if bad else None

    everything = list(range(1, 46))
    for name, reply, want in (
            ("429 with Retry-After", refuse(429, 1, {"Retry-After": "1"}),
             everything),
            ("three times 500", refuse(500, 3), everything),
            ("413", refuse(413), everything),
            ("a 200 that is no JSON", refuse(200, 9, {}, "fine"), everything),
            ("a lost reply", lost, everything),
            ("a line that is refused", lines, everything[:1] +
             everything[2:]),
            ("a document that is refused", single, everything[:6] +
             everything[7:]),
            ("a status that is refused", refuse(400, 1, kind=STATUSES),
             everything)):
        fid = name.replace(" ", "-")
        b.calls.clear()
        b.reply = reply
        s.task(fid, b.endpoint(fid), PARAMS)
        same(f"{name}: done", s.ends(fid), "done")
        same(f"{name}: documents", b.ids(fid), want)
        same(f"{name}: rejected", s.look(fid)["rejected"], 45 - len(want))
    same("no document came twice under another key", b.repeated, 0)
    b.calls.clear()
    b.reply = refuse(404, 99)
    s.task("gone", b.endpoint("gone"), PARAMS)
    same("404: gone", s.ends("gone"), "gone")
    b.reply = None
    api.items[2] = {"id": 3}
    s.task("invalid", b.endpoint("invalid"), PARAMS)
    same("an invalid document: done", s.ends("invalid"), "done")
    same("... the others came", len(b.ids("invalid")), 44)
    same("... it is counted", s.look("invalid")["rejected"], 1)
    api.items[2] = api.item(3)


def failures(s, b, safe):
    safe.password = "right"
    s.task("f1", b.endpoint("f1"), PARAMS, "secret",
           credential={"user": "ada", "password": "wrong-canary"})
    same("a wrong password: failed", s.ends("f1", connector="secret"),
         "failed")
    last = b.of(STATUSES, "f1")[-1].status
    check("... who must act", last["code"] == 500 and last["detail"].startswith(
        "config: ") and "0 uploaded" in last["detail"], last)
    s.task("f2", b.endpoint("f2"), PARAMS, "secret",
           credential={"user": "ada", "password": "right"})
    same("the right one: done", s.ends("f2", connector="secret"), "done")
    safe.password = None


# ---- Restarts --------------------------------------------------------------------------

def restarts(s, b, api, safe):
    api.delay_s = safe.delay_s = 0.3
    s.task("k1", b.endpoint("k1"), PARAMS)
    wait_until(lambda: b.of(UPLOADS, "k1"))
    s.restart(kill=True)
    s.task("k2", b.endpoint("k2"), PARAMS, "secret",
           credential={"user": "ada", "password": "x"})
    wait_until(lambda: b.of(UPLOADS, "k2"))
    same("SIGTERM ends it", s.restart(), 0)
    same("killed: done", s.ends("k1"), "done")
    same("killed: documents", (b.ids("k1"), b.repeated),
         (list(range(1, 46)), 0))
    same("a credential is lost: failed", s.ends("k2", connector="secret"),
         "failed")
    last = b.of(STATUSES, "k2")[-1].status
    check("... and says so", last["detail"].startswith(
        "config: the credential was lost in a restart; start the task "
        "again"), last)
    s.task("k2", b.endpoint("k2"), PARAMS, "secret",
           credential={"user": "ada", "password": "x"})
    same("a retry goes on: done", s.ends("k2", connector="secret"), "done")
    same("... documents", (b.ids("k2"), b.repeated), (list(range(1, 46)), 0))
    api.delay_s = safe.delay_s = 0


# ---- Two back ends ----------------------------------------------------------------------

def back_ends(place, b):
    data = os.path.join(PLACE, "two")
    tokens = {name: token(data, name) for name in ("acme-be", "other-be")}
    reader = token(data, "reader", "external:read")
    entries = [{"name": n, "token": n + "-be", "prefix": f"{b.base}/tasks/{n}"}
               for n in ("acme", "other")]
    path = put("backends.json", entries)
    os.chmod(path, 0o600)
    s = External("two", place, "external.backends_file=" + path,
                 "external.tasks_max=2")

    def start(name, fid, endpoint, token):
        code, said = s.ask("POST", "/external/things/task", {
            "fid": fid, "endpoint": endpoint, "params": PARAMS}, token)
        return code

    same("no token: 401", start("", "x", b.endpoint("acme/x"), None), 401)
    code, said = s.ask("POST", "/external/things/task", {})
    same("... in the envelope", (code, said["success"]), (401, False))
    same("a token that may read: 403", start("", "x", b.endpoint("acme/x"),
                                             reader), 403)
    same("another's endpoint: 403", start(
        "", "x", b.endpoint("other/x"), tokens["acme-be"]), 403)
    same("a sibling of the prefix: 403", start(
        "", "x", b.endpoint("acmex/x"), tokens["acme-be"]), 403)
    same("dot segments: 403", start(
        "", "x", b.endpoint("acme/../other/x"), tokens["acme-be"]), 403)
    for name in ("acme", "other"):
        same(f"{name} starts a task", start(
            "", "same", b.endpoint(name + "/same"), tokens[name + "-be"]),
            200)
    for name in ("acme", "other"):
        same(f"{name}'s is done", s.ends("same", token=tokens[name + "-be"]),
             "done")
    start("", "mine", b.endpoint("acme/mine"), tokens["acme-be"])
    for method, one in (("GET", ""), ("GET", "/log"), ("PATCH", "/status")):
        same(f"another's token: {method}{one}", s.ask(
            method, "/external/things/task/mine" + one, {"code": 200} if
            method == "PATCH" else None, tokens["other-be"])[0], 404)
    os.chmod(path, 0o644)
    entries[1]["token"] = "third-be"
    third = token(data, "third-be")
    put("backends.json", entries)
    time.sleep(11)
    same("a file that others may read changes nothing", s.ask(
        "GET", "/external/things/task/same", None, third)[0], 403)
    os.chmod(path, 0o600)
    put("backends.json", entries)
    check("the file is read again", wait_until(lambda: s.ask(
        "GET", "/external/things/task/same", None, third)[0] == 200, 15))
    s.stop()


def limits(place, b, api):
    s = External("limits", place, "external.tasks_max=2",
                 "external.rejected_max=3", "external.document_bytes_max=1KiB")
    api.delay_s = 2
    for i in (1, 2):
        s.task(f"l{i}", b.endpoint(f"l{i}"), PARAMS)
    code, said = s.ask("POST", "/external/things/task", {
        "fid": "l3", "endpoint": b.endpoint("l3"), "params": PARAMS})
    same("tasks_max: 429 with Retry-After", (code, bool(s.fields[
        "Retry-After"])), (429, True))
    same("... counted", s.metric("argiope_external_limits_total",
                                 limit="tasks_max"), 1)
    api.delay_s = 0
    s.ends("l1"), s.ends("l2")
    api.items[1] = {"id": 2, "name": "x" * 1024}
    s.task("l4", b.endpoint("l4"), PARAMS)
    same("document_bytes_max: done", (s.ends("l4"), s.look("l4")["rejected"],
         len(b.ids("l4"))), ("done", 1, 44))
    for i in range(4):
        api.items[i] = {"id": i + 1}
    s.task("l5", b.endpoint("l5"), PARAMS)
    same("rejected_max: failed", s.ends("l5"), "failed")
    detail = b.of(STATUSES, "l5")[-1].status["detail"]
    check("... with the reasons", "/name" in detail or "name" in detail,
          detail)
    api.items[:4] = [api.item(i) for i in range(1, 5)]
    s.stop()


def operator(place, b, api):
    """Commands beside the daemon, and a back end that is away for a while."""
    s = External("operator", place, "external.retry_s_max=2")

    def ours_(*words):
        return ours("external", *words, "--data", s.data)

    b.calls.clear()
    b.reply = lambda call, number: (503, {}, None)
    s.task("u1", b.endpoint("u1"), PARAMS)
    same("a back end that is away: undelivered", s.ends("u1"), "undelivered")
    left = s.look("u1")["spooled"]
    check("... documents stay", left > 0, left)
    code, said, _ = ours_("tasks")
    check("external tasks", code == 0 and re.match(
        r"undelivered +\d+ uploaded +\d+ in the spool", said) and
        " u1" in said, said)
    same("external tasks --json", [t["state"] for t in json.loads(ours_(
        "tasks", "--json")[1])["tasks"]], ["undelivered"])
    b.reply = None
    same("external redeliver", ours_("redeliver", "u1")[0], 0)
    same("... it is done", s.ends("u1", 40) and wait_until(
        lambda: s.state("u1") == "done", 20) and s.state("u1"), "done")
    same("... all documents", len(b.ids("u1")), left)
    same("... again: refused", ours_("redeliver", "u1")[0], 69)
    api.items[2] = {"id": 3}
    s.task("u2", b.endpoint("u2"), PARAMS)
    s.ends("u2")
    api.items[2] = api.item(3)
    rejected = [json.loads(x) for x in ours_("rejected", "u2")[
        1].splitlines()]
    same("external rejected", [(r["number"], json.loads(r["document"]))
                               for r in rejected], [(3, {"id": 3})])
    check("... says why", "name" in rejected[0]["message"], rejected)
    check("external cursor", isinstance(json.loads(ours_(
        "cursor", "u2")[1]), dict))
    same("external cursor --reset", ours_("cursor", "u2", "--reset")[0], 0)
    same("... it is gone", ours_("cursor", "u2")[1], "null\n")
    api.forget()
    s.task("u2", b.endpoint("u2"), PARAMS)
    s.ends("u2")
    same("... the next attempt reads everything", api.asked[0].get("since"),
         None)
    same("no such task: 66", ours_("rejected", "nothing")[0], 66)
    s.stop()


def root(place, b):
    s = External("root", place, "external.root=things",
                 "external.public_url=https://crawl.example.org")
    code, said = s.ask("POST", "/task", {"fid": "o1", "endpoint":
                                         b.endpoint("o1"), "params": PARAMS})
    same("root: callback", said["payload"]["callback"],
         "https://crawl.example.org/task/o1")
    wait_until(lambda: s.ask("GET", "/task/o1")[1]["payload"]["state"] ==
               "done", 20)
    same("root: status", s.ask("GET", "/task/o1")[1]["payload"]["state"],
         "done")
    same("root: the pages of the console stay", s.http("/")[0], 200)
    s.stop()


def simulator(s, api):
    b = Backend("simulator", "--silence", "6", faults=[
        {"call": "upload", "number": 1, "status": 503, "retry_after_s": 1},
        {"call": "upload", "number": 2, "reply_lost": True},
        {"call": "upload", "number": 4, "refused_lines": [3]}])
    api.delay_s = 3                  # Longer than the silence, in all.
    x = b.external(f"http://127.0.0.1:{s.http_port}/external/things",
                   docIdField="id")
    c = b.crawler(x, PARAMS)
    code, said = b.ask("POST", f"/actions/crawlers/{c}/task", {"params": {}})
    t = said["payload"]["meta"]["fid"]
    check("simulator: done", wait_until(lambda: b.code(t) == 200, 60),
          b.show(t))
    same("simulator: documents", len({d["id"] for d in b.output(t)}), 44)
    api.delay_s = 0
    b.stop()


def conformance(place, api):
    data = os.path.join(PLACE, "judged")
    port = fixed_port()
    path = os.path.join(PLACE, "token")
    with open(path, "w") as f:
        f.write(token(data, "judge"))
    entries = put("judge.json", [{
        "name": "judge", "token": "judge", "silence_s": 9,
        "prefix": f"http://127.0.0.1:{port}/"}])
    os.chmod(path, 0o600)
    os.chmod(entries, 0o600)
    api.delay_s = 0.3
    s = External("judged", place, "external.backends_file=" + entries)
    s.token = open(path).read()
    o = s.ask("GET", "/external/things/object")[1]["payload"]
    code, said, errors = run(
        program(), "external", "conformance", "--crawler",
        f"http://127.0.0.1:{s.http_port}/external/things", "--token-file",
        path, "--object", put("object.json", o), "--params",
        put("params.json", PARAMS), "--listen", f"127.0.0.1:{port}",
        "--silence", "9", seconds=240)
    lines = said.splitlines()
    same("conformance: exit code", code, 0)
    same("conformance: no check fails", [x for x in lines
                                         if x.startswith("FAIL")], [])
    check("conformance: its last line", lines and re.match(
        r"(4[5-9]|5\d) passed, 0 failed", lines[-1]), lines[-1:] + [errors])
    api.delay_s = 0
    s.stop()


def main():
    api, safe, b = Api(), Api("things.example.org"), Back()
    place = connectors("connectors", api.connector(),
                       api.connector("boards", parameters=with_choices(api)),
                       safe.connector("secret", credential="basic", parameters=
                                      with_choices(safe), api={
                           "url": safe.base + "/{kind}?most={most}",
                           "label": "things", "items": "/items", "id": "/id",
                           "auth": {"kind": "basic"},
                           "next": {"cursor": "/next", "parameter": "after"},
                           "since": {"parameter": "since", "from": "id"}}))
    s = External("door", place, *safe.settings[1::2])
    refusals(s, b)
    connector(s)
    checks(s, api, safe)
    choices(s, api, safe)
    one_task(s, b, api)
    retries(s, b, api)
    repeats(s, b, api)
    stops(s, b, api)
    faults(s, b, api)
    failures(s, b, safe)
    restarts(s, b, api, safe)
    simulator(s, api)
    check("no password in the log", "canary" not in s.said())
    same("it ends", s.stop(), 0)
    limits(place, b, api)
    operator(place, b, api)
    root(place, b)
    conformance(place, api)
    back_ends(place, b)
    done()


main()
