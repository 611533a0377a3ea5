"""argiope external register and publish against the simulated back end and a
daemon: versions as tasks run them, restarts, tokens; and back ends whose answers
are wrong.

usage: external_register.sh PROGRAM
"""
import signal
import ssl

from external_door_peer import *
from external_peer import Backend

PARAMS = {"kind": "a"}
ALL = list(range(1, 46))
TOKEN = re.compile("argiope_[0-9a-f]{64}")


def entries(name, *list_):
    path = put(name + ".json", list(list_))
    os.chmod(path, 0o600)
    return path


class Registrar:
    """`argiope external` on data and settings; no secret in what it prints."""

    def __init__(self, data, *settings, secrets=()):
        self.words = ["--data", data]
        for s in settings:
            self.words += ["--set", s]
        self.secrets, self.leaks = secrets, []

    def __call__(self, verb, *words):
        code, out, err = ours("external", verb, *words, *self.words)
        if TOKEN.search(out + err) or any(s in out + err
                                          for s in self.secrets):
            self.leaks.append(out + err)
        return code, out, err

    def register(self, connector="things", backend="acme", *words):
        return self("register", connector, "--backend", backend, *words)

    def result(self, connector="things", backend="acme", *words):
        """(result, version), or the exit code."""
        code, out, err = self.register(connector, backend, *words, "--json")
        if code != 0:
            note(err)
            return code
        said = json.loads(out)
        return said["result"], said["version"]

    def versions(self, connector="things", backend="acme"):
        said = json.loads(self("publish", connector, "--json")[1])
        return [(v["version"], v["published"]) for v in said["versions"]
                if v["backend"] == backend]


# ---- Registered, changed, unchanged ----------------------------------------------

class Scene:
    """A simulated back end that stays, a daemon, and its connectors."""

    def __init__(self, name, *settings):
        self.api = Api()
        self.sim = Backend(name + "-sim")
        self.back = Back()
        data = os.path.join(PLACE, name)
        # The sims' tasks, and those of a back end that notes each call.
        file = entries(
            name + "-backends",
            {"name": "acme", "token": "acme-be", "prefix":
             f"http://127.0.0.1:{self.sim.port}/actions/tasks/"},
            # It is registered at the simulated one, too, by --url.
            {"name": "noting", "token": "noting-be",
             "prefix": self.back.base + "/tasks/"},
            {"name": "other", "token": "other-be",
             "prefix": self.back.base + "/tasks/"})
        self.place = connectors(name + "-connectors")
        self.declare("v1")
        self.s = External(name, self.place, "external.backends_file=" + file,
                          *settings)
        self.r = Registrar(
            data, "external.backends_file=" + file, "external.connectors=" +
            self.place, f"http.listen=127.0.0.1:{self.s.http_port}",
            *settings)

    def declare(self, kind, name="things", **more):
        """The API's path says which declaration runs."""
        file = self.api.connector(name, description=kind, api={
            "url": self.api.base + "/" + kind + "/{kind}?most={most}",
            "label": "things", "items": "/items", "id": "/id",
            "next": {"cursor": "/next", "parameter": "after"},
            "since": {"parameter": "since", "from": "id"}}, **more)
        shutil.move(file, os.path.join(self.place, name + ".json"))

    def reload(self):
        self.s.child.send_signal(signal.SIGHUP)
        time.sleep(0.5)

    def at_noting(self, *words):
        """Register; (result, version), or the exit code."""
        return self.r.result("things", "noting", "--url",
                             f"http://127.0.0.1:{self.sim.port}", *words)

    def noting_begins(self):
        """Its object's fid; its token is the one of `ask`s below."""
        code, out, err = self.r.register(
            "things", "noting", "--url", f"http://127.0.0.1:{self.sim.port}")
        check("registered by --url", code == 0 and "version 1" in out,
              out + err)
        fid = out.split()[-3].rstrip(",")
        self.noting = self.object(fid)["headers"]["Authorization"].split()[1]
        return fid

    def object(self, fid):
        return self.sim.ask("GET", "/externals/" + fid)[1]["payload"]

    def stop(self):
        self.s.stop()
        self.sim.stop()


