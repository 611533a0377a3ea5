"""The console in a real browser, part two: the owner's first token, a server
that is killed and comes back, why a crawl waits, an ended crawl run again,
edited, and its failures retried, and 1,000 crawls at once.

CONSOLE_SHOTS=FOLDER keeps the screenshots.
"""
import urllib.error
import urllib.request

from console_server import *

browser = Browser("console_more")
site = Site()


# ---- The first token ---------------------------------------------------------

owner = Server(site, "owner")


def status(path, **fields):
    r = urllib.request.Request(owner.url + path, headers=fields)
    try:
        with urllib.request.urlopen(r, timeout=10) as a:
            return a.status
    except urllib.error.HTTPError as e:
        return e.code


def add(origin):
    r = urllib.request.Request(
        owner.url + "/tokens", method="POST", headers={"Origin": origin},
        data=b'{"name":"stranger","scopes":["*:write"]}')
    try:
        with urllib.request.urlopen(r, timeout=10) as a:
            return a.status
    except urllib.error.HTTPError as e:
        return e.code


same("a page of another port makes no token", add(
    "http://127.0.0.1:9"), 403)
same("before the first token the status is open", status("/status"), 200)
browser.drive("first", owner)
same("then it asks for one", [status(p) for p in ("/status", "/metrics")],
     [401, 401])
same("whether the server lives does not", [status(p) for p in (
    "/healthz", "/readyz")], [200, 200])
code, out, err = ours("status", "--data", owner.data, "--json")
check("argiope status needs none", code == 0 and '"crawls"' in out, err)
owner.stop()


# ---- A server that is gone, and crawls that are run again --------------------

server = Server(site, "data", more=["--set", "fetch.tries_max=1"])


def kill():
    server.kill()
    return "killed"


def again():
    server.start()
    return "started"


browser.drive("gone", server, {"kill": kill, "start": again})
browser.drive("rerun", server)
missing = urllib.request.Request(server.url + "/crawls/0/pages/99999/record")
try:
    urllib.request.urlopen(missing)
except urllib.error.HTTPError as e:
    same("what is missing is said without internals",
         json.loads(e.read())["error"], "crawl 0 has no page 99999")
server.stop()


# ---- A thousand crawls -------------------------------------------------------

server = Server(site, "thousand", more=["--set", "fetch.tries_max=1"])
browser.drive("thousand", server, ended=990, running=10)
server.stop()
check("the server ended by itself", server.child.returncode == 0,
      server.child.returncode)
done()
