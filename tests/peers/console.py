"""The console in a real browser: Chromium, by playwright-core.

A person starts a crawl, watches pages come, filters, leaves out a calendar with
its preview, pauses, resumes, opens a page, cancels; then every view is looked
at in two widths and both themes, with axe-core; then with tokens, over a
restart of the server, and for a while with many pages.  No console error, no
failed request, nobody else asked, nothing of what the web says ever run.

CONSOLE_SHOTS=FOLDER keeps the screenshots; CONSOLE_SECONDS=600 watches the
memory of a tab for that long (10 s).
"""
import shutil

from console_site import Site
from peer import *

need("console", "node", "npm", "chromium")
tools = node_with("console", "playwright-core@1.60.0", "axe-core@4.10.3")
if tools is None:
    skip("console", "Playwright or axe-core cannot be had from npm")
    done()

site = Site()
shots = os.environ.get("CONSOLE_SHOTS") or os.path.join(PLACE, "shots")
os.makedirs(shots, exist_ok=True)


class Server:
    def __init__(self, data, port=0, more=()):
        self.data = os.path.join(PLACE, data)
        self.more, self.port = list(more), port
        self.start()

    def start(self):
        self.told = os.path.join(PLACE, "serve.out")
        out = open(self.told, "w")
        err = open(os.path.join(PLACE, "serve.err"), "a")
        self.child = start([
            program(), "serve", "--data", self.data,
            "--set", f"http.listen=127.0.0.1:{self.port}",
            "--set", "urlfrontier.listen=127.0.0.1:0",
            "--set", "fetch.allow_private=on", "--set", "fetch.backoff_ms=50",
            "--set", "fetch.resolve=site.test:80:127.0.0.1:%d,"
            "closed.test:80:127.0.0.1:%d" % (site.port, CLOSED)] + self.more,
            stdout=out, stderr=err)
        found = wait_until(self.where, 20)
        if not found:
            check("the server starts", False, open(err.name).read()[-500:])
            done()
        self.port = int(found.rsplit(":", 1)[1].strip("/\n"))
        self.url = f"http://127.0.0.1:{self.port}"

    def where(self, door="http"):
        for line in open(self.told):
            if line.startswith("argiope serves " + door):
                return line.split()[-1]
        return None

    def stop(self):
        end(self.child)


def drive(part, server, asked=None, **more):
    """Let console.js do a part; it says its checks line by line."""
    child = subprocess.Popen(
        ["node", HERE + "/console.js", tools, shutil.which("chromium"),
         server.url, part, json.dumps(dict(more, shots=shots))],
        env=dict(os.environ, HOME=PLACE), text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    children.append(child)
    for line in child.stdout:
        m = json.loads(line)
        if "note" in m:
            note(m["note"])
        elif "ask" in m:
            child.stdin.write(json.dumps(asked[m["ask"]]()) + "\n")
            child.stdin.flush()
        else:
            check(part + ": " + m["name"], m["fine"], m.get("why", ""))
    child.wait()
    check(part + " came to its end", child.returncode == 0, child.returncode)


CLOSED = free_port()
server = Server("data")
drive("story", server)
with open("outside", "w") as f:
    f.writelines(f"http://outside.test/{n}\n" for n in range(7))
code, out, err = ours("frontier", "-p", server.where("urlfrontier").rsplit(
    ":", 1)[1], "PutURLs", "-f", "outside", "-c", "of outsiders")
check("an outsider puts URLs", code == 0, err)
drive("views", server, crawl=0)


def listens_at(host, port):
    with socket.socket() as s:
        return s.connect_ex((host, port)) == 0


def restart():
    server.stop()
    return "stopped"


def again():
    server.start()
    return "started"


drive("lost", server, {"stop": restart, "start": again})

# A hundred thousand pages at full speed, where the web of the benches is built.
many = {"site": "http://site.test/", "delay": "0.03"}
web = built("bench/pages")
if os.access(web, os.X_OK):
    port = free_port()
    start([web, "--hosts", "1", "--first", "127.1.0.1", "--port", str(port)],
          stdout=subprocess.DEVNULL)
    wait_until(lambda: listens_at("127.1.0.1", port))
    many = {"site": f"http://127.1.0.1:{port}/web/100000/6/0", "delay": "0",
            "pages": 20000}
else:
    note("bench/pages is not built: the long list is a short one")
drive("long", server, watch=int(os.environ.get("CONSOLE_SECONDS", "10")),
      **many)


def token(name, scope):
    code, out, err = ours("token", "add", name, "--scope", scope, "--data",
                          server.data)
    check(f"a token of scope {scope}", code == 0, err)
    return out.strip()


reader = token("reader", "console:read,realtime:read")
writer = token("writer", "console:write,realtime:write")
drive("token", server, reader=reader, writer=writer)
server.stop()
said = open(os.path.join(PLACE, "serve.err")).read()
check("the server's log has no token", reader not in said and
      writer not in said)
check("the server ended by itself", server.child.returncode == 0,
      server.child.returncode)
done()