class Paths:
    """Notes which paths an API was asked for; a task has one of its own by its
    parameter `kind`."""

    def __init__(self, api):
        self.seen, self.lock = [], threading.Lock()
        answer = api.answer

        def noted(request):
            with self.lock:
                self.seen.append(request.path)
            answer(request)
        api.answer = noted

    def of(self, kind):
        """The declarations by which tasks with that parameter were read."""
        with self.lock:
            return sorted({p.split("/")[1] for p in self.seen
                           if p.split("/")[2].split("?")[0] == kind})


def first_time(x):
    same("no such back end: 66", x.r.register("things", "nobody")[0], 66)
    same("no such connector: 66", x.r.register("nothing")[0], 66)
    same("no --backend: 64", x.r("register", "things")[0], 64)
    same("a word for --none: 64", x.r.register("things", "acme", "--none=x")[
        0], 64)
    code, out, err = x.r.register()
    check("registered", code == 0 and re.match(
        r"things is registered at acme: e-\S+, version 1\n$", out), out + err)
    fid = out.split()[-3].rstrip(",")
    o = x.object(fid)
    same("its endpoint", o["endpoint"],
         f"http://127.0.0.1:{x.s.http_port}/external/things")
    same("no credential", o.get("credential"), None)
    header = o["headers"]["Authorization"]
    x.known = x.s.ask("GET", "/external/things/form",
                      token=header.split()[1])[0]
    check("its header has a token", re.fullmatch("Bearer " + TOKEN.pattern,
                                                 header), header)
    tokens = ours("token", "list", "--data", x.s.data)[1]
    check("the token is the back end's", re.search(
        "^acme-be .* external:write$", tokens, re.M), tokens)
    same("again: unchanged", x.r.result(), ("unchanged", 1))
    same("... nothing was sent", x.object(fid)["meta"]["version"], 1)
    same("built in: the token is there already: 73", x.r.register(
        "web_crawl")[0], 73)
    # The text of the token is at the back end alone, and here for a moment.
    file = put("acme.token", header.split()[1] + "\n")
    same("built in: by --token-file", x.r.result(
        "web_crawl", "acme", "--token-file", file, "--none=ignore"),
        ("registered", 1))
    same("--token-file, unchanged", x.r.result(
        "web_crawl", "acme", "--token-file", file, "--none=ignore"),
        ("unchanged", 1))
    # A file that the daemon has not read.
    x.declare("v1", "late")
    code, out, err = x.r.register("late", "acme", "--token-file", file)
    check("a connector that is new in the directory: a warning",
          code == 0 and "SIGHUP" in err, out + err)
    x.reload()
    x.declare("v2", "late")
    code, out, err = x.r.register("late", "acme")
    same("... no more", (code, err), (0, ""))
    same("another credential: changed", x.r.result("web_crawl"), ("changed",
                                                                  2))
    put("acme.token", "argiope_" + "0" * 64)
    same("another token: 78", x.r.register("things", "acme", "--token-file",
                                           file)[0], 78)
    return fid, header.split()[1]


def through_the_simulator(x, fid):
    """A task that the back end starts; it gives its version."""
    same("the daemon knew the token before the back end", x.known, 200)
    crawler = x.sim.crawler(fid, PARAMS)
    code, said = x.sim.ask("POST", f"/actions/crawlers/{crawler}/task",
                           {"params": {}})
    task = said["payload"]["meta"]["fid"]
    check("a task of the simulator is done", wait_until(lambda: x.sim.code(
        task) == 200, 30), x.sim.show(task))
    same("... its documents", sorted(d["id"] for d in x.sim.output(task)),
         ALL)
    return crawler


def post(x, fid, kind, version=None, token=None, connector="things"):
    """(status, answer) of POST /task; `kind` tells tasks apart at the API."""
    query = "" if version is None else f"?version={version}"
    return x.s.ask("POST", f"/external/{connector}/task{query}", {
        "fid": fid, "endpoint": x.back.endpoint(fid),
        "params": {"kind": kind}}, token or x.noting)


