"""`argiope worker` against a daemon whose tasks are all left to remote workers:
success, failure, conflicts, sessions, secrets and blobs; a token and a bundle
that are refused; kill -9, SIGTERM, a daemon that is away, a configuration that
changes; and a worker in a network namespace that reaches the daemon alone.
"""
import datetime
import http.server

from serve import *

need("worker", "openssl")
ITEMS, SLOTS = 40, 6
MODULE = """
import { title } from "./title.js";
const task = (more) => ({ version: "1", remote: true, backoff: "500ms",
    limits: {}, retries: 10, lease: "2s", ...more });
export default {
  tags: { page: ["page"], count: ["count"], bad: ["bad"], slow: ["slow"],
      members: ["members"], blob: ["blob"], hop: ["hop"], cut: ["cut"] },
  fetch: { private: ["127.0.0.1:PORT"],
      policy: { robots: "ignore", rate_limit: 0 } },
  sessions: { club: { ttl: "1d",
    async login({ fetch, session, secret }) {
      const res = await fetch("http://127.0.0.1:PORT/login", {
          method: "POST", form: { password: secret("pass") } });
      session.data.welcome = res.json().welcome;
    },
    isExpired: res => res.url.endsWith("/login") },
    closed: { async login() {} } },
  tasks: {
    page: task({ async run({ id, data, fetch, updateData, createItem,
        updateMetadata }) {
      const res = await fetch("http://127.0.0.1:PORT/page/" + data.n);
      const text = title(res.html());
      updateData(old => ({ ...old, title: text }));
      updateMetadata(() => ({ seq: res.capture.seq > 0 }));
      createItem({ id: "made:" + data.n, data: {} });
    } }),
    hop: task({ async run({ fetch, updateData }) {
      const res = await fetch("http://127.0.0.1:PORT/hop");
      let error = null;
      try {
        await fetch("http://127.0.0.1:PORT/broken");
      } catch (e) {
        error = e.name + " " + e.status;
      }
      const fine = await fetch("http://127.0.0.1:PORT/broken",
          { accept: [500] });
      updateData(() => ({ url: res.url, redirected: res.redirected,
          error, status: fine.status, text: fine.text() }));
    } }),
    count: task({ run({ updateData }) {
      updateData({ id: "counter", merge: old => ({ n: (old.n || 0) + 1 }) });
    } }),
    bad: task({ retries: 0, run({ data }) {
      if (data.wrong)
        throw new Error("it is wrong");
    } }),
    members: task({ async run({ fetch, session, updateData }) {
      const club = await session("club");
      const res = await fetch("http://127.0.0.1:PORT/members",
          { session: club });
      updateData(() => ({ said: res.json().said,
          welcome: club.data.welcome }));
    } }),
    blob: task({ async run({ data, getBlob, putBlob, updateData }) {
      const bytes = await getBlob("in");
      const none = await getBlob("nothing");
      putBlob({ name: "out", bytes: bytes.slice().reverse(),
          type: "text/x-out" });
      updateData(() => ({ n: bytes.length, none: none === undefined }));
    } }),
    slow: task({ async run({ data, sleep, updateData, attempt }) {
      await sleep(data.ms);
      updateData(old => ({ ...old, attempt }));
    } }),
    cut: task({ async run({ sleep }) { await sleep(60000); } }),
  } };
"""
TITLE = "export const title = $ => $('h1').text();\n"


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    logins, passwords, expired = 0, [], False

    def answer(self, status, text, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        if self.path.startswith("/page/"):
            self.answer(200, f"<h1>Page {self.path[6:]}</h1>",
                        Content_Type="text/html")
        elif self.path == "/hop":
            self.answer(302, "", Location="/page/7")
        elif self.path == "/members":
            if f"club={Site.logins}" not in self.headers.get("Cookie", ""):
                self.answer(302, "", Location="/login")
            else:
                self.answer(200, '{"said":"member"}')
        elif self.path == "/login":
            self.answer(200, "please")
        else:
            self.answer(500, "broken")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        Site.logins += 1
        Site.passwords.append(body)
        self.answer(200, '{"welcome":"in"}',
                    Set_Cookie=f"club={Site.logins}; Path=/")

    def log_message(self, *words):
        pass


class Daemon(Serve):
    tls = (PLACE + "/tls.pem", PLACE + "/tls.key")

    def __init__(self, name, site):
        self.place = os.path.join(PLACE, name + "-config")
        os.makedirs(self.place)
        self.write("work.js", MODULE.replace("PORT", str(site)))
        self.write("title.js", TITLE)
        secrets = os.path.join(PLACE, name + "-secrets.json")
        with open(os.open(secrets, os.O_CREAT | os.O_WRONLY, 0o600),
                  "w") as f:
            json.dump({"pass": {"value": "canary-70cf21",
                                "hosts": ["127.0.0.1"]}}, f)
        super().__init__(name, ["urlfrontier.listen=",
                                "http.tls_cert=" + self.tls[0],
                                "http.tls_key=" + self.tls[1],
                                "items.config=" + self.place + "/work.js",
                                "script.secrets_file=" + secrets])
        self.token = None
        self.writer = self.add_token("writer", "items:write")
        self.worker_token = self.add_token("worker", "worker:write")
        self.token = self.writer
        check("the configuration is in force", wait_until(
            lambda: self.ask("GET", "/items-config").get("generation"), 20),
            self.said())

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as f:
            f.write(text)

    def add_token(self, name, scope):
        code, out, err = run(program(), "token", "add", name, "--data",
                             self.data, "--scope", scope)
        return out.strip().splitlines()[-1]

    def ask(self, method, path, body=None, type="application/json"):
        fields = {"Authorization": "Bearer " + self.token}
        if body is not None:
            fields["Content-Type"] = type
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        status, got, text = self.http(path, method, fields, body)
        self.status = status
        return json.loads(text) if got.get("Content-Type", "").startswith(
            "application/json") else text

    def item(self, id):
        return self.ask("GET", "/items/" + id.replace(":", "%3A"))

    def add(self, id, tag, **data):
        self.ask("POST", "/items/add", {"id": id, "tags": [tag],
                                        "data": data})

    def counts(self, task):
        return self.ask("GET", "/tasks/" + task)["counts"]

    def are(self, task, state, n, seconds=20):
        return check(f"{task}: {n} {state}", wait_until(
            lambda: self.counts(task)[state] == n, seconds),
            self.counts(task))


class Worker:
    """`argiope worker`, with a log of its own."""
    n = 0

    def __init__(self, daemon, *more, token=None, config=None, url=None,
                 before=(), tasks=()):
        Worker.n += 1
        name = f"worker{Worker.n}"
        self.log = os.path.join(PLACE, name + ".log")
        token_file = os.path.join(PLACE, name + ".token")
        with open(token_file, "w") as f:
            f.write((token or daemon.worker_token) + "\n")
        command = [*before, program(), "worker", "--url", url or
                   f"https://localhost:{daemon.http_port}/", "--token-file",
                   token_file, "--config", config or
                   daemon.place + "/work.js", "--set",
                   f"script.processes_max={SLOTS}", *more]
        for task in tasks:
            command += ["--task", task]
        with open(self.log, "w") as log:
            self.child = start(command, stdout=log, stderr=log, env=dict(
                os.environ, SSL_CERT_FILE=daemon.tls[0]))

    def said(self):
        with open(self.log) as f:
            return f.read()

    def works(self):
        return wait_until(lambda: "worker.in_accord" in self.said(), 10)

    def stop(self, seconds=20):
        self.child.terminate()
        return self.child.wait(seconds)


# ---- What a run may ask for --------------------------------------------------------

def all_kinds(s):
    w = Worker(s)
    check("the worker begins", w.works(), w.said())
    s.add("counter", "none")
    for n in range(ITEMS):
        s.add(f"page:{n}", "page", n=n)
        s.add(f"count:{n}", "count")
    s.add("hop", "hop")
    s.add("good:1", "bad")
    s.add("bad:1", "bad", wrong=True)
    s.add("blob", "none")
    s.ask("PUT", "/items/blob/blobs/in", b"some bytes", "text/plain")
    s.ask("PUT", "/items/blob/tags/blob", {})
    for n in range(8):
        s.add(f"member:{n}", "members")
    s.are("page", "fresh", ITEMS)
    same("page: data", s.item("page:7")["data"], {"n": 7, "title": "Page 7"})
    same("page: created", s.item("made:7")["created_by"], "page:7")
    same("page: metadata", s.ask(
        "GET", "/items/page%3A7/metadata?tasks=page")["metadata"]["page"][
            "metadata"], {"seq": True})
    s.are("count", "fresh", ITEMS)
    same("count: conflicts lose nothing", s.item("counter")["data"],
         {"n": ITEMS})
    s.are("hop", "fresh", 1)
    same("hop: redirects and statuses", s.item("hop")["data"], {
        "url": s.site + "/page/7", "redirected": True,
        "error": "FetchError 500", "status": 500, "text": "broken"})
    s.are("bad", "failed", 1)
    s.are("bad", "fresh", 1)
    failure = s.ask("GET", "/tasks/bad/failures")["failures"][0]
    check("bad: the failure has its source", "it is wrong" in str(
        failure["error_data"]) and "throw new Error" in str(
            failure["error_data"].get("source")), failure)
    s.are("members", "fresh", 8)
    same("members: one login", Site.logins, 1)
    same("members: data of the session", s.item("member:3")["data"],
         {"said": "member", "welcome": "in"})
    same("members: the secret left at the daemon", Site.passwords,
         ["password=canary-70cf21"])
    s.are("blob", "fresh", 1)
    same("blob: read", s.item("blob")["data"], {"n": 10, "none": True})
    same("blob: put", s.ask("GET", "/items/blob/blobs/out"), b"setyb emos")
    runs = s.ask("GET", "/items/page%3A7/tasks/page/runs")["runs"]
    check("a run's record has what it cost", runs[0]["fetches"] == 1 and
          runs[0]["wall_ms"] >= 0 and runs[0]["memory_bytes"] > 0, runs)
    for task, n in (("page", ITEMS), ("blob", 1), ("count", ITEMS)):
        code, out, err = ours("task", "replay", task, "--verify", "--data",
                              s.data)
        check(f"{task}: its runs verify without the site", code == 0 and
              str(n) in out, (code, out, err))
    # One login more, however many find out that it has expired.
    Site.logins += 1
    s.ask("POST", "/tasks/members/expire", {})
    check("members: an expired session logs in again", wait_until(
        lambda: s.counts("members")["fresh"] == 8 and Site.logins == 3, 20),
        (s.counts("members"), Site.logins))
    for name, value in (("the secret", "canary-70cf21"),
                        ("the token", s.worker_token)):
        check(f"{name} is in no log", value not in w.said() + s.said())
        with open(f"/proc/{w.child.pid}/cmdline") as f:
            check(f"{name} is not in the process list", value not in f.read())
    same("SIGTERM: in order", w.stop(), 0)


# ---- Refusals ----------------------------------------------------------------------

def refused(s):
    w = Worker(s, token="argiope_" + "x" * 30)
    same("a wrong token: exit code", w.child.wait(10), 77)
    check("a wrong token: it is said, without the token",
          "the daemon refuses (401)" in w.said() and "xxx" not in w.said(),
          w.said())
    shutil.copytree(s.place, "other")
    with open("other/title.js", "a") as f:
        f.write("// changed\n")
    w = Worker(s, config="other/work.js")
    same("another bundle: exit code", w.child.wait(10), 78)
    found = re.findall("sha256:[0-9a-f]{64}", w.said())
    check("another bundle: both hashes are told", len(set(found)) == 2 and
          s.ask("GET", "/items-config")["hash"] in found, w.said())
    same("another bundle: nothing was claimed", s.counts("slow")["leased"], 0)


# ---- Ends --------------------------------------------------------------------------

def ends(s):
    """kill -9, a restart of the daemon beneath a run, SIGTERM."""
    first = Worker(s)
    first.works()
    s.add("slow:1", "slow", ms=2200)
    s.are("slow", "leased", 1)
    first.child.kill()
    first.child.wait()
    second = Worker(s)
    second.works()
    check("kill -9: the lease comes back", wait_until(
        lambda: s.item("slow:1")["data"].get("attempt") == 2, 20),
        s.item("slow:1"))
    s.add("slow:2", "slow", ms=1500)
    s.are("slow", "leased", 1)
    s.restart(kill=True)
    check("daemon away: the run's result arrives", wait_until(
        lambda: s.item("slow:2")["data"].get("attempt") == 1, 20),
        s.item("slow:2"))
    check("daemon away: the worker says so", "worker.daemon_away" in
          second.said() and "worker.daemon_back" in second.said(),
          second.said())
    s.add("slow:3", "slow", ms=1000)
    s.add("slow:4", "slow", ms=60000)
    s.are("slow", "leased", 2)
    s.stopping = second
    second.child.terminate()


def given_back(s):
    """The end of that SIGTERM, after other parts."""
    same("SIGTERM: exit code", s.stopping.child.wait(15), 0)
    times = [datetime.datetime.fromisoformat(line.split()[0].rstrip("Z"))
             for line in s.stopping.said().splitlines()
             if "worker.stop" in line]
    lasted = (times[-1] - times[0]).total_seconds()
    check("SIGTERM: runs have 10 s", 9.5 < lasted < 13, lasted)
    same("SIGTERM: a short run ends", s.item("slow:3")["data"]["attempt"], 1)
    left = s.ask("GET", "/items/slow%3A4/tasks")["tasks"][0]
    same("SIGTERM: the rest is given back", (left["state"], left["attempt"],
                                             left["failures"]),
         ("unprocessed", 0, 0))


def changed(s):
    """The daemon loads another configuration; the worker's files follow."""
    shutil.copytree(s.place, "copy")
    w = Worker(s, config="copy/work.js", tasks=["page", "cut"])
    w.works()
    s.write("title.js", TITLE + "// of a second generation\n")
    s.ask("POST", "/items-config/reload", {})
    s.add("page:new", "page", n=90)
    check("changed: the worker sees it", wait_until(
        lambda: "worker.other_bundle" in w.said(), 10), w.said())
    same("changed: nothing runs meanwhile", s.item("page:new")["rev"], 1)
    shutil.copy(s.place + "/title.js", "copy/title.js")
    check("changed: the worker resumes once its files match the daemon's", wait_until(
        lambda: s.item("page:new")["data"].get("title") == "Page 90", 10),
        w.said())
    s.add("cut", "cut")
    s.are("cut", "leased", 1)
    s.ask("DELETE", "/items/cut")
    check("a run whose lease is lost is cut", wait_until(
        lambda: "tasks.lease_lost" in w.said(), 5), w.said())
    same("SIGTERM of an idle worker", w.stop(6), 0)


# ---- Logins by the protocol --------------------------------------------------------

class Waiting(threading.Thread):
    """A question about the session that is answered some time."""

    def __init__(self, s, *words, **more):
        super().__init__()
        self.s, self.words, self.more = s, words, more
        self.start()

    def run(self):
        self.got = session(self.s, *self.words, **self.more)

    def login(self):
        self.join(15)
        return not self.is_alive() and self.got.get("login", False)


def session(s, lease, do, name="club", **more):
    return s.ask("POST", "/worker/session", {"lease": lease, "do": do,
                                             "name": name, **more})


def logins(s):
    """A login goes from one remote run to the next, and to none at the end."""
    s.ask("POST", "/tasks/members/expire", {})
    s.token = s.worker_token
    leases = [x["lease"] for x in s.ask("POST", "/worker/claim", {
        "worker": "t", "tasks": ["members"], "max": 4, "wait_ms": 3000,
        "lease_ms": 20000})["leases"]]
    same("logins: leases", len(leases), 4)
    first, second, third, last = leases
    old = session(s, first, "ask")["version"]
    same("logins: the first logs in", session(
        s, first, "expired", version=old)["login"], True)
    other = Waiting(s, second, "expired", version=old)
    time.sleep(0.2)
    check("logins: the second waits", other.is_alive())
    s.ask("POST", "/worker/release", {"leases": [first]})
    check("logins: the second logs in when the first is given back",
          other.login(), other.got)
    s.ask("POST", "/worker/heartbeat", {"leases": [second],
                                        "lease_ms": 1000})
    other = Waiting(s, third, "expired", version=old)
    check("logins: the third when the second's lease has expired",
          other.login(), other.got)
    stored = session(s, third, "store", data={"welcome": "again"})
    same("logins: the third ends its login", (
        stored["data"], stored["version"] > old, session(s, last, "ask")),
        ({"welcome": "again"}, True, stored))
    same("logins: a failed login is reported to the run", (
        session(s, third, "ask", "closed")["login"],
        session(s, third, "fail", "closed", message="closed today"),
        "closed today" in session(s, last, "ask", "closed")["error"]),
        (True, None, True))
    check("logins: no such session", "has no session" in session(
        s, last, "ask", "none")["error"])
    s.token = s.writer


def stopping(s):
    """SIGTERM of the daemon while a remote run waits for another's login."""
    s.token = s.worker_token
    first, second = (x["lease"] for x in s.ask("POST", "/worker/claim", {
        "worker": "t", "tasks": ["members"], "max": 2, "wait_ms": 3000,
        "lease_ms": 20000})["leases"])
    session(s, first, "invalidate")
    same("stopping: one logs in", session(s, first, "ask").get("login"), True)
    other = Waiting(s, second, "ask")
    time.sleep(0.2)
    same("stopping: the daemon ends in order", s.stop(8), 0)
    other.join()
    check("stopping: who waits for a login is refused", "stops" in str(
        other.got), other.got)


# ---- A namespace without a network -------------------------------------------------

RELAY = """
import os, socket, subprocess, sys, threading
def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    finally:
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
def serve(listener, connect):
    while True:
        one, other = listener.accept()[0], connect()
        for pair in ((one, other), (other, one)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
def unix(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s
side, path, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if side == "outside":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    serve(listener, lambda: socket.create_connection(("127.0.0.1", port)))
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener, lambda: unix(path)),
                 daemon=True).start()
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[4])), 2)
    print("relay: the site is reached", flush=True)
except OSError:
    print("relay: the site is out of reach", flush=True)
words = [w.replace("DAEMON", str(listener.getsockname()[1]))
         for w in sys.argv[5:]]
child = subprocess.Popen(words)
import signal
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
sys.exit(child.wait())
"""


def namespace(s, site_port):
    unshare = ["unshare", "-n"] + (["-r"] if os.geteuid() else [])
    if subprocess.run([*unshare, "ip", "link", "set", "lo", "up"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        skip("namespace", "network namespaces are not permitted here")
        return
    with open("relay.py", "w") as f:
        f.write(RELAY)
    relay = [sys.executable, PLACE + "/relay.py"]
    path = PLACE + "/relay.socket"
    outside = start([*relay, "outside", path, str(s.http_port)])
    wait_until(lambda: os.path.exists(path))
    for n in range(5):
        s.add(f"page:inner{n}", "page", n=n)
    w = Worker(s, url="https://localhost:DAEMON/", before=(
        *unshare, *relay, "inside", path, "0", str(site_port)),
        tasks=["pa*"])
    check("namespace: pages are fetched", wait_until(
        lambda: [s.item(f"page:inner{n}")["data"].get("title")
                 for n in range(5)] == [f"Page {n}" for n in range(5)], 15),
        w.said())
    check("namespace: the site is out of reach", "relay: the site is out of "
          "reach" in w.said(), w.said())
    same("namespace: the worker ends in order", w.stop(), 0)
    end(outside)


try:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", "tls.key",
                    "-out", "tls.pem"], check=True, capture_output=True)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    daemon = Daemon("daemon", site.server_address[1])
    daemon.site = f"http://127.0.0.1:{site.server_address[1]}"
    parts = {"all_kinds": all_kinds, "refused": refused, "ends": ends,
             "changed": changed, "namespace": lambda s: namespace(
                 s, site.server_address[1]), "logins": logins,
             "given_back": given_back, "stopping": stopping}
    for name, part in parts.items():
        began = time.monotonic()
        part(daemon)
        note(f"{name}: {time.monotonic() - began:.1f} s")
    code, out, err = ours("items", "check", "--data", daemon.data)
    check("items check finds nothing", code == 0, out + err)
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
