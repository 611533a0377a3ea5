"""Hostile scripts sent through `argiope worker`: each fails with its named cause,
the next run in the same worker is clean, and worker and daemon live on.  The
table of script/limits_test.c has more of them, against the script host as such.
"""
import gzip
import http.server

from items_peer import *

CANARY = "canary-51c0de"
PAGES = {
    "/div": b"<div>" * 200000,
    "/attributes": b"<a" + b"".join(b" a%d=x" % i for i in range(30000)) +
                   b">",
    "/small": b"<p>small</p>",
    "/entities": b"<!DOCTYPE a [<!ENTITY b 'bb'><!ENTITY c '&b;&b;'>]>"
                 b"<a>&c;</a><b>",
    "/bomb": gzip.compress(bytes(50 << 20)),
    "/robots.txt": b"",
}

# (name, cause, the body of a run).  The cause of what succeeds is None.
ROWS = [
    # time
    ("loop", "limit_cpu", "for (;;) {}"),
    ("finally behind the interrupt", "limit_cpu",
     "try { for (;;) {} } finally { for (;;) {} }"),
    ("catch around the interrupt", "limit_cpu",
     "for (;;) { try { for (;;) {} } catch {} }"),
    ("toJSON", "limit_cpu",
     "c.createItem({ data: { toJSON() { for (;;) {} } } })"),
    ("merge callback", "limit_cpu", "c.updateData(() => { for (;;) {} })"),
    ("endless microtasks", "limit_cpu",
     "const f = async () => { for (;;) await 0; }; f(); await f()"),
    ("regular expression", "limit_cpu",
     "/^(a+)+$/.test('a'.repeat(40) + 'b')"),
    ("never settles", "never_settles", "await new Promise(() => {})"),
    ("sleeping for ever", "limit_wall", "await c.sleep(1e9)"),
    # memory
    ("array doubling", "limit_memory",
     "let a = [1]; for (;;) a = a.concat(a)"),
    ("ArrayBuffer doubling", "limit_memory",
     "const k = []; for (let n = 1;; n *= 2) k.push(new ArrayBuffer(n))"),
    ("closures over responses", "limit_memory",
     "const k = []; for (;;) { const r = await c.fetch(SITE + '/small',"
     " { maxAge: '1h' }); k.push(() => r, new Uint8Array(1e6)) }"),
    ("recursion", "error", "const f = () => f() + 1; f()"),
    # values
    ("cycle", "mutation", "const o = {}; o.o = o; c.createItem({ data: o })"),
    ("brackets", "error", "JSON.parse('['.repeat(1e6))"),
    ("33 MiB of changes", "limit_mutations",
     "const s = 'x'.repeat(1e6); for (let i = 0; i < 35; i++) "
     "c.createItem({ data: { s } })"),
    ("half a surrogate pair", "mutation",
     "c.createItem({ data: { a: '\\udc00' } })"),
    ("prototypes replaced", None,
     "const bad = () => { throw new Error('replaced') };"
     "Array.prototype[Symbol.iterator] = bad; globalThis.JSON = null;"
     "Object.defineProperty(Object.prototype, 'id', { set: bad });"
     "await c.getItem('y'); c.updateData(o => o)"),
    # floods
    ("fetches", "limit_fetch",
     "for (let i = 0; i < 1e6; i++) c.fetch(SITE + '/small')"),
    ("log lines", None, "for (let i = 0; i < 1e6; i++) c.log('info', 'a')"),
    ("items", "limit_mutations",
     "for (let i = 0; i < 1e6; i++) c.createItem({ data: {} })"),
    ("reads", "limit_memory",
     "for (let i = 0; i < 1e6; i++) c.getItem('y')"),
    # documents
    ("nested elements", None,
     "(await c.fetch(SITE + '/div')).html()('div').find('div').text()"),
    ("attributes", None,
     "(await c.fetch(SITE + '/attributes')).html()('a').attr('a5')"),
    ("a gzip bomb", "limit_body", "await c.fetch(SITE + '/bomb')"),
    ("100,000 documents", "limit_memory",
     "const r = await c.fetch(SITE + '/small'), k = [];"
     "for (let i = 0; i < 1e5; i++) k.push(r.html())"),
    ("nested :has", "error", "(await c.fetch(SITE + '/small')).html()("
     "':has('.repeat(1000) + 'a' + ')'.repeat(1000))"),
    ("entities", "error", "(await c.fetch(SITE + '/entities')).xml()"),
]
# Requests that a run may not make, and the code of the FetchError for each.
REACH = [
    ("another port of a host that is listed", "denied", "ELSEWHERE + '/'"),
    ("a short address", "denied", "ELSEWHERE.replace('0.0.', '') + '/'"),
    ("an address of one number", "denied",
     "ELSEWHERE.replace('127.0.0.1', '2130706433') + '/'"),
    ("a name", "denied",
     "ELSEWHERE.replace('127.0.0.1', 'localhost') + '/'"),
    ("IPv6", "denied",
     "ELSEWHERE.replace('127.0.0.1', '[::ffff:7f00:1]') + '/'"),
    ("by a redirect", "denied", "SITE + '/elsewhere'"),
    ("with a field smuggled", "input",
     "SITE + '/', { headers: { 'X-A': 'a\\r\\nHost: b' } }"),
    ("with a Host of its own", "input",
     "SITE + '/', { headers: { Host: 'b' } }"),
    ("by CONNECT", "input", "SITE + '/', { method: 'CONNECT' }"),
    ("with a secret of another host", "denied",
     "SITE + '/echo?k=' + c.secret('far')"),
]
IMPORTS = ["/etc/passwd", "../main.js", "http://127.0.0.1/a.js",
           "file:///etc/passwd", "qjs:std"]