def changes(x, fid, paths):
    """The file changes while a task of version 1 runs, through a kill -9."""
    x.api.delay_s = 0.4
    crawler = x.sim.crawler(fid, {"kind": "slow"})
    task = x.sim.ask("POST", f"/actions/crawlers/{crawler}/task", {
        "params": {}})[1]["payload"]["meta"]["fid"]
    wait_until(lambda: paths.of("slow"))
    x.declare("v2", schema={"type": "object"})
    same("the file has changed: version 2", x.r.result(), ("changed", 2))
    o = x.object(fid)
    same("... the object has", (o["meta"]["version"], o["meta"][
        "description"]), (2, "v2"))
    same("... and has lost what is gone", o["schema"], {"type": "object"})
    check("... but not its token", o["headers"]["Authorization"].endswith(
        x.token))
    x.reload()
    x.s.restart(kill=True)
    check("a task of version 1 goes on", wait_until(lambda: x.sim.code(
        task) == 200, 60), x.sim.show(task))
    same("... to its end, after a restart, by the old connector",
         paths.of("slow"), ["v1"])
    same("... all documents", sorted({d["id"] for d in x.sim.output(task)}),
         ALL)
    x.api.delay_s = 0
    task = x.sim.ask("POST", f"/actions/crawlers/{crawler}/task", {
        "params": {"kind": "next"}})[1]["payload"]["meta"]["fid"]
    check("the next task is done", wait_until(lambda: x.sim.code(task) ==
                                              200, 30), x.sim.show(task))
    same("... by the new connector", paths.of("next"), ["v2"])


def runs(x, paths, name, kind, want, version=None):
    """Which declarations a task and its retries have been read by."""
    code, said = post(x, kind, kind, version)
    check(f"{name}: 200", code == 200, said)
    same(f"{name}: done", x.s.ends(kind, token=x.noting), "done")
    same(f"{name}: the connector", paths.of(kind), want)


def lines_of(x, fid):
    return [line["text"] for line in x.s.ask(
        "GET", f"/external/things/task/{fid}/log", token=x.noting)[1][
            "payload"]["lines"]]


def rules(x, paths):
    """Each rule of external.md, section 7, at the wire."""
    x.declare("v1")
    x.reload()
    fid = x.noting_begins()
    x.declare("v2")
    same("version 2", x.at_noting(), ("changed", 2))
    runs(x, paths, "version=1", "r1", ["v1"], 1)
    runs(x, paths, "version=2", "r2", ["v2"], 2)
    runs(x, paths, "no version: the newest", "r3", ["v2"])
    runs(x, paths, "version=9, above all: the newest", "r4", ["v2"], 9)
    lines = lines_of(x, "r4")
    check("... a warning in the task's log", any(
        "version 9 is newer than 2" in t for t in lines), lines)
    first = x.back.of(STATUSES, "r4")[0].status
    check("... in the first status", first["code"] == 102 and
          "version 9 is newer than 2" in first["message"], first)
    first = x.back.of(STATUSES, "r2")[0].status["message"]
    check("... and in no other", "newer" not in first, first)
    check("... and in the daemon's", "version 9 is newer than 2" in
          open(x.s.log).read(), x.s.said())
    same("publish a version that is not there: 66", x.r(
        "publish", "things", "7")[0], 66)
    same("publish no number: 65", x.r("publish", "things", "x")[0], 65)
    same("publish 0: 65", x.r("publish", "things", "0")[0], 65)
    same("publish 1", x.r("publish", "things", "1")[0], 0)
    same("publish: the list", x.r.versions("things", "noting"), [(1, True), (2, False)])
    runs(x, paths, "no version: the published one", "r5", ["v1"])
    same("form: the published one", x.s.ask(
        "GET", "/external/things/form", token=x.noting)[1]["payload"][
            "registered"], 1)
    same("form of a version", x.s.ask(
        "GET", "/external/things/form?version=2", token=x.noting)[1][
            "payload"]["registered"], 2)
    same("publish --newest", x.r("publish", "things", "--newest")[0], 0)
    runs(x, paths, "no version: the newest again", "r6", ["v2"])
    # Somebody else changes the object: versions 3 and 4.
    for i in range(2):
        x.sim.ask("PATCH", "/externals/" + fid, {"meta": {"name": "Other"}})
    x.declare("v3")
    code, out, err = x.r.register(
        "things", "noting", "--url", f"http://127.0.0.1:{x.sim.port}")
    check("changes made without us: a warning", code == 0 and
          "version 5" in out and "has counted 2 changes" in err, out + err)
    same("version=4, never registered: 404", post(x, "r7", "r7", 4)[0], 404)
    same("version=3, the same", post(x, "r7", "r7", 3)[0], 404)
    same("form of version 4: 404", x.s.ask(
        "GET", "/external/things/form?version=4", token=x.noting)[0], 404)
    same("a foreign endpoint and no such version: 404", x.s.ask(
        "POST", "/external/things/task?version=4", {
            "fid": "r7", "endpoint": "https://example.org/t",
            "params": {"kind": "a"}}, x.noting)[0], 404)
    same("... and a version that is there: 403", x.s.ask(
        "POST", "/external/things/task?version=2", {
            "fid": "r7", "endpoint": "https://example.org/t",
            "params": {"kind": "a"}}, x.noting)[0], 403)
    # The file has changed and was not read again: versions run as they were.
    runs(x, paths, "version=5, before SIGHUP", "r8", ["v3"], 5)
    x.reload()
    x.declare("v4")
    x.reload()
    runs(x, paths, "a change that is not registered runs nowhere", "r9",
         ["v3"], 5)
    runs(x, paths, "a retry keeps its connector", "r2", ["v2"], 2)
    runs(x, paths, "a retry without a version, too", "r2", ["v2"])
    runs(x, paths, "a retry with another version", "r2", ["v2", "v3"], 5)
    # A task of version 9 keeps what it began with when 9 comes to be.
    for i in range(3):
        x.sim.ask("PATCH", "/externals/" + fid, {"meta": {"name": "Other"}})
    same("version 9", x.at_noting(), ("changed", 9))
    runs(x, paths, "version=9 means another connector now", "r10", ["v4"], 9)
    runs(x, paths, "a task that began with it goes on", "r4", ["v2"], 9)


