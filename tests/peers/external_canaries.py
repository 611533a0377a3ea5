"""Secrets of the external door stay where they belong: a canary in each input is
searched for in everything that the daemon writes, reports or leaves, in its
memory after the tasks have ended, and in a core file.  A text that is no secret
is planted in each of these places, and found there.

usage: external_canaries.sh
"""
import base64
import glob
import resource
import secrets as chance

from canaries import Canaries
from external_door_peer import *

PG = os.environ.get("ITEMS_PG")
PATTERN = "/proc/sys/kernel/core_pattern"
PLANTED = "planted" + chance.token_hex(8)
ODD = 'p\u00e4ss/+ "'                  # is written in several ways
INPUTS = ("user", "password", "replaced", "wrong", "custom", "oauth",
          "parameter", "checked", "broken", "userinfo", "signature", "header",
          "ticket", "stranger", "callback")
canaries = Canaries(planted=PLANTED, **{name: (ODD if name in (
    "password", "parameter") else name) + chance.token_hex(16)
    for name in INPUTS})
C = canaries.texts
# The store has an endpoint's query since a task is resumed after a restart, and
# calls the address that it was given (external.md §2, §5).
SIGNED = "store", "backup", "dump"
# The daemon's own, in locked pages of its memory as long as it runs.
OWN = "header", "ticket"
STRANGER = "eve"                 # whose password the source refuses


def store_setting():
    if not PG:
        return []
    subprocess.run([os.environ["ITEMS_PG_BIN"] + "/createdb", "-h", PG, "-U",
                    "argiope", "data"], check=True)
    return [f"store.url=postgresql://argiope@/data?host={PG}"]


def with_store(*words):
    return (*words, "--data", data, *(x for s in store
                                      for x in ("--set", s)))


# ---- The other sides ---------------------------------------------------------------

class Loud(Api):
    """Refuses with what it was sent."""
    wrong, limited, gate = (), False, threading.Event()

    def answer(self, request):
        sent = request.headers["Authorization"]
        signed.append(sent)
        if len(signed) == 2:
            self.gate.wait(60)
        if self.limited:
            request.send_response(429)
            request.send_header("Retry-After", "600")
            request.send_header("Content-Length", "0")
            request.end_headers()
        elif sent in self.wrong:
            body = json.dumps({"error": f"{sent} is wrong", "sent": sent})
            request.send_response(401, "Unauthorized")
            request.send_header("WWW-Authenticate", f'Basic realm="{sent}"')
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body.encode())
        else:
            super().answer(request)


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def echo(call, number):
    """The first upload and the second status fail, with what was sent."""
    if number == (1 if call.kind == UPLOADS else 2):
        seen.append(call.fields.get("Authorization"))
        return 503 if call.kind == UPLOADS else 400, {}, json.dumps({
            "success": False, "messages": [call.path, str(call.fields)]})
    return None


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"<p>{PLANTED}</p>".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


# ---- The daemon ----------------------------------------------------------------------

def declared(kind, name):
    """`kind`: of api.auth."""
    return api.connector(name, credential="basic", title=PLANTED, parameters={
        "type": "object", "required": ["kind"], "properties": {
            "kind": {"title": "Kind", "x-ui": "string"},
            "pin": {"title": "Pin", "x-ui": "password"}}}, api={
        "url": api.base + "/{kind}", "label": "things", "items": "/items",
        "id": "/id", "auth": {"kind": kind},
        "next": {"cursor": "/next", "parameter": "after"}})


def back_ends_file():
    path = put("backends.json", [{
        "name": "acme", "token": "acme-be", "prefix": b.base + "/tasks",
        "headers": {"Authorization": "Bearer " + C["header"]},
        "ticket_key": base64.b64encode(C["ticket"].encode()).decode()}])
    os.chmod(path, 0o600)
    return path


def serve(name, *more):
    s = External(name, place, *api.settings[1::2], *store,
                 "external.backends_file=" + back_ends_file(), "store.node=" +
                 PLANTED, "fetch.allow_private=true", *more, data=data,
                 env={"ARGIOPE_NOTE": PLANTED})
    s.token = C["token"]
    return s


def signed_endpoint(fid):
    return b.endpoint(fid) + "?signature=" + C["signature"]


def begin(s, fid, connector="secret", **credential):
    return s.task(fid, signed_endpoint(fid), {"kind": "a", "pin":
                                              C["parameter"]}, connector,
                  callback="https://127.0.0.1/" + C["callback"],
                  credential={"user": C["user"], "password": C["password"],
                              "oauth": {"user": C["user"], "token":
                                        C["oauth"]}, **credential})


# ---- Tasks ----------------------------------------------------------------------------

