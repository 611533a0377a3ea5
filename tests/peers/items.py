"""The items door and a real daemon: every request in both spellings against the
OpenAPI document, workers of other languages, events that are resumed, tokens,
restarts, and the commands of docs/workers.md.
"""
from items_peer import *

VALIDATOR = "@seriousme/openapi-schema-validator@2.11.0"


# ---- The document --------------------------------------------------------------

class Document:
    """The OpenAPI document, and answers held against it."""

    def __init__(self, text):
        self.all, self.answered = text, set()

    def follow(self, schema):
        while "$ref" in schema:
            at = self.all
            for part in schema["$ref"][2:].split("/"):
                at = at[part]
            schema = at
        return schema

    def fault(self, schema, value, at=""):
        """Why the value is not of the schema; None: it is."""
        schema = self.follow(schema)
        if "anyOf" in schema:
            faults = [self.fault(s, value, at) for s in schema["anyOf"]]
            return faults[0] if all(faults) else None
        if "const" in schema and value != schema["const"]:
            return f"{at}: {value!r} is not {schema['const']!r}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{at}: {value!r} is none of {schema['enum']}"
        kinds = {"object": dict, "array": list, "string": str,
                 "boolean": bool, "integer": int, "null": type(None)}
        wanted = schema.get("type", [])
        wanted = [wanted] if isinstance(wanted, str) else wanted
        if wanted and not any(isinstance(value, kinds[w]) and not (
                w == "integer" and isinstance(value, bool)) for w in wanted):
            return f"{at}: {value!r} is no {wanted}"
        if isinstance(value, dict):
            return self.fault_of_members(schema, value, at)
        if isinstance(value, list) and "items" in schema:
            return next(filter(None, (
                self.fault(schema["items"], v, f"{at}[{i}]")
                for i, v in enumerate(value))), None)
        return None

    def fault_of_members(self, schema, value, at):
        for name in schema.get("required", []):
            if name not in value:
                return f"{at}: {name} is missing"
        for name, v in value.items():
            inner = schema.get("properties", {}).get(
                name, schema.get("additionalProperties"))
            if inner is False:
                return f"{at}: {name} is not in the document"
            if isinstance(inner, dict):
                found = self.fault(inner, v, f"{at}.{name}")
                if found:
                    return found
        return None

    def row(self, method, path):
        """The template of a path, and its operation."""
        parts = path.split("?")[0].split("/")
        for template, item in self.all["paths"].items():
            words = template.split("/")
            if len(words) == len(parts) and method.lower() in item and all(
                    w == p or w.startswith("{")
                    for w, p in zip(words, parts)) and not (
                        parts[-1] == "add" and words[-1] == "{id}"):
                return template, item[method.lower()]
        return None, None

    def judge(self, method, path, status, type_, value):
        """Why this answer is not as the document says; None: it is."""
        template, operation = self.row(method, path)
        if operation is None:
            return "the document has no such request"
        self.answered.add((method.lower(), template))
        answer = operation["responses"].get(str(status))
        if answer is None:
            return f"{status} is not in the document"
        media = type_.split(";")[0]
        content = answer["content"]
        if media not in content and "application/octet-stream" not in content:
            return f"{media} is none of {list(content)}"
        if media == JSON and media in content:
            return self.fault(content[media]["schema"], value)
        if media == LINES:
            return next(filter(None, (
                self.fault(content[media]["schema"], json.loads(line))
                for line in value.splitlines())), None)
        return None

    def left(self):
        return sorted(f"{m} {p}" for p, item in self.all["paths"].items()
                      for m in item if (m, p) not in self.answered)


