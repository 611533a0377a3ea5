"""Secrets stay where they belong: a token, a configured secret, a session's cookie
and its data are used by tasks with a login, and searched for in everything that
the daemon writes, tells or starts.  What is no secret is planted in each of these
places, and found there.
"""
import base64
import http.server
import secrets as chance

from canaries import Canaries
from items_peer import *

# Letters and digits, so that percent-encoding leaves them alone.
canaries = Canaries(**{name: name + chance.token_hex(12) for name in (
    "password", "cookie", "data", "planted")})
CANARIES, hits, held = canaries.texts, canaries.hits, canaries.look
PLANTED = CANARIES["planted"]
PG = os.environ.get("ITEMS_PG")


class Page(http.server.BaseHTTPRequestHandler):
    """A login by password, which sets a cookie.  What it hears it tells again in a
    header: bodies are archived as they came.
    """
    protocol_version = "HTTP/1.1"

    def answer(self, status, text, **fields):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        heard.append(("login", CANARIES["password"] in sent))
        # The data is made by the script, from this.
        self.answer(200, f"<p id=seed>{CANARIES['data'][::-1]}</p>",
                    X_Sent=sent,
                    Set_Cookie=f"member={CANARIES['cookie']}; Path=/")

    def do_GET(self):
        if self.path == "/robots.txt":
            self.answer(404, "")
            return
        cookie = self.headers.get("Cookie", "")
        key = self.headers.get("X-Key", "")
        heard.append(("page", CANARIES["cookie"] in cookie and
                      CANARIES["password"] in key))
        # In the ways that a redactor has to know.
        self.answer(200, f"<h1>{PLANTED}</h1>", X_Key=key, X_Path=self.path,
                    X_Coded=base64.b64encode(b"a" + key.encode()).decode())

    def log_message(self, *words):
        pass


MODULE = """
const SITE = "http://127.0.0.1:PORT";
export default {
  tags: { shop: ["page", "hold"] },
  seeds: [{ id: "one", tags: ["shop"], data: {} }],
  fetch: { policy: { rate_limit: 0 }, private: ["127.0.0.1:PORT"] },
  sessions: { member: { ttl: "1d",
    async login({ fetch, session, secret }) {
      const page = await fetch(SITE + "/login", { session, method: "POST",
          form: { user: "demo", password: secret("password") } });
      session.data.token = [...page.html()("#seed").text()].reverse().join("");
    } } },
  tasks: {
    page: { version: "1", async run({ fetch, session, secret, log,
        updateData }) {
      const member = await session("member");
      const page = await fetch(SITE + "/members/PLANTED?k=" +
          secret("password"), { session: member,
          headers: { "X-Key": secret("password") } });
      log("info", page.text() + page.headers.get("x-key") +
          page.headers.get("x-path") + page.headers.get("x-coded"));
      updateData((old) => ({ ...old, text: page.text() }));
    } },
    // It is under way while processes are searched.
    hold: { version: "1", dependsOn: ["page"], async run({ fetch, secret,
        sleep }) {
      const page = await fetch(SITE + "/hold?k=" + secret("password"),
          { headers: { "X-Key": secret("password") } });
      await sleep(60000);
      return page;
    } }
  }
};
"""


# ---- The search ------------------------------------------------------------------