def tasks(s):
    signed.clear()
    b.reply = echo
    fid = "t-" + PLANTED
    begin(s, fid)
    # The second answer waits until the task has another password.
    check("the source is asked", wait_until(lambda: len(signed) == 2))
    opened.append(memory_of(s))
    begin(s, fid, password=C["replaced"])
    api.gate.set()
    same("a task with a password is done", s.ends(fid, connector="secret"),
         "done")
    same("its password was used, and the one of the repeated POST",
         (signed[0], signed[-1]), (basic(C["user"], C["password"]),
                                   basic(C["user"], C["replaced"])))
    same("the back end has seen its field",
         set(seen), {"Bearer " + C["header"]})
    begin(s, "custom", "bearer", token=C["custom"])
    same("a task with a field of its own is done", s.ends(
        "custom", connector="bearer"), "done")
    same("... which was used", signed[-1], "Bearer " + C["custom"])
    begin(s, "wrong", user=STRANGER, password=C["wrong"])
    same("a wrong password: failed", s.ends("wrong", connector="secret"),
         "failed")
    b.reply = None
    b.reply = lambda call, number: (None, {}, None)
    begin(s, "lost")
    wait_until(lambda: "no answer" in json.dumps(s.ask(
        "GET", "/external/secret/task/lost/log")[1]), 10)
    same("a task that is stopped", s.ask(
        "PATCH", "/external/secret/task/lost/status", {"code": 408})[0], 200)
    b.reply = None
    s.task("web", signed_endpoint("web"), {"seeds": [
        f"http://127.0.0.1:{site.server_address[1]}/{PLANTED}"], "depth": 0},
        "web_crawl")
    same("a crawl is done", s.ends("web", connector="web_crawl"), "done")


def refusals(s):
    def refused(name, status, body, path="/external/secret/task", **more):
        code, said = s.ask("POST", path, body, **more)
        same(f"{name}: {status}", code, status)
        canaries.look("refusals", json.dumps(said).encode())

    fine = {"fid": "r", "endpoint": signed_endpoint("r"), "params": {
        "kind": "a"}, "credential": {"user": "ada", "password": C["broken"]}}
    refused("broken JSON", 400, json.dumps(fine)[:-1])
    refused("a user in the endpoint", 400, {**fine, "endpoint":
            f"http://u:{C['userinfo']}@127.0.0.1/tasks/r"})
    refused("a foreign endpoint", 403, {**fine, "endpoint":
            f"http://127.0.0.1:1/tasks/r?signature={C['signature']}"})
    refused("a credential that is a text", 400, {**fine, "credential":
                                                 C["broken"]})
    refused("a parameter of another type", 400, {**fine, "params": {
        "kind": "a", "pin": [C["parameter"]]}})
    refused("no such connector", 404, fine, "/external/" + C["broken"] +
            "/task")
    refused("a stranger's token", 401, fine, token=C["stranger"])
    for user, password in (C["user"], C["checked"]), (STRANGER, C["wrong"]):
        code, said = s.ask("POST", "/external/secret/check", {
            "params": {"kind": "a", "pin": C["parameter"]}, "credential": {
                "user": user, "password": password}})
        same("check: its answer", said["payload"]["ok"],
             password == C["checked"])
        canaries.look("refusals", json.dumps(said).encode())


# ---- The search -------------------------------------------------------------------------

def memory_of(s):
    """All that a process can write of its memory, but for pages of zeroes; None
    where it may not be read."""
    pid, found, ranges = s.child.pid, [], []
    with open(f"/proc/{pid}/smaps") as f:
        for line in f:
            words = line.split()
            if len(words) > 1 and "-" in words[0] and "w" in words[1]:
                ranges.append(words[0].split("-"))
            elif len(words) > 1 and "-" in words[0]:
                ranges.append(None)
            elif words[:2] == ["Rss:", "0"]:
                ranges[-1] = None        # Nothing of it is there.
    try:
        f = open(f"/proc/{pid}/mem", "rb", 0)
    except PermissionError:
        skip("memory", "it may not be read here")
        return None
    with f:
        for first, last in filter(None, ranges):
            try:
                f.seek(int(first, 16))
                found.append(f.read(int(last, 16) - int(first, 16)).replace(
                    b"\0" * 4096, b""))
            except (OSError, OverflowError, ValueError):
                pass
    return b"".join(found)