def requests(word):
    """(status, method, path, body, type) of every request, in an order that
    works; `word`: "operations" or "tasks"."""
    i, t = "/items/doc%3A" + word, f"/{word}"
    yield from [
        (201, "POST", "/items/add", {"id": f"doc:{word}", "data": {"n": 1},
                                     "tags": ["page", "check=1"]}, JSON),
        (200, "POST", "/items/add", {"id": f"doc:{word}", "data": {}}, JSON),
        (409, "POST", "/items/add", {"id": f"doc:{word}", "data": {},
                                     "failIfExists": True}, JSON),
        (400, "POST", "/items/add", {"data": 7}, JSON),
        (415, "POST", "/items/add", "x", "text/plain"),
        (200, "POST", "/items/add", '{"data":{}}\n{"data":7}\n', LINES),
        (200, "GET", i, None, None),
        (404, "GET", "/items/nobody", None, None),
        (200, "POST", i, {"data": {"m": 2}}, JSON),
        (200, "PATCH", i, {"n": 3}, "application/merge-patch+json"),
        (415, "PATCH", i, "n", "text/plain"),
        (200, "GET", "/items?tag=page&metadata=a:fetch", None, None),
        (400, "GET", "/items?limit=x", None, None),
        (201, "PUT", i + "/aliases/ali%2Fas", {}, JSON),
        (200, "DELETE", i + "/aliases/ali%2Fas", None, None),
        (409, "DELETE", i + "/aliases/doc:" + word, None, None),
        (200, "PUT", i + "/tags/page", {"value": "x"}, JSON),
        (200, "DELETE", i + "/tags/nothing", None, None),
        (201, "PUT", i + "/blobs/b", "bytes", "image/png"),
        (200, "GET", i + "/blobs", None, None),
        (200, "GET", i + "/blobs/b", None, None),
        (404, "GET", i + "/blobs/c", None, None),
        (200, "DELETE", i + "/blobs/b", None, None),
        (200, "GET", f"{i}/metadata?{word}=a:fetch,a:norm", None, None),
        (200, "GET", f"{i}{t}", None, None),
        (200, "POST", f"{i}{t}/b:check/expire", {"now": True}, JSON),
        (404, "POST", f"{i}{t}/nothing/expire", {}, JSON),
        (409, "POST", f"{i}{t}/b:check/ttl", {"ttl": "7d"}, JSON),
        (409, "POST", f"{i}{t}/b:check/simulate", {}, JSON),
        (409, "POST", f"{t}/b:check/replay", {}, JSON),
        (409, "POST", "/runs/R99999/replay", {}, JSON),
        (200, "GET", f"{i}{t}/b:check/runs", None, None),
        (404, "GET", "/runs/R99999", None, None),
        (200, "GET", "/tags", None, None),
        (200, "GET", f"/tags/page/worklist?{word[:-1]}=a:fetch", None, None),
        (200, "GET", t, None, None),
        (200, "GET", t + "/a:fetch", None, None),
        (404, "GET", t + "/nothing", None, None),
        (200, "POST", t + "/a:*/pause", {}, JSON),
        (200, "POST", t + "/a:*/resume", {}, JSON),
        (200, "POST", t + "/a:fetch/expire", {"prefix": "z"}, JSON),
        (404, "POST", t + "/z:*/expire", {}, JSON),
        (200, "GET", t + "/b:check/failures?handled=false", None, None),
        (200, "GET", t + "/b:check/failures?group=message", None, None),
        (200, "POST", t + "/b:*/failures/handle", {"message": "x"}, JSON),
        (404, "GET", "/failures/99999", None, None),
        (404, "POST", "/failures/99999/handle", {}, JSON),
        (200, "GET", "/items-config", None, None),
        (200, "GET", "/items-config/files/serve.json", None, None),
        (200, "POST", "/items-config/reload", {}, JSON),
        (200, "GET", "/updates?since=0", None, None),
        (400, "GET", "/updates?since=x", None, None),
        (410, "GET", "/updates?since=99999999", None, None),
        (410, "GET", "/events?since=99999999", None, None),
        (400, "POST", "/worker/fetch", {"lease": "L1", "url": "http://x/"},
         JSON),
        (400, "POST", "/worker/session", {"lease": "L1", "do": "ask",
                                          "name": "s"}, JSON),
        (400, "POST", "/worker/session", {"lease": "L1", "do": "x",
                                          "name": "s"}, JSON),
        (200, "GET", "/worker/config", None, None),
        (400, "GET", "/worker/blob?lease=L1&id=x&name=b", None, None),
        (200, "POST", "/worker/claim", {"worker": "w", "tasks": ["none:*"]},
         JSON),
        (400, "POST", "/worker/claim", {}, JSON),
        (200, "POST", "/worker/heartbeat", {"leases": ["L"]}, JSON),
        (400, "POST", "/worker/read", {"lease": "L"}, JSON),
        (400, "PUT", "/worker/blob?lease=L", "b", "text/plain"),
        (200, "POST", "/worker/complete", {"completions": []}, JSON),
        (200, "POST", "/worker/release", {"leases": ["L"]}, JSON),
        (200, "GET", "/openapi/items.json", None, None),
        (200, "POST", i + "/rename", {"to": f"renamed:{word}"}, JSON),
        (200, "POST", f"/items/target:{word}", {}, JSON),
        (200, "POST", i + "/merge", {"into": f"target:{word}"}, JSON),
        (200, "DELETE", i, None, None),
    ]