def never_registered(x, paths):
    """Versions are a back end's own."""
    token_ = token(x.s.data, "other-be")
    wait_until(lambda: x.s.ask("GET", "/external/things/form", token=token_)[
        0] == 200, 10)
    for version in (None, 4, 77):
        kind = f"other{version}"
        query = "" if version is None else f"?version={version}"
        code, said = x.s.ask("POST", "/external/things/task" + query, {
            "fid": kind, "endpoint": x.back.endpoint(kind),
            "params": {"kind": kind}}, token_)
        same(f"never registered, version {version}: 200", code, 200)
        x.s.ends(kind, token=token_)
        same("... runs the file", paths.of(kind), ["v4"])
    same("form: no version", x.s.ask(
        "GET", "/external/things/form", token=token_)[1]["payload"][
            "registered"], None)
    first = x.back.of(STATUSES, "other77")[0].status["message"]
    check("no warning", "newer" not in first, first)


def revoked(x, fid):
    same("token revoke", ours("token", "revoke", "acme-be", "--data",
                              x.s.data)[0], 0)
    check("its tasks are refused", wait_until(lambda: post(
        x, "t1", "t1", 9, x.token)[0] == 401, 10))
    same("register makes another", x.r.result(), ("changed", 3))
    header = x.object(fid)["headers"]["Authorization"]
    check("... which the object has", header.startswith("Bearer argiope_")
          and not header.endswith(x.token))
    x.token = header.split()[1]
    check("... and which opens", wait_until(lambda: x.s.ask(
        "GET", "/external/things/form", token=x.token)[0] == 200, 10))
    same("another connector's object has the old one: 73", x.r.register(
        "web_crawl")[0], 73)
    put("acme.token", x.token)
    same("... and gets the new one by --token-file", x.r.result(
        "web_crawl", "acme", "--token-file", os.path.join(PLACE,
                                                         "acme.token")),
        ("changed", 3))


def lost_object(x, fid):
    same("the back end loses the object", x.sim.ask(
        "DELETE", "/externals/" + fid)[0], 200)
    same("nothing has changed: nothing is asked", x.r.result()[0],
         "unchanged")
    x.declare("v5")
    code, out, err = x.r.register()
    check("a change: 66, with advice", code == 66 and "--new" in err, err)
    put("acme.token", x.token)
    file = os.path.join(PLACE, "acme.token")
    same("--new wants the token: 73", x.r.register(
        "things", "acme", "--new")[0], 73)
    same("--new", x.r.result("things", "acme", "--new", "--token-file",
                             file), ("registered", 1))
    same("... forgets the versions", x.r.versions(), [(1, False)])


