"""The recipes for tasks that change items: as tasks in JavaScript that run in the
daemon (recipes.js), the same in `argiope worker`, and as a worker of 16 threads
that speaks the worker protocol.  All must leave the same items behind.
"""
import http.server

from items_peer import *

with open(os.path.join(HERE, "recipes.js")) as source:
    RECIPES = source.read()


def data_of(lease):
    return lease["item"]["data"]


class Worker:
    """The same tasks as recipes.js: each returns the mutations of its run."""

    def __init__(self, server, threads=16):
        self.server, self.over = server, threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(i,))
                        for i in range(threads)]
        for t in self.threads:
            t.start()

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join()

    def work(self, number):
        while not self.over.is_set():
            try:
                status, found = self.server.ask("POST", "/worker/claim", {
                    "worker": f"w{number}", "wait_ms": 500,
                    "prefetch": ["source"]})
                for lease in found.get("leases", []):
                    self.run(lease)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)    # the daemon starts again

    def run(self, lease):
        """Computes again after each conflict, as scripts' workers do."""
        for _ in range(50):
            try:
                mutations = getattr(self, lease["task"])(lease)
                end = {"outcome": "success", "mutations": mutations}
            except ValueError as e:
                end = {"outcome": "failure", "error": {
                    "class": "permanent", "message": str(e)}}
            got = self.server.complete(lease["lease"], **end)
            if got["status"] != "conflict":
                return
            item = got["current"]["items"].get(lease["item"]["id"])
            lease["item"] = item or lease["item"]

    def read(self, lease, *ids, metadata=()):
        return self.server.ask("POST", "/worker/read", {
            "lease": lease["lease"], "items": list(ids),
            "metadata": [{"id": lease["item"]["id"], "taskName": t}
                         for t in metadata]})[1]

    def metadata(self, lease):
        """Of the running pair: (what it is, its rev)"""
        found = self.read(lease, metadata=[lease["task"]])["metadata"][0]
        return found["metadata"] or {}, found["rev"]

    def update(self, lease, change, id=None):
        """updateData by compare-and-swap on the item as it is now."""
        id = id or lease["item"]["id"]
        item = self.read(lease, id)["items"][id]
        return {"op": "updateData", "id": id, "rev": item["rev"],
                "data": change(item["data"])}

    def discover(self, lease):
        return [{"op": "createItem", "id": f"found:{i}", "tags": ["found"],
                 "data": {"i": i}} for i in range(1000)]

    def detail(self, lease):
        old, rev = self.metadata(lease)
        runs = old.get("runs", 0)
        return [{"op": "updateMetadata", "rev": rev, "metadata": {
            "price": data_of(lease).get("price", 1), "runs": runs + 1,
            "before": runs}}]

    def notice(self, lease):
        return [{"op": "expire", "taskName": "detail"}] \
            if data_of(lease).get("stale") else []

    def source(self, lease):
        old, rev = self.metadata(lease)
        return [{"op": "updateMetadata", "rev": rev,
                 "metadata": {"n": old.get("n", 0) + 1}},
                {"op": "expire", "taskName": "derive"}]

    def derive(self, lease):
        return [{"op": "updateMetadata",
                 "metadata": {"n": lease["metadata"]["source"]["n"]}}]

    def again(self, lease):
        old, rev = self.metadata(lease)
        return [{"op": "updateMetadata", "rev": rev,
                 "metadata": {"n": old.get("n", 0) + 1}}] + (
                     [{"op": "expire"}] if data_of(lease).get("again") else [])

    def check(self, lease):
        if data_of(lease).get("bad"):
            raise ValueError("a bad part")
        return []

    def unite(self, lease):
        ids = data_of(lease)["others"]
        others = self.read(lease, *ids)["items"]
        new = dict(data_of(lease), names=[others[o]["data"]["name"]
                                          for o in ids])
        list_ = [self.update(lease, lambda _: new)]
        for o in ids:
            new = dict(new, sum=new.get("sum", 0) + others[o]["data"]["price"])
            list_.append({"op": "mergeItem", "from": o,
                          "into": lease["item"]["id"], "data": new,
                          "fromRev": others[o]["rev"]})
        return list_

    def follow(self, lease):
        ids = data_of(lease)["others"]
        others = self.read(lease, *ids)["items"]
        return [self.update(lease, lambda old: dict(
            old, names=[others[o]["data"]["name"] for o in ids]))] + [
                x for o in ids for x in (
                    {"op": "deleteItem", "id": o},
                    {"op": "createAlias", "from": o})]

    def belated(self, lease):
        known, id = data_of(lease)["known"], lease["item"]["id"]
        return [self.update(lease, lambda old: dict(
            old, seen=data_of(lease)["seen"]), known),
                {"op": "deleteItem", "id": id},
                {"op": "createAlias", "from": id, "to": known}]

    def belated2(self, lease):
        known = data_of(lease)["known"]
        into = self.read(lease, known)["items"][known]
        return [{"op": "mergeItem", "into": known, "rev": into["rev"],
                 "data": dict(into["data"], seen=data_of(lease)["seen"])}]

    def slip(self, lease):
        id = lease["item"]["id"]
        return [{"op": "createItem", "id": "made:" + id, "data": {}}] + {
            "rename": [{"op": "renameItem", "to": "slip:target"}],
            "alias": [{"op": "createAlias", "from": "slip:target",
                       "failIfExists": True}],
            "self": [{"op": "deleteAlias", "from": id}],
            "delete": [{"op": "updateData", "data": {"n": 1}},
                       {"op": "deleteItem"}]}[data_of(lease)["slip"]]

    def count(self, lease):
        return [self.update(lease, lambda old: {"n": old["n"] + 1},
                            "counter")]

    def proxy(self, lease):
        other = data_of(lease).get("answers")
        return [{"op": "completeFor", "id": other,
                 "metadata": {"by": "proxy"}}] if other else []

    def page(self, lease):
        return [{"op": "createItem", "id": "thing:1", "data": {},
                 "createdBy": "home"},
                {"op": "createItem", "id": "thing:2", "data": {}},
                {"op": "deleteItem"}]

    def rated(self, lease):
        return []