def as_the_document_says(s):
    status, text = s.ask("GET", "/openapi/items.json")
    d = Document(text)
    same("document: its status", status, 200)
    for word in ("operations", "tasks"):
        for want, method, path, body, type_ in requests(word):
            status, value = s.ask(method, path, body, type_)
            name = f"{word}: {method} {path}"[:90]
            # An upsert makes what is not there.
            fine = status == want or (want == 200 and status == 201)
            if check(f"{name} is {want}", fine, (status, value)):
                fault = d.judge(method, path, status, s.type, value)
                if fault:
                    check(f"{name} is as the document says", False, fault)
        for path in ("/items", "/tags", f"/{word}", "/tags/page/worklist",
                     f"/{word}/b:check/failures"):
            status, value = s.ask("GET", path, Accept=LINES)
            same(f"{word}: {path} as lines", (status, d.judge(
                "GET", path, status, s.type, value)), (200, None))
    status, value = s.ask("GET", "/events?since=0", **{"Last-Event-ID": "x"})
    same("GET /events with a bad Last-Event-ID", status, 400)
    d.answered.add(("get", "/events"))
    same("document: each of its requests was made", d.left(), [])


def validator(s):
    modules = node_with("openapi-validator", VALIDATOR)
    if modules is None:
        skip("validator", "npm has none for us")
        return
    with open("openapi.json", "wb") as f:
        f.write(s.http("/openapi/items.json")[2])
    with open("validate.mjs", "w") as f:
        f.write('import { readFileSync } from "node:fs";\n'
                'import { createRequire } from "node:module";\n'
                f'const require = createRequire("{modules}/x.js");\n'
                "const { Validator } = await import(require.resolve("
                '"@seriousme/openapi-schema-validator"));\n'
                "const found = await new Validator().validate(JSON.parse("
                'readFileSync("openapi.json")));\n'
                "console.log(JSON.stringify(found.errors ?? null));\n"
                "process.exit(found.valid ? 0 : 1);\n")
    code, out, err = run("node", "validate.mjs", seconds=60)
    check("validator: it is OpenAPI 3.1", code == 0, (out + err)[:500])


# ---- Workers ---------------------------------------------------------------------

def worker(s, language, *more, out=subprocess.PIPE):
    place = os.path.join(SOURCE, "examples")
    command = {"python": [sys.executable, f"{place}/worker.py"],
               "javascript": ["node", f"{place}/worker.mjs"]}[language]
    return start([*command, s.url, "demo:words", *more],
                 stdout=out, stderr=subprocess.STDOUT, text=True,
                 env=dict(os.environ, ARGIOPE_TOKEN=s.token or ""))


def short(name):
    with open(os.path.join(SOURCE, "examples", name)) as f:
        n = sum(bool(line.strip()) for line in f)
    check(f"{name} has 30 lines", n <= 30, n)


def lines_of(name):
    with open(name) as f:
        return f.read().splitlines()


def two_workers(s):
    """600 items, three workers of two languages: each item is processed once."""
    n = 600
    languages = ["python", "python"]
    if shutil.which("node"):
        languages.append("javascript")
    else:
        skip("workers: JavaScript", "there is no node")
    outs, children = [f"worker{i}.out" for i in range(len(languages))], []
    for language, out in zip(languages, outs):
        with open(out, "w") as f:
            children.append(worker(s, language, out=f))
    # All wait before there is work, so that the first cannot do it alone.
    check("workers: they wait", wait_until(
        lambda: s.waiting() == (len(languages), 0), 60))
    lines = "".join(json.dumps({
        "id": f"words:{i}", "tags": ["words"],
        "data": {"text": f"w{i} " + "word " * (i % 7)}}) + "\n"
        for i in range(n))
    same("workers: items are made", s.ask(
        "POST", "/items/add", lines, LINES)[1]["new"], n)
    wait_until(lambda: sum(len(lines_of(o)) for o in outs) >= n, 120)
    for child in children:
        end(child)
    done_ = [x.split()[0] for o in outs for x in lines_of(o)
             if x.endswith(" applied")]
    same("workers: each item once", (len(done_), len(set(done_))), (n, n))
    check("workers: all had some", all(lines_of(o) for o in outs),
          [len(lines_of(o)) for o in outs])
    item = s.ask("GET", "/items/words:13")[1]
    same("workers: data", item["data"]["title"], "w13")
    found = s.ask("GET", "/items/words:13/metadata?tasks=demo:words")[1]
    same("workers: metadata", found["metadata"]["demo:words"]["metadata"],
         {"words": 7})
    used = s.ask("GET", "/tasks/demo:words")[1]
    same("workers: their pairs", (used["counts"]["fresh"],
                                  used["used"]["runs"]), (n, n))