# Only what is to exceed it has so little.
LIMITS = {"limit_cpu": 'cpu: "300ms"', "limit_wall": 'wall: "500ms"',
          "limit_memory": 'memory: "16M"'}
MODULE = """
const SITE = "http://127.0.0.1:PORT", ELSEWHERE = "http://127.0.0.1:OTHER";
const task = (run, more) => ({ version: "1", remote: true, retries: 0, run,
    ...more });
const codeOf = async (call) => {
  try {
    await call();
    return "it succeeds";
  } catch (e) {
    return e.code ?? e.name;
  }
};
export default {
  tags: { TAGS },
  fetch: { private: ["127.0.0.1:PORT"],
      policy: { robots: "ignore", rate_limit: 0 } },
  tasks: {
    clean: task(async ({ id, data, getItem, updateData, sleep }) => {
      await sleep(1);
      const y = await getItem("y");
      const names = Object.getOwnPropertyNames(globalThis).filter((n) =>
          n.startsWith("left"));
      for (const x of [data.n])
        updateData(() => ({ n: x, y, text: JSON.stringify([x]), id,
            names }));
    }),
    TASKS
  }
};
"""


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, status, body, more = self.path, 200, b"", {}
        if path == "/elsewhere":
            status, more = 302, {"Location": self.server.elsewhere}
        elif path.startswith("/echo"):
            self.server.echoed.append(path)
            body = b"you sent " + path.encode()
            more = {"X-Sent": path}
        elif path == "/bomb":
            more = {"Content-Encoding": "gzip"}
        self.send_response(status)
        body = PAGES.get(path, body)
        for name, value in {"Content-Type": "text/html", **more,
                            "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Elsewhere(threading.Thread):
    """What listens where no run may come; it counts who does."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.visits = self.socket.getsockname()[1], 0
        self.start()

    def run(self):
        while True:
            self.socket.accept()[0].close()
            self.visits += 1


def module(site, other):
    tasks = {f"r{i}": (body, LIMITS.get(cause, ""))
             for i, (_, cause, body) in enumerate(ROWS)}
    tasks["reach"] = ("const got = []; " + " ".join(
        f"got.push(await codeOf(() => c.fetch({call})));"
        for _, _, call in REACH) + " c.updateData(() => ({ got }))", "")
    tasks["imports"] = (
        "const got = []; for (const path of %s) got.push(await codeOf(() => "
        "import(path))); c.updateData(() => ({ got }))" % json.dumps(IMPORTS),
        "")
    tasks["echo"] = (
        "const r = await c.fetch(SITE + '/echo?k=' + c.secret('near'));"
        "c.updateData(() => ({ got: [r.text(), r.headers.get('x-sent')] }))",
        "")
    text = MODULE.replace("TAGS", ", ".join(
        f'{name}: ["{name}"]' for name in ["clean", *tasks]))
    text = text.replace("TASKS", ",\n    ".join(
        f"{name}: task(async (c) => {{ globalThis.left_{name} = 1; {body} }},"
        f" {{ {limit} }})" for name, (body, limit) in tasks.items()))
    return text.replace("PORT", str(site)).replace("OTHER", str(other))


class Sent:
    """A daemon whose tasks all run in one process of `argiope worker`."""

    def __init__(self, site, text):
        self.site, self.n = site, 0
        with open("secrets.json", "w") as f:
            json.dump({"near": {"value": CANARY, "hosts": ["127.0.0.1"]},
                       "far": {"value": CANARY, "hosts": ["far.example"]}}, f)
        os.chmod("secrets.json", 0o600)
        self.daemon = Items("daemon", ["script.secrets_file=" + PLACE +
                                       "/secrets.json"], text)
        self.daemon.ask("POST", "/items/y", {"data": {"a": 1}})
        with open("worker.token", "w") as f:
            f.write("none\n")          # loopback needs none
        with open("worker.log", "w") as log:
            self.worker = start([
                program(), "worker", "--url", self.daemon.url, "--token-file",
                "worker.token", "--config", self.daemon.config, "--set",
                "script.processes_max=1"], stdout=log, stderr=log)

    def ended(self, task, id):
        """How a pair's run ended: a failure's code, None for a success, and
        "" while it has not ended."""
        pair = self.daemon.ask("GET", f"/items/{id}/tasks")[1]["tasks"][0]
        if pair["state"] == "fresh":
            return None
        if pair["state"] != "failed":
            return ""
        return self.daemon.ask("GET", f"/tasks/{task}/failures")[1][
            "failures"][-1]["error_data"]["code"]

    def run(self, task, **data):
        """Run the task on a new item; (item, how it ended)"""
        self.n += 1
        id = f"{task}-{self.n}"
        self.daemon.ask("POST", "/items/" + id, {"data": data,
                                                 "tags": [task]})
        wait_until(lambda: self.ended(task, id) != "", 30, 0.02)
        return id, self.ended(task, id)

    def memory_kib(self):
        """Of worker and daemon."""
        found = []
        for child in (self.worker, self.daemon.child):
            with open(f"/proc/{child.pid}/status") as f:
                found.append(int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]))
        return found

    def data(self, id):
        return self.daemon.ask("GET", "/items/" + id)[1]["data"]

    def is_clean(self, name):
        """The next run in the same place: nothing is left."""
        id, code = self.run("clean", n=7)
        same(f"{name}: the next run is clean", (code, self.data(id)), (
            None, {"n": 7, "y": {"a": 1}, "text": "[7]", "id": id,
                   "names": []}))


def reach(s, other):
    id, code = s.run("reach")
    got = s.data(id).get("got", [code] * len(REACH))
    for (name, want, _), code in zip(REACH, got):
        same(f"reach: {name}", code, want)
    same("reach: nobody came", other.visits, 0)
    same("reach: imports", s.data(s.run("imports")[0]).get("got"),
         ["ReferenceError"] * len(IMPORTS))
    same("reach: a secret that is echoed",
         s.data(s.run("echo")[0]).get("got"),
         ["you sent /echo?k=REDACTED", "/echo?k=REDACTED"])
    same("reach: the site had it", s.site.echoed, ["/echo?k=" + CANARY])
    s.is_clean("reach")


def main():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    other = Elsewhere()
    site.echoed = []
    site.elsewhere = f"http://127.0.0.1:{other.port}/"
    s = Sent(site, module(site.server_address[1], other.port))
    s.is_clean("before all")
    before = s.memory_kib()
    for i, (name, code, _) in enumerate(ROWS):
        same(f"{name}: {code or 'it succeeds'}", s.run(f"r{i}")[1], code)
        s.is_clean(name)
    reach(s, other)
    for name, was, now in zip(("worker", "daemon"), before, s.memory_kib()):
        check(f"the {name}'s memory stays", now - was < 64 * 1024,
              f"{was} KiB, {now} KiB")
    check("worker and daemon live on", s.worker.poll() is None and
          s.daemon.runs())
    s.worker.terminate()
    same("the worker ends in order", s.worker.wait(20), 0)
    same("the daemon ends in order", s.daemon.stop(), 0)


try:
    main()
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
