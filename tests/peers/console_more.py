"""The console in a real browser, part two: the owner's first token, a server
that is killed and comes back, why a crawl waits, an ended crawl run again,
edited, and its failures retried, its package opened in ReplayWeb.page, and
1,000 crawls at once.

CONSOLE_SHOTS=FOLDER keeps the screenshots; CONSOLE_DOCS=docs also makes those of
the documentation anew, which takes two minutes.
"""
import urllib.error
import urllib.request

from console_server import *
from console_site import TlsSite, signed

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
command = urllib.request.Request(
    server.url + "/realtime/command", method="POST", data=json.dumps(
        {"command": "job.rerun", "command_id": 1,
         "args": {"crawl_id": 2}}).encode())
with urllib.request.urlopen(command, timeout=10) as a:
    check("a program runs a crawl again by HTTP", json.loads(a.read())[
        "success"])
missing = urllib.request.Request(server.url + "/crawls/0/pages/99999/record")
try:
    urllib.request.urlopen(missing)
except urllib.error.HTTPError as e:
    same("what is missing is said without internals",
         json.loads(e.read())["error"], "crawl 0 has no page 99999")

# ---- A crawl's package, opened by somebody else's replay ----------------------

os.makedirs("served")
place = os.path.join(PLACE, "served", "site.wacz")
browser.drive("wacz", server, place=place)
viewer = npm_package("replaywebpage", "2.5.3")
if viewer is None or not shutil.which("nginx"):
    skip("console_more", "ReplayWeb.page cannot be had from npm, or no nginx")
else:
    for part in ("index.html", "ui.js", "sw.js", "adblock"):
        if os.path.exists(os.path.join(viewer, part)):
            os.symlink(os.path.join(viewer, part), "served/" + part)
    web = Nginx("nginx-replay", PLACE + "/served")
    code, out, err = run(
        "node", HERE + "/replay.js", browser.tools, shutil.which("chromium"),
        web.url, web.url + "site.wacz", "http://site.test/plain", "absent",
        seconds=120, env=dict(os.environ, HOME=PLACE))
    if check("ReplayWeb.page opens the downloaded package", code == 0,
             err[-500:]):
        told = json.loads(out)
        same("... and shows the page", (told["pages"][0]["text"].strip(),
                                       told["pages"][0]["title"]),
             ("A plain page", "plain"))
        same("... without an error", told["said"], [])
server.stop()


# ---- What went wrong, and its causes -----------------------------------------

if not shutil.which("openssl"):
    skip("console_more", "openssl is not there for the causes of failures")
else:
    signed("ca", 2, None)
    hosts = {"expired.test": TlsSite("expired", -1, "expired.test"),
             "other.test": TlsSite("other", 2, "name.test"),
             "self.test": TlsSite("self", 2, None), "plain.test": site}
    server = Server(
        site, "causes", names="".join(f",{host}:443:127.0.0.1:{of.port}"
                                      for host, of in hosts.items()),
        more=["--set", "fetch.tries_max=1", "--set", f"fetch.ca_file={PLACE}/ca.pem",
              "--set", "crawl.retry_max=4"])
    browser.drive("causes", server)
    server.stop()


# ---- The pictures of the documentation ----------------------------------------

def command(verb, **args):
    r = urllib.request.Request(
        server.url + "/realtime/command", method="POST", data=json.dumps(
            {"command": verb, "command_id": 1, "args": args}).encode())
    with urllib.request.urlopen(r, timeout=10) as a:
        return json.loads(a.read())["data"]


def ready():
    try:
        with urllib.request.urlopen(server.url + "/readyz", timeout=5) as a:
            return a.status == 200
    except urllib.error.HTTPError:
        return False


def begin(name, tags, seeds, delay, depth=9):
    return command("start_crawl", name=name, tags=tags, seeds=seeds,
                   policy={"rate_limit": delay, "limits": {"max_depth": depth}}
                   )["crawl_id"]


if "CONSOLE_DOCS" in os.environ and shutil.which("openssl"):
    server = Server(
        site, "docs", names="".join(
            f",{host}:80:127.0.0.1:{site.port}" for host in
            ("www.meadow.test", "pond.test", "attic.test", "garden.test")) +
        f",old.meadow.test:443:127.0.0.1:{hosts['expired.test'].port}" +
        f",shop.meadow.test:443:127.0.0.1:{hosts['self.test'].port}",
        more=["--set", "fetch.tries_max=1",
              "--set", f"fetch.ca_file={PLACE}/ca.pem"])
    wait_until(ready)
    begin("The garden, once", ["garden"], ["http://garden.test/meadow/8"], 0, 0)
    begin("A cellar that is shut", ["house"], ["http://closed.test/"], 0)
    crawl = begin("Meadow, weekly", ["weekly", "news"],
                  ["http://www.meadow.test/meadow/0", "https://old.meadow.test/",
                   "https://shop.meadow.test/"], 0.05)
    begin("The pond and its shore", ["weekly"],
          ["http://pond.test/meadow/0"], 6)
    attic = begin("Attic", ["house"], ["http://attic.test/meadow/0"], 1)
    time.sleep(6)
    command("job.pause", crawl_id=attic)
    browser.drive("docs", server, crawl=crawl, folder=os.path.join(
        SOURCE, os.environ["CONSOLE_DOCS"]))
    server.stop()


# ---- A thousand crawls -------------------------------------------------------

server = Server(site, "thousand", more=["--set", "fetch.tries_max=1"])
browser.drive("thousand", server, ended=990, running=10)
server.stop()
check("the server ended by itself", server.child.returncode == 0,
      server.child.returncode)
done()