def failing(s):
    s.ask("POST", "/items/words:none", {"data": {}, "tags": ["words"]})
    for language in ("python", "javascript"):
        if language == "javascript" and not shutil.which("node"):
            continue
        child = worker(s, language, "once")
        child.communicate(timeout=60)
        same(f"failing: {language} ends by itself", child.returncode, 0)
        groups = s.ask("GET", "/tasks/demo:words/failures?group=message&"
                       "handled=false")[1]["groups"]
        check(f"failing: {language} says why", any(
            "text" in g["message"] or "split" in g["message"]
            for g in groups), groups)
        handled = s.ask("POST", "/tasks/demo:words/failures/handle", {})[1]
        same(f"failing: {language} is handled and tried again",
             handled["requeued"], 1)
    s.ask("DELETE", "/items/words:none")


def conflict(s):
    s.ask("POST", "/items/conflict", {"data": {"n": 1}, "tags": ["check"]})
    lease = s.claim("b:check")[0]
    same("conflict: the item", lease["item"]["rev"], 1)
    s.ask("PATCH", "/items/conflict", {"n": 10})
    change = {"op": "updateData", "id": "conflict", "rev": 1,
              "data": {"n": 2}}
    got = s.complete(lease["lease"], mutations=[change])
    same("conflict: it is one", (got["status"], got["current"]["items"][
        "conflict"]["rev"]), ("conflict", 2))
    same("conflict: nothing was changed",
         s.ask("GET", "/items/conflict")[1]["data"], {"n": 10})
    change = {"op": "updateData", "id": "conflict", "rev": 2,
              "data": {"n": 11}}
    got = s.complete(lease["lease"], mutations=[change])
    same("conflict: made again", (got["status"], got["effects"]),
         ("applied", ["updated"]))
    got = s.complete(lease["lease"], mutations=[change])
    same("conflict: repeated", got["status"], "applied")
    same("conflict: applied once",
         s.ask("GET", "/items/conflict")[1]["rev"], 3)


def lost(s):
    """A lease that is not extended goes to another worker."""
    s.ask("POST", "/items/lost", {"tags": ["page"]})
    lease = s.claim("a:fetch", lease_ms=60000)[0]
    first = lease["lease"]

    def beat(ms):
        return s.ask("POST", "/worker/heartbeat", {
            "leases": [first], "lease_ms": ms})[1]["leases"][first]

    check("lost: it was extended", beat(120000) > lease["lease_until"])
    # A second from now: however slow the machine is, it was held until here.
    beat(1000)

    def pair():
        return s.ask("GET", "/items/lost/operations")[1]["operations"][0]

    # An expired lease is a transient failure: its retry waits for 24 s.
    wait_until(lambda: pair()["state"] == "retry", 60)
    same("lost: it cannot be extended any more", s.ask(
        "POST", "/worker/heartbeat", {"leases": [first]})[1]["leases"],
        {first: None})
    same("lost: it completes nothing", s.complete(first)["status"],
         "lease_lost")
    same("lost: it counts as an attempt",
         (pair()["state"], pair()["attempt"]), ("retry", 1))
    s.ask("DELETE", "/items/lost")


# ---- Events ------------------------------------------------------------------------

def read_stream(s, last, seconds, most):
    """Events of a stream behind `last`, of up to so many, as (id, record)."""
    connection = http.client.HTTPConnection("127.0.0.1", s.http_port,
                                            timeout=seconds)
    fields = {"Last-Event-ID": last} if last else {}
    connection.request("GET", "/events?types=item.new", headers=fields)
    answer = connection.getresponse()
    found, id_ = [], None
    try:
        while len(found) < most:
            line = answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                id_ = line[4:]
            elif line.startswith("data: "):
                found.append((id_, json.loads(line[6:])))
    except (TimeoutError, socket.timeout, http.client.HTTPException):
        pass
    # As a client that is killed: no farewell.
    connection.sock.close()
    connection.close()
    return found