def strict():
    x = Scene("strict", "external.versions=strict")
    paths = Paths(x.api)
    x.noting_begins()
    same("strict: version=2: 404", post(x, "s2", "s2", 2)[0], 404)
    runs(x, paths, "strict: version=1", "s1", ["v1"], 1)
    x.stop()


def local():
    """Without a file of back ends, and so without tokens."""
    api, sim = Api(), Backend("local-sim")
    place = connectors("local-connectors", api.connector())
    s = External("local", place)
    r = Registrar(s.data, "external.connectors=" + place,
                  f"http.listen=127.0.0.1:{s.http_port}")
    same("local: no --url: 64", r.register("things", "local")[0], 64)
    url = ("--url", f"http://127.0.0.1:{sim.port}")
    same("local: --token-file: 64", r.register(
        "things", "local", *url, "--token-file", put("t", "x"))[0], 64)
    same("local: registered", r.result("things", "local", *url),
         ("registered", 1))
    same("local: unchanged", r.result("things", "local", *url),
         ("unchanged", 1))
    same("local: no token", "acme" in ours("token", "list", "--data",
                                           s.data)[1], False)
    same("local: form", s.ask("GET", "/external/things/form")[1]["payload"][
        "registered"], 1)
    same("local: version=1", s.ask("POST", "/external/things/task?version=1",
         {"fid": "l1", "endpoint": f"http://127.0.0.1:{sim.port}/actions/tasks"
          "/l1", "params": PARAMS})[0], 200)
    s.stop()
    sim.stop()


# ---- Answers that are wrong --------------------------------------------------------

