"""external.archive: the answers that tasks were given are in WARC files of their
own, also what the back end has had by the time of a kill -9; without it there are
none.  Checks and runs by hand are not archived.  No secret is in a record, an
index or the rest of the data directory: of declared connectors, of a module, and
tokens that are renewed while a task runs.

usage: external_archive.sh [KILLS]
"""
import base64
import glob
import random
import secrets as chance

from canaries import Canaries, members_of
from external_oauth_peer import *
from external_peer import PAGE

need("external archive", "openssl", files=[GRANT])
KILLS = int((sys.argv[1:] + ["4"])[0])
ITEMS = 100 * max(KILLS, 4)
HOST = "api.test"
PLANTED = "planted" + chance.token_hex(8)
ODD = 'p\u00e4ss/+ "'                  # is written in several ways
canaries = Canaries(planted=PLANTED, **{name: prefix + chance.token_hex(16)
    for name, prefix in (("password", ODD), ("parameter", ODD), ("key", "key"),
                         ("custom", "custom"), ("replaced", "replaced"),
                         ("cookie", "cookie"))})
C = canaries.texts


# ---- The API ---------------------------------------------------------------------

class Served(Api):
    """Notes each answer that was given whole.  Below /link the next page's address
    repeats the token; below /oauth that must be one of the provider's."""

    def __init__(self, provider):
        self.provider, self.served, self.sent = provider, [], []
        super().__init__(HOST)

    def answer(self, request):
        path = urllib.parse.urlsplit(request.path).path
        sent = request.headers["Authorization"] or ""
        self.sent.append((request.path, dict(request.headers)))
        self.more = []
        if path.startswith("/oauth") and not self.provider.takes(
                sent.removeprefix("Bearer ")):
            self.send(request, 401, {})
        elif path.startswith("/oauth"):
            self.answer_with_link(request, sent.removeprefix("Bearer "))
        else:
            super().answer(request)

    def answer_with_link(self, request, token):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
            request.path).query))
        time.sleep(self.delay_s)
        first = int(query.get("after", 0))
        left = self.items[first:]
        if len(left) > PAGE:
            self.more = [("Link", f"<{self.base}/oauth/a?after={first + PAGE}"
                          f"&page={token}>; rel=\"next\"")]
        self.send(request, 200, {"items": left[:PAGE]})

    def do_post(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.sent.append((request.path, body.decode()))
        self.more = [("Set-Cookie", "sid=" + C["cookie"])]
        self.send(request, 200, {"welcome": PLANTED})

    def send(self, request, status, value):
        body = json.dumps(value).encode()
        request.send_response(status)
        for name, text in (("Content-Type", "application/json"),
                           ("Content-Length", str(len(body))), *self.more):
            request.send_header(name, text)
        request.end_headers()
        request.wfile.write(body)
        request.wfile.flush()
        self.served.append((request.path, status, body))

    def forget(self):
        super().forget()
        self.served.clear(), self.sent.clear()

    def declared(self, name, auth=None, path="/{kind}", **changes):
        api = {"url": self.base + path, "label": "things", "items": "/items",
               "id": "/id", "next": {"cursor": "/next", "parameter": "after"},
               **changes.pop("api", {})}
        if auth:
            api["auth"] = auth
        return self.connector(name, api=api, parameters={
            "type": "object", "required": ["kind"], "properties": {
                "kind": {"title": "Kind", "x-ui": "string"},
                "pin": {"title": "Pin", "x-ui": "password"}}}, **changes)


def module():
    return put("scripted.js", """export default {
  name: "scripted", version: "1", title: "T", description: "d",
  serves: ["external"], hosts: %s, credential: { external: "basic" },
  parameters: { type: "object", required: ["kind"], properties: {
    kind: { title: "Kind", "x-ui": "string" },
    pin: { title: "Pin", "x-ui": "password" } } },
  schema: { type: "object", required: ["id"] }, docIdField: "id",
  async run(ctx) {
    const base = "%s", shop = await ctx.session("shop");
    await shop.fetch(base + "/login", { method: "POST", json: {
      name: ctx.params.kind, password: "{{credential.password}}" } });
    await shop.fetch(base + "/form", { method: "POST", form: {
      name: ctx.params.kind, password: "{{credential.password}}" } });
    let after = 0;
    for (;;) {
      const page = (await shop.fetch(base + "/" + ctx.params.kind + "?after=" +
        after + "&pin=" + ctx.params.pin, { auth: "basic", headers: {
          "X-Custom": "{{credential.custom}}" } })).json();
      await ctx.emit(page.items, "things");
      if (page.next === undefined) break;
      after = Number(page.next);
    }
  }
};
""" % (json.dumps([HOST, f"{HOST}:{api.server.server_address[1]}"]),
       api.base))


# ---- What is archived --------------------------------------------------------------

def crawls_of(s, name):
    """Crawls of that task's archive, the oldest first."""
    listed = json.loads(ours("status", "--json", "--data", s.data)[1])
    return sorted((c for c in listed["crawls"] if c["name"].startswith(
        "external task ") and c["name"].endswith(name)),
        key=lambda c: c["id"])


def files_of(s, crawl=None):
    place = "*" if crawl is None else f"crawl-{crawl}"
    return sorted(glob.glob(f"{s.data}/archive/{place}/*.warc.gz"))


def unpacked(s, crawl):
    """All members, of the file that is open, too."""
    place = f"{s.data}/archive/crawl-{crawl}"
    out = b""
    for path in files_of(s, crawl) + glob.glob(
            f"{place}/.argiope/**/*.open", recursive=True):
        with open(path, "rb") as f:
            out += members_of(f.read())
    return out


def exchanges(s, crawl):
    """(path, status, body) of each response, in the order of the files."""
    from warcio.archiveiterator import ArchiveIterator
    found = []
    for path in files_of(s, crawl):
        with open(path, "rb") as f:
            for r in ArchiveIterator(f):
                if r.rec_type != "response":
                    continue
                uri = r.rec_headers.get_header("WARC-Target-URI")
                found.append((uri.removeprefix(api.base), int(
                    r.http_headers.get_statuscode()),
                    r.content_stream().read()))
    return found


def is_complete(s, name):
    return wait_until(lambda: {c["state"] for c in crawls_of(s, name)} ==
                      {"complete"}, 10)



# ---- Tasks --------------------------------------------------------------------------

def off():
    s = External("off", place, *api.settings[1::2])
    s.task("o1", b.endpoint("o1"), {"kind": "a"}, "plain")
    same("off: done", s.ends("o1", connector="plain"), "done")
    same("off: documents", len(b.ids("o1")), 45)
    same("off: no crawl of an archive", crawls_of(s, "o1"), [])
    same("off: no file", glob.glob(s.data + "/archive/**/*.warc*",
                                   recursive=True), [])
    same("off: it ends", s.stop(), 0)
    api.forget()


def on():
    s = External("on", place, "external.archive=on",
                 "fetch.allow_private=true", *api.settings[1::2])
    api.statuses = {3: 503}
    s.task("a1", b.endpoint("a1"), {"kind": PLANTED}, "plain")
    same("on: done", s.ends("a1", connector="plain"), "done")
    same("on: documents", len(b.ids("a1")), 45)
    check("on: its crawl is complete", is_complete(s, "/plain/a1"),
          crawls_of(s, "a1"))
    crawl = crawls_of(s, "/plain/a1")
    same("on: one crawl", len(crawl), 1)
    check("on: the task's log names it", any(
        f"crawl {crawl[0]['id']}" in x["text"] for x in s.ask(
            "GET", "/external/plain/task/a1/log")[1]["payload"]["lines"]))
    same("on: each answer has a record, the 503 as well",
         exchanges(s, crawl[0]["id"]), api.served)
    same("on: six answers", [x[1] for x in api.served],
         [200, 200, 503, 200, 200, 200])
    unarchived(s)
    s.task("w1", b.endpoint("w1"), {"seeds": [
        f"http://127.0.0.1:{site.server_address[1]}/"], "depth": 0},
        "web_crawl")
    same("web_crawl: done", s.ends("w1", connector="web_crawl"), "done")
    kept(s)


def unarchived(s):
    before = files_of(s)
    code, said = s.ask("POST", "/external/plain/check", {
        "params": {"kind": "c"}})
    same("check: it is right", (code, said["payload"]["ok"]), (200, True))
    code, said = s.ask("POST", "/external/plain/run", {
        "params": {"kind": "d"}, "documents_max": 20})
    same("a run by hand: it answers", code, 200)
    same("neither is archived", (files_of(s), len([
        c for c in json.loads(ours("status", "--json", "--data", s.data)[1])[
            "crawls"] if c["name"].startswith("external task ")])),
        (before, 1))


def kept(s):
    """The archive outlives its task, and so does a crawl of web_crawl."""
    def web():
        listed = json.loads(ours("status", "--json", "--data", s.data)[1])
        return [c["id"] for c in listed["crawls"] if c["kind"] == "crawl"]

    before = {p: os.path.getsize(p) for p in files_of(s)}
    crawl = web()
    s.settings += ["external.keep_s=1"]
    time.sleep(2)
    s.restart()
    check("the task is deleted", wait_until(lambda: s.ask(
        "GET", "/external/plain/task/a1")[0] == 404, 30))
    same("its archive stays", {p: os.path.getsize(p) for p in files_of(s)},
         before)
    same("... and its crawl", len(crawls_of(s, "/plain/a1")), 1)
    same("... and that of web_crawl", (len(crawl), web()), (1, crawl))
    same("on: it ends", s.stop(), 0)
    code, out, err = ours("archive", "check", "--data", s.data)
    check("on: archive check", code == 0, out + err)
    code, out, err = ours("archive", "reindex", "--rebuild", "--data", s.data)
    check("on: the index can be made again", code == 0, out + err)
    s.start()
    check("... its crawl ends again", is_complete(s, "/plain/a1"),
          crawls_of(s, "/plain/a1"))
    code, out, err = ours("harvest", "list", "--data", s.data)
    check("... and is no harvest", code == 0 and "external task" not in out,
          out + err)
    same("... it ends", s.stop(), 0)
    api.forget()


def killed():
    """What the back end has is in the files, whenever the daemon dies."""
    own = token(os.path.join(PLACE, "killed"), "acme")
    backends = put("killed-backends.json", [{
        "name": "acme", "token": "acme", "prefix": b.base + "/tasks",
        "batch_documents": PAGE}])
    os.chmod(backends, 0o600)
    s = External("killed", place, "external.archive=on",
                 "external.backends_file=" + backends, *api.settings[1::2])
    s.token = own
    api.items = [api.item(i) for i in range(1, ITEMS + 1)]
    api.delay_s = 0.03
    s.task("k1", b.endpoint("k1"), {"kind": "k"}, "plain")
    wait_until(lambda: crawls_of(s, "/plain/k1"), 10)
    crawl = crawls_of(s, "/plain/k1")[0]["id"]
    had = set()
    for i in range(KILLS):
        wait_until(lambda: len(b.ids("k1")) > len(had), 30)
        time.sleep(random.uniform(0, ITEMS / PAGE / (KILLS + 2) *
                                  api.delay_s))
        s.kill()
        had = set(b.ids("k1"))
        archived = {int(x) for x in re.findall(rb'\{"id": (\d+)',
                                               unpacked(s, crawl))}
        check(f"kill {i + 1}: the {len(had)} documents of the back end are "
              f"archived", had <= archived, had - archived)
        s.start()
    check("the kills came in the middle", len(b.ids("k1")) < ITEMS)
    same("killed: done", s.ends("k1", 60, connector="plain"), "done")
    same("killed: every document", b.ids("k1"), [*range(1, ITEMS + 1)])
    check("killed: its crawl is complete", is_complete(s, "/plain/k1"),
          crawls_of(s, "/plain/k1"))
    same("killed: one crawl, taken up each time",
         [c["id"] for c in crawls_of(s, "/plain/k1")], [crawl])
    archived = exchanges(s, crawl)
    check("killed: no record of what the API has not served",
          all(x in api.served for x in archived))
    same("killed: the documents of the records",
         sorted({i["id"] for x in archived for i in json.loads(x[2])[
             "items"]}), [*range(1, ITEMS + 1)])
    note(f"{KILLS} kills: {len(api.served)} answers, {len(archived)} records")
    same("killed: a number for each record", crawls_of(s, "/plain/k1")[0][
        "counts"]["items"], len(archived))
    # A restart in order, and a task that is closed meanwhile.
    api.forget()
    s.task("k2", b.endpoint("k2"), {"kind": "k"}, "plain")
    wait_until(lambda: len(b.ids("k2")) > 30, 30)
    crawl = crawls_of(s, "/plain/k2")[0]
    s.restart()
    same("restart: the crawl goes on", [(c["id"], c["state"]) for c in
         crawls_of(s, "/plain/k2")], [(crawl["id"], "running")])
    wait_until(lambda: len(b.ids("k2")) > 100, 30)
    same("closed by its back end: 200", s.ask(
        "PATCH", "/external/plain/task/k2/status", {"code": 408})[0], 200)
    check("... its crawl is complete", is_complete(s, "/plain/k2"),
          crawls_of(s, "/plain/k2"))
    same("killed: it ends", s.stop(), 0)
    code, out, err = ours("archive", "check", "--data", s.data)
    check("killed: archive check", code == 0, out + err)
    api.items, api.delay_s = api.items[:45], 0
    api.forget()


# ---- Secrets ------------------------------------------------------------------------

def place_of(path):
    name = os.path.basename(path)
    return None if name == "secrets.key" else "CDXJ" if ".cdxj" in name else \
        "WARCs" if ".warc" in name else "store" if name.startswith(
            "store.db") else "index and log"


def secret():
    s = External("secret", place, "external.archive=on",
                 *api.settings[1::2])
    params = {"kind": PLANTED, "pin": C["parameter"]}
    for connector, credential in {
            "basic": {"user": "ada", "password": C["password"]},
            "query": {"user": "ada", "password": C["password"],
                      "key": C["key"]},
            "header": {"user": "ada", "password": C["password"],
                       "key": C["key"]},
            "scripted": {"user": "ada", "password": C["password"],
                         "custom": C["custom"]}}.items():
        api.sent.clear(), api.served.clear()
        fid = "s-" + connector
        s.task(fid, b.endpoint(fid), params, connector, credential=credential)
        same(f"{connector}: done", s.ends(fid, connector=connector), "done")
        same(f"{connector}: documents", len(b.ids(fid)), 45)
        name = f"/{connector}/{fid}"
        check(f"{connector}: its crawl is complete", is_complete(s, name),
              crawls_of(s, name))
        found = exchanges(s, crawls_of(s, name)[0]["id"])
        same(f"{connector}: each answer has a record",
             [x[1:] for x in found], [x[1:] for x in api.served])
        seen = Canaries(**C)
        seen.look("API", repr(api.sent).encode())
        check(f"{connector}: the API has seen secrets",
              seen.hits["API"] - {"planted"} or "Basic" in repr(api.sent),
              seen.hits)
    # A task that cannot go on after a kill leaves no crawl behind.
    api.delay_s = 0.2
    credential = {"user": "ada", "password": C["password"]}
    s.task("lost", b.endpoint("lost"), params, "basic", credential=credential)
    wait_until(lambda: crawls_of(s, "/basic/lost"), 10)
    s.restart(kill=True)
    same("lost: failed", s.ends("lost", connector="basic"), "failed")
    check("lost: its crawl is complete", is_complete(s, "/basic/lost"),
          crawls_of(s, "/basic/lost"))
    # A password that is replaced while the task runs.
    api.sent.clear()
    s.task("again", b.endpoint("again"), params, "basic",
           credential=credential)
    wait_until(lambda: api.sent, 10)
    credential["password"] = C["replaced"]
    s.task("again", b.endpoint("again"), params, "basic",
           credential=credential)
    same("replaced: done", s.ends("again", connector="basic"), "done")
    check("replaced: the API has seen both", len({
        x[1]["Authorization"] for x in api.sent if "Authorization" in
        x[1]}) >= 2)
    api.delay_s = 0
    check("replaced: its crawl is complete", is_complete(s, "/basic/again"))
    same("secret: it ends", s.stop(), 0)
    canaries.look_at_files(s.data, place_of)
    with open(s.log, "rb") as f:
        canaries.look("log", f.read())
    canaries.compare("WARCs", "CDXJ", "store", "index and log")
    api.forget()


def has_former(sent):
    """Whether the address repeats another token than the header's."""
    path, fields = sent
    return path.partition("page=")[2] not in ("", fields["Authorization"][7:])


def renewed():
    """Tokens of a user, renewed while the task runs; the API repeats them in
    the address of the next page."""
    s = Door("users", place, api, b, "external.archive=on")
    provider.life_s, api.delay_s, repeated = 4, 1.2, set()
    handle, _ = sign_in(s, provider.granted(), uuid="long")
    s.begins("n1", b, by_handle(handle))
    same("renewed: done", s.ends("n1", 60), "done")
    same("renewed: documents", len(b.ids("n1")), 45)
    tokens = {x[1].get("Authorization") for x in api.sent}
    check("renewed: several tokens", len(tokens) > 1, tokens)
    check("renewed: a former one is in an address", any(
        has_former(x) for x in api.sent), api.sent)
    check("renewed: its crawl is complete", is_complete(s, "/account/n1"),
          crawls_of(s, "/account/n1"))
    found = [x for c in crawls_of(s, "/account/n1")
             for x in exchanges(s, c["id"])]
    same("renewed: each answer has a record", sorted(x[1:] for x in found),
         sorted(x[1:] for x in api.served))
    repeated.update(x[0].partition("page=")[2] for x in api.sent)
    # The token is renewed while the daemon is away: the address of the next
    # page, which the cursor has, repeats one that the new run was not given.
    s.begins("n2", b, by_handle(handle))
    check("renewed: it is under way", wait_until(
        lambda: len(b.ids("n2")) >= PAGE, 30))
    s.kill()
    provider.access.clear()
    time.sleep(provider.life_s)
    api.sent.clear()
    s.start()
    same("renewed: done after a restart", s.ends("n2", 60), "done")
    same("renewed: its documents", len(b.ids("n2")), 45)
    check("renewed: its first address repeats a former token", has_former(
        api.sent[0]), api.sent)
    check("renewed: its crawl is complete", is_complete(s, "/account/n2"),
          crawls_of(s, "/account/n2"))
    repeated.update(x[0].partition("page=")[2] for x in api.sent)
    same("renewed: it ends", s.stop(), 0)
    words = Canaries(planted="things", **{f"token{i}": x for i, x in enumerate(
        (*provider.given, provider.client[1]))})
    words.look_at_files(s.data, place_of)
    with open(s.log, "rb") as f:
        words.look("log", f.read())
    # A cursor has the address of the next page as the API has given it: a run
    # goes on there, with an archive or without.
    words.hits["store"] -= {f"token{i}" for i, x in enumerate(provider.given)
                            if x in repeated}
    for where in words.hits:
        words.hits[where].discard("planted")
    words.compare()
    check("renewed: what is cut out is named", b"page=REDACTED" in unpacked(
        s, crawls_of(s, "/account/n1")[0]["id"]))
    provider.life_s, api.delay_s = 3600, 0


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<title>Page</title><p>A page."
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=site.serve_forever, daemon=True).start()
provider, b = Provider(), Back()
api = Served(provider)
api.server.RequestHandlerClass.do_POST = lambda request: api.do_post(request)
if python_with("warcio", "warcio==1.7.5", "cdxj-indexer==1.5.0",
               "setuptools<80") is None:
    skip("external archive", "warcio cannot be installed from the package "
         "index")
    done()
sys.path.insert(0, os.environ["PYTHONPATH"])
key = {"credential": "basic"}
place = connectors("archive-connectors",
    api.declared("plain"), api.declared("basic", {"kind": "basic"}, **key),
    api.declared("query", {"kind": "query", "name": "apikey"}, **key),
    api.declared("header", {"kind": "header", "name": "X-Token"}, **key),
    api.declared("account", {"kind": "bearer"}, "/oauth/{kind}",
                 credential="oauth", oauth=provider.declares(),
                 api={"next": {"link": "next"}}), module())
off()
on()
killed()
secret()
renewed()
done()