def resumed(s):
    """Cut at random, ten times, while 3,000 items are made."""
    start_at = s.ask("GET", "/updates")
    n, got, last = 3000, [], None
    began = threading.Event()

    def make():
        began.wait()
        for i in range(30):
            s.ask("POST", "/items/add", "".join(
                json.dumps({"id": f"event:{i * 100 + k}", "data": {}}) + "\n"
                for k in range(100)), LINES)
            time.sleep(0.02)

    first = s.ask("POST", "/items/event:before", {})
    same("resumed: begins", (start_at[0], first[0]), (200, 201))
    newest = s.http("/updates")[1]["Argiope-Cursor"]
    thread = threading.Thread(target=make)
    thread.start()
    began.set()
    last, cuts = newest, 0
    while len(got) < n and cuts < 60:
        part = read_stream(s, last, 3, random.randrange(1, 600))
        got += part
        cuts += 1
        if part:
            last = part[-1][0]
    thread.join()
    ids = [r["id"] for _, r in got]
    check("resumed: it was cut", cuts >= 5, cuts)
    same("resumed: no gap", sorted(set(ids)), sorted(
        f"event:{i}" for i in range(n)))
    same("resumed: no duplicate", len(ids), len(set(ids)))
    cursors = [int(c) for c, _ in got]
    check("resumed: cursors rise", cursors == sorted(set(cursors)))
    # The same records as lines.
    lines, since = [], newest
    while True:
        status, fields, text = s.http(
            f"/updates?types=item.new&since={since}&limit=1000")
        if not text.strip():
            break
        lines += [json.loads(x)["id"] for x in text.splitlines()]
        since = fields["Argiope-Cursor"]
    same("resumed: /updates has the same", lines, ids)


# ---- Tokens, restarts, the end -----------------------------------------------------

def tokens(s):
    def add(name, scope):
        code, out, err = run(program(), "token", "add", name, "--data",
                             s.data, "--scope", scope, *s.store)
        same(f"tokens: {name} is made", code, 0)
        return out.strip().splitlines()[-1]

    reader, writer = add("reader", "items:read"), add("writer", "items:write")
    s.watcher = add("watcher", "console:read")
    helper = add("helper", "worker:write")
    claim = ("POST", "/worker/claim", {"worker": "w"})
    # The daemon may have read them before the last was made.
    check("tokens: all are known", wait_until(lambda: (
        s.ask(*claim)[0], s.ask(*claim, token=helper)[0]) == (401, 200), 60))
    make = ("POST", "/items/token", {})
    for name, token, get, post, work in (
            ("none", None, 401, 401, 401), ("reader", reader, 200, 403, 403),
            ("writer", writer, 200, 201, 403),
            ("helper", helper, 403, 403, 200)):
        s.token = token
        same(f"tokens: {name}", (
            s.ask("GET", "/tags")[0], s.ask(*make)[0], s.ask(*claim)[0]),
            (get, post, work))
    s.token = writer
    s.ask("POST", "/items/handled", {"tags": ["check"]})
    lease = s.ask(*claim[:2], {"worker": "w", "tasks": ["b:check"]},
                  token=helper)[1]["leases"][0]["lease"]
    s.ask("POST", "/worker/complete", {"completions": [
        {"lease": lease, "outcome": "failure", "error": {
            "class": "permanent", "message": "m"}}]}, token=helper)
    s.ask("POST", "/tasks/b:check/failures/handle", {"note": "n"})
    failure = s.ask("GET", "/tasks/b:check/failures")[1]["failures"][-1]
    same("tokens: who handled it", (failure["handled_by"], failure["note"]),
         ("writer", "n"))
    s.helper = helper
    for token in (reader, writer, helper):
        check("tokens: none is in the log", token not in s.said())


def restarts(s):
    """kill -9: what was answered is there, and leases of workers survive."""
    s.ask("POST", "/items/kept", {"tags": ["check"]})
    lease = s.claim("b:check")[0]["lease"]
    s.restart(kill=True)
    same("restarts: the item", s.ask("GET", "/items/kept")[0], 200)
    same("restarts: the lease", s.complete(lease, mutations=[
        {"op": "createItem", "id": "by-a-run", "data": {}}])["status"],
        "applied")
    same("restarts: its mutation", s.ask("GET", "/items/by-a-run")[0], 200)
    status, found = s.ask("GET", "/items-config")
    check("restarts: the configuration", found["generation"] >= 1, found)