class Odd:
    """A back end with a scripted answer to /externals, optionally over TLS."""

    def __init__(self, certificate=None):
        self.reply, self.asked = None, []
        odd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                odd.asked.append((self.command, self.path, self.headers,
                                  json.loads(body)))
                status, fields, text = odd.reply
                if status is None:
                    time.sleep(fields)
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_PATCH = do_GET = do_POST

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *words):
                """Clients that do not trust it are expected."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket,
                                                     server_side=True)
            self.base = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()


def meta(fid, version):
    return json.dumps({"success": True, "version": 0, "payload": {"meta": {
        "fid": fid, "version": version}}})


def wrong_answers():
    api, odd = Api(), Odd()
    secret = "hush-0123456789"
    data = os.path.join(PLACE, "odd")
    file = entries("odd-backends", {
        "name": "acme", "token": "acme-be",
        "prefix": odd.base + "/actions/tasks/",
        "headers": {"X-Key": secret}})
    place = connectors("odd-connectors", api.connector())
    r = Registrar(data, "external.backends_file=" + file,
                  "external.connectors=" + place, "external.call_ms=1s",
                  "external.public_url=https://crawl.example.org/",
                  secrets=[secret])

    def refused(name, reply, code, text):
        odd.reply = reply
        odd.asked.clear()
        got, out, err = r.register()
        check(f"{name}: {code}", got == code and text in err,
              f"{got} {out}{err}")
        tokens = ours("token", "list", "--data", data)[1]
        check("... no token stays", "acme-be" not in tokens, tokens)
        same("... nothing is registered", r.versions(), [])
        same("... one request", len(odd.asked), 1)

    def echo(status):
        """It repeats the token that it got."""
        return status, {}, json.dumps({"success": False, "messages": [
            "no: " + secret]})

    refused("401", (401, {}, ""), 77, "answered 401")
    refused("403", (403, {}, "{}"), 77, "answered 403")
    refused("400", (400, {}, json.dumps({"success": False, "messages": [
        "schema: odd"]})), 65, "schema: odd")
    refused("an answer that repeats a secret", echo(400), 65, "answered 400")
    refused("500", (500, {}, "x"), 69, "answered 500")
    refused("a redirect", (307, {"Location": odd.base + "/other"}, ""), 69,
            "redirect")
    refused("no JSON", (200, {}, "<html>"), 70, "no JSON")
    refused("no fid", (200, {}, '{"success":true,"payload":{}}'), 70,
            "payload.meta.fid")
    refused("a fid that is a path", (200, {}, meta("../e", 1)), 70,
            "payload.meta.fid")
    refused("no version", (200, {}, meta("e1", None)), 70,
            "payload.meta.version")
    refused("success: false", (200, {}, json.dumps({
        "success": False, "messages": ["odd"]})), 65, "odd")
    refused("an answer of more than 4 MiB", (200, {}, "x" * ((4 << 20) + 1)),
            75, "more than")
    refused("a connection that is closed", (None, 0, ""), 69,
            "did not answer")
    refused("no answer", (None, 3, ""), 69, "did not answer")
    odd.reply = 200, {}, meta("e1", 1)
    same("then it is registered", r.result(), ("registered", 1))
    method, path, fields, body = odd.asked[-1]
    same("... by POST /externals", (method, path), ("POST", "/externals"))
    same("... with the entry's fields", (fields["X-Key"],
         fields["Content-Type"]), (secret, "application/json"))
    same("... with the address of public_url", body["endpoint"],
         "https://crawl.example.org/external/things")
    shutil.copy(api.connector(title="Other"), place)
    for reply, code in (((500, {}, ""), 69), ((200, {}, meta("e2", 2)), 70),
                        ((410, {}, ""), 66)):
        odd.reply = reply
        same(f"PATCH, {reply[0]}: {code}", r.register()[0], code)
        same("... the version stays", r.versions(), [(1, False)])
        check("... and the token", "acme-be" in ours(
            "token", "list", "--data", data)[1])
    odd.reply = 200, {}, meta("e1", 1)
    code, out, err = r.register()
    check("a back end that does not count: a warning", code == 0 and
          "has not counted" in err, out + err)
    method, path, fields, body = odd.asked[-1]
    same("... by PATCH /externals/FID", (method, path), ("PATCH",
                                                         "/externals/e1"))
    same("... without headers", "headers" in body, False)
    same("no secret was printed", r.leaks, [])
    os.chmod(file, 0o644)
    same("a file that others may read: 78", r.register()[0], 78)


def certificates():
    api = Api()
    pair = [os.path.join(PLACE, n) for n in ("odd-cert.pem", "odd-key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-out", pair[0],
                    "-keyout", pair[1], "-subj", "/CN=be", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)
    odd = Odd(pair)
    odd.reply = 200, {}, meta("e1", 1)
    place = connectors("tls-connectors", api.connector())
    one = {"name": "acme", "token": "acme-be",
           "prefix": odd.base + "/actions/tasks/"}
    for ca, want in ((None, 69), (pair[0], ("registered", 1))):
        file = entries("tls-backends", {**one, **({"ca": ca} if ca else {})})
        r = Registrar(os.path.join(PLACE, "tls"), "external.backends_file=" +
                      file, "external.connectors=" + place,
                      "http.listen=127.0.0.1:8001")
        same(f"TLS, {'its' if ca else 'no'} certificate", r.result(), want)
    r = Registrar(os.path.join(PLACE, "tls"), "external.backends_file=" +
                  file, "external.connectors=" + place,
                  "http.listen=0.0.0.0:8001")
    same("no address that back ends reach: 78", r.register()[0], 78)
    code, out, err = Registrar(
        os.path.join(PLACE, "plain"), "external.backends_file=" + file,
        "external.connectors=" + place, "http.listen=127.0.0.1:8001"
        ).register("things", "acme", "--url", "http://192.0.2.1/")
    check("plain HTTP elsewhere is not called: 77", code == 77 and
          "192.0.2.1" in err, f"{code} {err}")


def main():
    x = Scene("register")
    paths = Paths(x.api)
    fid, x.token = first_time(x)
    through_the_simulator(x, fid)
    changes(x, fid, paths)
    rules(x, paths)
    never_registered(x, paths)
    revoked(x, fid)
    lost_object(x, fid)
    same("no token was printed", x.r.leaks, [])
    check("no token in the log", not TOKEN.search(open(x.s.log).read()))
    x.stop()
    strict()
    local()
    wrong_answers()
    certificates()
    done()


main()