class OurWorker:
    """`argiope worker` with recipes.js, as the daemon has it."""

    def __init__(self, server):
        self.server = server
        with open("worker.token", "w") as f:
            f.write("none\n")          # loopback needs none
        with open("worker.log", "w") as log:
            self.child = start([
                program(), "worker", "--url", server.url, "--token-file",
                "worker.token", "--config", server.config], stdout=log,
                stderr=log)

    def stop(self):
        self.child.terminate()
        same(f"{self.server.name}: it ends in order", self.child.wait(20), 0)


class Members(http.server.ThreadingHTTPServer):
    """A site behind a login; `valid` is the session that it accepts."""

    def __init__(self):
        self.logins, self.valid, self.pages = 0, 0, 0
        super().__init__(("127.0.0.1", 0), MembersPage)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class MembersPage(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, fields, site = 200, {}, self.server
        with lock:
            if self.path == "/login":
                site.logins += 1
                site.valid += 1
                fields["Set-Cookie"] = f"sid={site.valid}; Path=/"
            elif f"sid={site.valid}" not in self.headers.get("Cookie", ""):
                status = 403 if self.path.startswith("/members/") else 404
            else:
                site.pages += 1
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


# ---- Questions ---------------------------------------------------------------------

class Recipes(Items):
    """A daemon with recipes.js, whose tasks run in it or in a Worker."""

    def __init__(self, name, worker=None):
        self.site = Members()
        self.module = RECIPES.replace("8077", str(self.site.server_port))
        if worker:
            self.module = self.module.replace(
                'version: "1",', 'version: "1", remote: true,')
        super().__init__(name, config=self.module)
        self.worker = worker(self) if worker else None

    def make(self, id, *tags, **data):
        self.ask("POST", "/items/" + id, {"tags": list(tags), "data": data})

    def item(self, id):
        return self.ask("GET", "/items/" + id)[1]

    def pair(self, id, task):
        """Its row of /operations; None: the item has none."""
        list_ = self.ask("GET", f"/items/{id}/operations")[1]
        return next((x for x in list_.get("operations", [])
                     if x["task"] == task), None)

    def state(self, id, task):
        found = self.pair(id, task)
        return found and found["state"]

    def becomes(self, id, task, state, seconds=15):
        return wait_until(lambda: self.state(id, task) == state, seconds)

    def metadata(self, id, task):
        found = self.ask("GET", f"/items/{id}/metadata?tasks={task}")[1]
        return (found["metadata"].get(task) or {}).get("metadata")

    def runs_of(self, task):
        return self.ask("GET", f"/tasks/{task}")[1]["used"]["runs"]

    def last_run(self, id, task):
        list_ = self.ask("GET", f"/items/{id}/operations/{task}/runs")[1]
        return self.ask("GET", "/runs/" + list_["runs"][0]["run"])[1]

    def task(self, task, what, **body):
        return self.ask("POST", f"/tasks/{task}/{what}", body)

    def expire(self, id, task):
        self.ask("POST", f"/items/{id}/operations/{task}/expire", {})


cases = CasesOf(OneCase)


# ---- The recipes -------------------------------------------------------------------

@cases("discovery")
def discovery(t):
    """New items are discovered during a task: 300 of 1,000 are known."""
    s = t.server
    s.ask("POST", "/items/add", "".join(json.dumps(
        {"id": f"found:{i}", "data": {"known": True}}) + "\n"
        for i in range(300)), LINES)
    s.make("list", "discover")
    t.check("it ends", s.becomes("list", "discover", "fresh"))
    effects = [m["effect"] for m in s.last_run("list", "discover")[
        "mutations"]]
    t.same("its effects", (effects.count("new"), effects.count("skipped")),
           (700, 300))
    t.same("known items stay as they are", s.item("found:7")["data"],
           {"known": True})
    new = s.item("found:999")
    t.same("new ones name their maker", (new["data"], new["created_by"]),
           ({"i": 999}, "list"))


@cases("stale metadata of another task")
def stale_metadata(t):
    """It is expired, and runs again once no pair is unprocessed."""
    s = t.server
    s.make("fact", "fact", stale=False)
    s.becomes("fact", "detail", "fresh")
    s.becomes("fact", "notice", "fresh")
    s.task("detail", "pause")
    for i in range(12):
        s.make(f"fact:{i}", "fact")
    s.make("fact", stale=True)
    s.expire("fact", "notice")
    t.check("it is stale", s.becomes("fact", "detail", "stale"))
    t.same("it still has its metadata", s.metadata("fact", "detail")["runs"],
           1)
    s.task("detail", "resume")
    t.check("it runs again", s.becomes("fact", "detail", "fresh"))
    others = [s.last_run(f"fact:{i}", "detail")["started_at"]
              for i in range(12)]
    t.check("after all unprocessed pairs", max(others) <= s.last_run(
        "fact", "detail")["started_at"], others)
    t.same("it got its own stale metadata", s.metadata("fact", "detail"),
           {"price": 1, "runs": 2, "before": 1})


@cases("dependent run again")
def dependent(t):
    s = t.server
    s.make("chain", "chain")
    for n in (1, 2, 3):
        t.check(f"after run {n} of its source", wait_until(
            lambda: s.metadata("chain", "derive") == {"n": n}, 15),
            s.metadata("chain", "derive"))
        if n < 3:
            s.expire("chain", "source")
    s.becomes("chain", "derive", "fresh")
    time.sleep(0.7)
    t.same("without a hot loop", (s.runs_of("source"), s.runs_of("derive")), (3, 3))


@cases("self-expiry")
def self_expiry(t):
    s = t.server
    s.make("again", "again", again=True)
    t.check("it is stale after its run", s.becomes("again", "again", "stale"))
    first = s.last_run("again", "again")["started_at"]
    t.same("it waits for minInterval", s.runs_of("again"), 1)
    s.make("again", again=False)
    t.check("then it runs", s.becomes("again", "again", "fresh"))
    run_ = s.last_run("again", "again")
    t.same("so often", s.metadata("again", "again"), {"n": 2})
    apart = seconds_of(run_["started_at"]) - seconds_of(first)
    t.check("not before minInterval", apart >= 1.5, apart)


def seconds_of(time_):
    """Of the day, of an RFC 3339 time."""
    h, m, sec = time_[11:-1].split(":")
    return int(h) * 3600 + int(m) * 60 + float(sec)


@cases("others merged into self")
def merged(t):
    s = t.server
    for name, price in (("b", 2), ("c", 3)):
        s.make("part:" + name, "part", f"only-{name}", name=name, price=price,
               bad=name == "c")
        s.ask("PUT", f"/items/part:{name}/blobs/{name}", name.encode(),
              "text/plain")
        s.becomes("part:" + name, "detail", "fresh")
    t.check("a part has failed", s.becomes("part:c", "check", "failed"))
    s.make("part:a", "unite", others=["part:b", "part:c"])
    t.check("it ends", s.becomes("part:a", "unite", "fresh"),
            s.pair("part:a", "unite"))
    item = s.item("part:c")
    t.same("old ids resolve", (item["id"], s.item("part:b")["id"]),
           ("part:a", "part:a"))
    t.same("data", (item["data"]["names"], item["data"]["sum"]),
           (["b", "c"], 5))
    t.same("aliases", item["aliases"], ["part:a", "part:b", "part:c"])
    t.same("tags", {x["name"] for x in item["tags"]},
           {"unite", "part", "only-b", "only-c"})
    t.same("blobs", [b["name"] for b in s.ask(
        "GET", "/items/part:a/blobs")[1]["blobs"]], ["b", "c"])
    t.same("metadata: the newest", s.metadata("part:a", "detail")["price"], 3)
    failures = s.ask("GET", "/tasks/check/failures")[1]["failures"]
    t.same("failures", [f["item"] for f in failures], ["part:a"])


@cases("others deleted, ids kept as aliases")
def followed(t):
    s = t.server
    for name in "bc":
        s.make("gone:" + name, "x", name=name)
    s.make("gone:a", "follow", others=["gone:b", "gone:c"])
    t.check("it ends", s.becomes("gone:a", "follow", "fresh"),
            s.pair("gone:a", "follow"))
    item = s.item("gone:c")
    t.same("old ids resolve", (item["id"], item["aliases"]),
           ("gone:a", ["gone:a", "gone:b", "gone:c"]))
    t.same("data", item["data"]["names"], ["b", "c"])


@cases("belated duplicate")
def belated(t):
    """By update, delete and alias, and as one mergeItem."""
    s = t.server
    for n, tag in enumerate(("belated", "belated2")):
        s.make(f"known:{n}", "x", title="T")
        s.make(f"dup:{n}", tag, known=f"known:{n}", seen=n)
        t.check(f"{tag}: its id resolves", wait_until(
            lambda: s.item(f"dup:{n}")["id"] == f"known:{n}", 15),
            s.pair(f"dup:{n}", tag))
        t.same(f"{tag}: data", s.item(f"known:{n}")["data"],
               {"title": "T", "seen": n})
    list_ = s.ask("GET", "/items?prefix=dup:")[1]["items"]
    t.same("the duplicates are gone", list_, [])


@cases("metadata for another item")
def for_another(t):
    s = t.server
    s.task("proxy", "pause")
    s.make("other", "proxy")
    t.same("it is unprocessed", s.state("other", "proxy"), "unprocessed")
    s.make("first", "proxy", answers="other")
    s.ask("POST", "/items/first/operations/proxy/expire", {"now": True})
    before = s.runs_of("proxy")
    s.ask("DELETE", "/items/other/tags/proxy")
    s.task("proxy", "resume")
    t.check("it ends", s.becomes("first", "proxy", "fresh"))
    t.same("the other has the result", s.metadata("other", "proxy"),
           {"by": "proxy"})
    s.make("other", "proxy")
    t.same("which is fresh, without a run", (
        s.state("other", "proxy"), s.runs_of("proxy") - before), ("fresh", 1))


@cases("createdBy over an item on the way")
def created_by(t):
    s = t.server
    s.make("page", "page")
    t.check("the page is gone", wait_until(
        lambda: s.ask("GET", "/items/page")[0] == 404))
    t.same("explicitly", s.item("thing:1")["created_by"], "home")
    t.same("without it: nobody's, as the page had no maker",
           s.item("thing:2")["created_by"], None)


@cases("identifiers")
def identifiers(t):
    """A refused mutation fails the run, and nothing of it is applied."""
    s = t.server
    s.make("slip:target", "x")
    for slip in ("rename", "alias", "self", "delete"):
        id = "slip:" + slip
        s.make(id, "slip", slip=slip)
        t.check(f"{slip}: it is parked", s.becomes(id, "slip", "failed"),
                s.pair(id, "slip"))
        t.same(f"{slip}: nothing is applied", (
            s.ask("GET", "/items/made:" + id)[0], s.item(id)["data"],
            s.item(id)["aliases"]), (404, {"slip": slip}, [id]))
    # An alias of an alias leads to the item itself.
    s.ask("PUT", "/items/slip:target/aliases/al1", {})
    s.ask("PUT", "/items/al1/aliases/al2", {})
    s.ask("DELETE", "/items/slip:target/aliases/al1")
    t.same("an alias of an alias is of the item",
           s.item("al2")["id"], "slip:target")


@cases("16 workers update one item")
def counter(t):
    s, n = t.server, 100
    s.make("counter", n=0)
    s.ask("POST", "/items/add", "".join(json.dumps(
        {"id": f"count:{i}", "tags": ["count"], "data": {}}) + "\n"
        for i in range(n)), LINES)
    t.check("all are done", wait_until(lambda: s.ask("GET", "/tasks/count")[
        1]["counts"]["fresh"] == n, 40), s.ask("GET", "/tasks/count")[1])
    t.same("the counter is exact", s.item("counter")["data"], {"n": n})


@cases("buckets over a restart")
def buckets(t):
    """Global, group, task, tag and set of tags together; kill -9 in between
    gives no burst."""
    s, n = t.server, 10
    s.ask("POST", "/items/add", "".join(json.dumps(
        {"id": f"rated:{i}", "tags": ["rated", "site=eu"], "data": {}}) + "\n"
        for i in range(n)), LINES)
    wait_until(lambda: s.ask("GET", "/tasks/rated")[1]["counts"]["fresh"] >= 4)
    s.restart(kill=True)
    wait_until(lambda: s.ask("GET", "/items-config")[1]["generation"])
    # An item that a worker held at the kill comes back when its lease ends.
    t.check("all are done", wait_until(lambda: s.ask("GET", "/tasks/rated")[
        1]["counts"]["fresh"] == n, 90), s.ask("GET", "/tasks/rated")[1])
    began = sorted(seconds_of(s.last_run(f"rated:{i}", "rated")["started_at"])
                   for i in range(n))
    # A run may begin a little after its claim.
    five = [b - a for a, b in zip(began, began[4:])]
    t.check("5 in a second, at any time", min(five) > 0.5, five)
    s.make("rated:us", "rated")
    t.check("another set of tags has other buckets", s.becomes(
        "rated:us", "rated", "fresh", 1))


# Cases for tasks in JavaScript only: sessions and simulation.
script_cases = CasesOf(OneCase)


@script_cases("fifty tasks share a login")
def login(t):
    s, n = t.server, 50
    for round_ in (1, 2):
        s.ask("POST", "/items/add", "".join(json.dumps(
            {"id": f"m:{round_}:{i}", "tags": ["member"], "data": {}}) + "\n"
            for i in range(n)), LINES)
        t.check(f"round {round_} ends", wait_until(lambda: s.ask(
            "GET", "/tasks/member")[1]["counts"]["fresh"] == n * round_, 20),
            s.ask("GET", "/tasks/member")[1])
        t.same(f"round {round_}: logins", s.site.logins, round_)
        t.same(f"round {round_}: pages", s.site.pages, n * round_)
        s.site.valid += 1           # the site has forgotten all
    t.same("what the login noted", s.metadata("m:2:7", "member"),
           {"who": "demo", "status": 200})


@script_cases("a simulation stores nothing")
def simulation(t):
    s = t.server
    s.make("sim", "member", "x", n=1)
    s.becomes("sim", "member", "fresh")
    cursor = s.http("/updates")[1]["Argiope-Cursor"]
    before = s.item("sim"), s.ask("GET", "/items/sim/metadata?tasks=member"), \
        s.runs_of("member"), archived(s)
    t.check("its page is archived", before[3] > 0, before)
    status, found = s.ask("POST", "/items/sim/operations/member/simulate", {
        "module": s.module.replace("updateMetadata(() => ({ who:",
                                  "updateMetadata(() => ({ new: 1, who:")})
    t.same("it would change", (status, found["ok"], "/new" in json.dumps(
        found["mutations"])), (200, True, True))
    t.same("it has changed nothing", (
        s.item("sim"), s.ask("GET", "/items/sim/metadata?tasks=member"),
        s.runs_of("member"), archived(s)), before)
    t.same("no event", s.http("/updates")[1]["Argiope-Cursor"], cursor)


def archived(s):
    """Bytes of the archive's files, finished or not."""
    return sum(os.path.getsize(os.path.join(place, name))
               for place, _, names in os.walk(s.data + "/archive")
               for name in names if "warc" in name)


def run_mode(name, worker):
    server = Recipes(name, worker)
    for case, f in cases.all + ([] if worker is Worker else script_cases.all):
        if not sys.argv[1:] or case in sys.argv[1:]:
            cases.run_case(f"{name}: {case}", f, (server,))
    if server.worker:
        server.worker.stop()
    same(f"{name}: the daemon ends in order", server.stop(), 0)
    code, out, err = run(program(), "items", "check", "--data", server.data,
                         *server.store)
    check(f"{name}: items check finds nothing", code == 0, out + err)


def guarded(*mode):
    try:
        run_mode(*mode)
    except Exception as e:
        check(f"{mode[0]}: goes to its end", False,
              f"{type(e).__name__}: {e}")


modes = [threading.Thread(target=guarded, args=mode) for mode in (
    ("embedded", None), ("remote", Worker), ("worker", OurWorker))]
for mode in modes:
    mode.start()
for mode in modes:
    mode.join()
done()