def reports(s):
    shown = [s.http("/metrics")[2], s.http("/status")[2]]
    for connector, fid in (("secret", "t-" + PLANTED), ("secret", "wrong"),
                           ("secret", "lost"), ("bearer", "custom"),
                           ("web_crawl", "web")):
        for one in "", "/log":
            code, said = s.ask("GET",
                               f"/external/{connector}/task/{fid}{one}")
            same(f"GET {fid}{one}", code, 200)
            shown.append(json.dumps(said).encode())
    for name in "object", "form":
        shown.append(json.dumps(s.ask("GET", "/external/secret/" + name)[
            1]).encode())
    canaries.look("reports", b"\n".join(shown))
    shown = []
    for words in (("tasks", "--json"), ("rejected", "t-" + PLANTED),
                  ("cursor", "t-" + PLANTED)):
        code, out, err = ours(*with_store("external", *words))
        same("argiope external " + words[0], code, 0)
        shown.append(out + err)
    canaries.look("commands", "\n".join(shown).encode())
    canaries.look("calls to the back end", "\n".join(
        c.body.decode() for c in b.calls).encode())
    if not PG:
        code, out, err = ours(*with_store("backup", "backup"))
        same("argiope backup", code, 0)
        canaries.look_at_files(PLACE + "/backup", lambda path: "backup")


def dumped():
    def tool(name, *words):
        return subprocess.run([f"{os.environ['ITEMS_PG_BIN']}/{name}", "-h",
                               PG, "-U", "argiope", *words, "data"],
                              capture_output=True)
    dump = tool("pg_dump")
    same("pg_dump", dump.returncode, 0)
    canaries.look("dump", dump.stdout)
    # The server logs a statement that fails.
    tool("psql", "-c", "SELECT " + PLANTED)
    with open(PG + "/log", "rb") as f:
        canaries.look("PostgreSQL's log", f.read())


def place_of(path):
    name = os.path.basename(path)
    return None if name == "secrets.key" else "CDXJ" if ".cdxj" in name else \
        "WARCs" if ".warc" in name else "store"


# ---- Core files ----------------------------------------------------------------------

def crashed(s):
    """It aborts while a task waits for its source's rate limit, so that no
    request is under way; its core files."""
    api.limited = True
    begin(s, s.name)
    check("the task waits", wait_until(lambda: "rate limit" in s.look(
        s.name, "secret").get("waiting", "")), s.look(s.name, "secret"))
    # A status tells the back end that.
    calls = -1
    while calls < len(b.calls):
        calls = len(b.calls)
        time.sleep(2)
    s.child.send_signal(6)
    s.child.wait(60)
    api.limited = False
    return glob.glob(PLACE + "/core*")


def leave_cores():
    with open(PATTERN) as f:
        pattern = f.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        skip("core files", f"{PATTERN} is {pattern}")
        return
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    same("a daemon leaves no core file", crashed(serve("quiet")), [])
    found = crashed(serve("loud", "secrets.core_dumps=on"))
    if check("secrets.core_dumps=on: it does", len(found) == 1, found):
        with open(found[0], "rb") as f:
            canaries.look("core file", f.read())
        canaries.hits["core file"] -= {"signature"}
        os.unlink(found[0])


# ---- Everything --------------------------------------------------------------------

def table():
    places = sorted(canaries.hits)
    for place in places:
        hits = sorted(canaries.hits[place])
        note(f"{place:22} planted: {'yes' if 'planted' in hits else 'no':4}"
             f"secrets: {', '.join(h for h in hits if h != 'planted') or '-'}")


signed, seen, opened = [], [], []
data = os.path.join(PLACE, "door-" + PLANTED)
store = store_setting()
api, b = Loud("things.example.org"), Back()
api.wrong = {basic(STRANGER, C["wrong"])}
site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=site.serve_forever, daemon=True).start()
place = connectors("connectors-" + PLANTED, declared("basic", "secret"),
                   declared("bearer", "bearer"))
done_ = ours(*with_store("token", "add", "acme-be", "--scope",
                         "external:write"))
C["token"] = re.search(r"argiope_[0-9a-f]{64}", done_[1])[0]
s = serve("door")
refusals(s)
tasks(s)
canaries.look_at_process(s.child.pid)
reports(s)
if PG:
    dumped()
left = memory_of(s)
s.kill()
if left is not None:
    canaries.look("memory of a task", opened[0])
    check("an open task's secrets are found in the memory", {
        "password", "user"} <= canaries.hits.pop("memory of a task"))
    canaries.look("memory after tasks", left)
    # The source has repeated the wrong one in its answer, which is its own.
    canaries.hits["memory after tasks"] -= {*OWN, "wrong", "token",
                                            "signature"}
with open(s.log, "rb") as f:
    canaries.look("log", f.read())
canaries.look_at_files(data, place_of)
leave_cores()
table()
for where in {*SIGNED} & {*canaries.hits}:
    if where == "store" and PG:
        continue
    check(f"{where}: an endpoint's query is there, and is the exception",
          "signature" in canaries.hits[where])
    canaries.hits[where].discard("signature")
canaries.compare("log", "store", "WARCs", "CDXJ", "reports", "commands",
                 "calls to the back end", "/proc: cmdline", "/proc: environ",
                 *(("dump", "PostgreSQL's log") if PG else ("backup",)),
                 *(("memory after tasks",) if left is not None else ()),
                 *(("core file",) if "core file" in canaries.hits else ()))
done()