def children_of(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as f:
            found += map(int, f.read().split())
    return found


def memory_of(pid):
    """All that can be read of a process's memory."""
    with open(f"/proc/{pid}/maps") as f:
        ranges = [line.split()[0].split("-") for line in f]
    with open(f"/proc/{pid}/mem", "rb", 0) as f:
        for first, last in ranges:
            try:
                f.seek(int(first, 16))
                yield f.read(int(last, 16) - int(first, 16))
            except (OSError, OverflowError, ValueError):
                pass


def processes(s):
    spawner = children_of(s.child.pid)
    scripts = [x for pid in spawner for x in children_of(pid)]
    check("scripts run while processes are searched", scripts)
    for pid in [s.child.pid, *spawner, *scripts]:
        canaries.look_at_process(pid)
    for pid in spawner + scripts:
        try:
            held("memory of scripts", b"".join(memory_of(pid)))
        except PermissionError:
            skip("memory of scripts", "it may not be read here")
            hits.setdefault("memory of scripts", {"planted"})
            return


def told(s):
    """What the door answers, and what the commands write."""
    def ask(path):
        status, _, body = s.http(path, fields={
            "Authorization": "Bearer " + CANARIES["token"]})
        if status != 200:
            check(f"GET {path}", False, status)
        return body
    held("items", ask("/items?metadata=page,hold"))
    held("events", ask("/updates?since=0&limit=1000"))
    for task in ("page", "hold"):
        runs = s.ask("GET", f"/items/one/operations/{task}/runs")[1]["runs"]
        for r in runs:
            held("run records", ask("/runs/" + r["run"]))
        held("failures", ask(f"/tasks/{task}/failures"))
    held("figures", s.http("/metrics")[2] + ask("/items-config"))
    code, out, err = ours("items", "export", "--data", s.data, *s.store)
    same("items export", code, 0)
    held("export", (out + err).encode())
    code, out, err = ours("backup", "backup", "--data", s.data)
    same("backup", code, 0)
    held("figures", (out + err).encode())


def dumped():
    """A dump of PostgreSQL's database, and the server's log."""
    def tool(name, *words):
        return subprocess.run([f"{os.environ['ITEMS_PG_BIN']}/{name}", "-h",
                               PG, "-U", "argiope", *words, "data"],
                              capture_output=True)
    dump = tool("pg_dump")
    same("pg_dump", dump.returncode, 0)
    held("dump", dump.stdout)
    # The server logs a statement that fails.
    tool("psql", "-c", "SELECT " + PLANTED)
    with open(PG + "/log", "rb") as f:
        held("PostgreSQL's log", f.read())


# ---- Everything ----------------------------------------------------------------------

def main():
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    port = site.server_address[1]
    with open("shop.js", "w") as f:
        f.write(MODULE.replace("PORT", str(port)).replace("PLANTED", PLANTED))
    with open("secrets.json", "w") as f:
        json.dump({"password": {"value": CANARIES["password"],
                                "hosts": ["127.0.0.1"]}}, f)
    os.chmod("secrets.json", 0o600)
    os.makedirs("data")
    store = database("data")
    code, out, err = ours("token", "add", "somebody", "--scope", "items:write",
                          "--data", PLACE + "/data", *(
                              x for s in store for x in ("--set", s)))
    CANARIES["token"] = out.split()[-1]
    check("a token", code == 0 and len(CANARIES["token"]) > 20, err)
    os.environ["ARGIOPE_NOTE"] = PLANTED
    s = Items("data", [
        "script.secrets_file=" + PLACE + "/secrets.json",
        "store.node=" + PLANTED], PLACE + "/shop.js", token=CANARIES["token"],
        store=store)
    check("the tasks have run", wait_until(lambda: s.ask(
        "GET", "/tasks/page")[1]["counts"]["fresh"] == 1, 20), s.said())
    check("one is under way", wait_until(lambda: ("page", True) in
                                         heard[1:] and children_of(
        s.child.pid), 10), heard)
    wait_until(lambda: s.ask("GET", "/tasks/hold")[1]["counts"]["leased"])
    time.sleep(0.5)
    same("the site has seen password and cookie",
         (heard[0], heard[1]), (("login", True), ("page", True)))
    code, out, err = ours("status", "--data", s.data)
    check("argiope status names the layers of the sandbox",
          "; sandbox: seccomp" in out, out + err)
    # The log names what is refused.
    with open("shop.js", "a") as f:
        f.write(f"throw new Error('{PLANTED}');")
    same("a faulty configuration is refused", s.ask(
        "POST", "/items-config/reload")[0], 422)
    processes(s)
    told(s)
    if PG:
        dumped()
    # One is still under way.
    s.kill()
    with open(s.log, "rb") as f:
        held("logs", f.read())
    canaries.look_at_files(s.data, lambda path: None if path.endswith(
        "/secrets.key") else "WARCs" if ".warc" in path else "store")
    canaries.look_at_files(PLACE + "/backup", lambda path: "WARCs" if
                           ".warc" in path else "backup")
    site.shutdown()
    compare()


def compare():
    # It is made by a script, which may have it.
    hits["memory of scripts"].discard("data")
    canaries.compare(
        "WARCs", "store", "backup", "logs", "items", "events", "export",
        "run records", "/proc: cmdline", "/proc: environ", "memory of scripts",
        *(("dump", "PostgreSQL's log") if PG else ()))


heard = []
try:
    main()
except Exception as e:
    check("goes to its end", False, "line %s: %s %s" % (
        [f.lineno for f in traceback.extract_tb(e.__traceback__)],
        type(e).__name__, e))
done()