def generation_of(s):
    """The number of the configuration; a busy store may answer 503."""
    status, found = s.ask("GET", "/items-config")
    if status == 503:
        note(f"items-config: {found}")
        time.sleep(1)
        return generation_of(s)
    check("items-config: 200", status == 200, (status, found))
    return found["generation"]


def hangup(s):
    """SIGHUP reads the configuration again; a faulty one changes nothing."""
    before = generation_of(s)
    with open(s.config, "w") as f:
        json.dump(dict(CONFIG, tags=dict(CONFIG["tags"], more=["b:check"])), f)
    s.child.send_signal(signal.SIGHUP)
    check("hangup: a generation more", wait_until(
        lambda: generation_of(s) == before + 1, 60))
    with open(s.config, "w") as f:
        f.write('{"tags":{"more":["nothing"]}}')
    s.child.send_signal(signal.SIGHUP)
    check("hangup: a faulty one is in the log", wait_until(
        lambda: "items.config_refused" in s.said(), 60))
    same("hangup: the old one stays", generation_of(s), before + 1)
    code, out, err = run(program(), "status", "--data", s.data)
    check("hangup: status says so", "configuration refused" in out, out)


def ends(s):
    """SIGTERM answers a claim and an update that wait, and ends a stream."""
    answers = {}

    def wait_for(name, *question):
        try:
            answers[name] = s.ask(*question, token=s.helper
                                  if name == "claim" else None)[0]
        except (OSError, http.client.HTTPException) as e:
            answers[name] = repr(e)

    threads = [threading.Thread(target=wait_for, args=a) for a in (
        ("claim", "POST", "/worker/claim", {
            "worker": "w", "tasks": ["a:norm"], "wait_ms": 30000}),
        ("updates", "GET", "/updates?wait_ms=30000"),
        ("events", "GET", "/events"))]
    for t in threads:
        t.start()
    check("ends: they wait", wait_until(
        lambda: s.waiting() == (1, 2), 60))
    began_ = time.monotonic()
    same("ends: in order", s.stop(25), 0)
    seconds = time.monotonic() - began_
    for t in threads:
        t.join()
    for name in ("claim", "updates", "events"):
        same(f"ends: {name} was answered", answers[name], 200)
    # A waiting claim would otherwise wait for 30 s.
    check("ends: soon", seconds < 20, seconds)


# ---- The page for users --------------------------------------------------------------

def page(s):
    """The commands of docs/workers.md, in order, but for the daemon's."""
    with open(os.path.join(SOURCE, "docs", "workers.md")) as f:
        text = f.read()
    config = re.search(r"```json\n(.*?)```", text, re.S)[1]
    mine = Items("page", config=json.loads(config))
    out = ""
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        if block.startswith("argiope serve") or "/events" in block or \
                block.startswith("argiope token"):
            continue
        block = block.replace("http://127.0.0.1:8001", mine.url).replace(
            "python3 examples/", f"{sys.executable} {SOURCE}/examples/")
        done_ = subprocess.run(["sh", "-e", "-c", block], timeout=60,
                               capture_output=True, text=True)
        same("page: " + " ".join(block.split())[:60], done_.returncode, 0)
        out += done_.stdout
    for text in ('"new":2', "article:1 applied", '"title":"Spiders"',
                 '"words":5', "KeyError: 'text'", '"requeued":1',
                 "article:3 applied"):
        check(f"page: it shows {text}", text in out, out[-900:])
    same("page: all is fresh", mine.ask("GET", "/tasks/demo:words")[1][
        "counts"]["fresh"], 3)
    mine.stop()


short("worker.py")
short("worker.mjs")
server = Items("serve")
for part in (as_the_document_says, validator, two_workers, failing, conflict,
             lost, resumed, page, restarts, hangup, tokens, ends):
    try:
        part(server)
    except Exception as e:
        check(f"{part.__name__}: goes to its end", False,
              "line %s: %s %s" % (traceback.extract_tb(e.__traceback__)[
                  0 if len(traceback.extract_tb(e.__traceback__)) == 1 else 1
              ].lineno, type(e).__name__, e))
done()
