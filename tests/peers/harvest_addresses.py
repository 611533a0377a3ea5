"""Harvests of addresses that they must not reach: the suite own/ssrf-urls.tsv as an
instance of Mastodon, a feed, the URL of a declared platform and a resource of the
web, with no setting that allows private addresses.

The script runs in a network namespace of its own in which every address, of
either family, is this machine's (`ip route add local`), with listeners at the ports
that the URLs name.  So that a connection to any address would be accepted, and
counted; that the URL that is allowed is reached shows it.
"""
import http.server
import socketserver
import threading

from peer import *

SUITES = os.environ.get("ARGIOPE_SUITES", "")
LIST = os.path.join(SUITES, "own", "ssrf-urls.tsv")
PORTS = 80, 443, 22, 25, 21, 11211
PUBLIC = "http://93.184.216.34/"
connections = []                 # (address, port) of this end


def need_network():
    need("harvest_addresses", "ip", files=[LIST])
    for words in (["link", "set", "lo", "up"],
                  ["route", "add", "local", "0.0.0.0/0", "dev", "lo"],
                  ["-6", "route", "add", "local", "::/0", "dev", "lo"]):
        code, _, err = run("ip", *words)
        if code != 0:
            skip("harvest_addresses", f"ip {' '.join(words)}: {err}")
            done()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def setup(self):
        connections.append(self.request.getsockname()[:2])
        super().setup()

    def log_message(self, *words):
        pass


class Listener(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6       # both families

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)


def harvest(kind, place, seeds, credential=None, api=None):
    """(exit code, summary, what it said)"""
    words = ["harvest", "run", kind, "--json", "--into", place, "--data",
             place + "-data", "--set", "fetch.timeout_ms=3000"]
    for s in seeds:
        words += ["--seed", s]
    for option, value in ("--credentials-file", credential), ("--api", api):
        if value is not None:
            name = f"{place}.{option.strip('-')}"
            with open(name, "w") as f:
                json.dump(value, f)
            os.chmod(name, 0o600)
            words += [option, name]
    code, out, err = ours(*words)
    return code, out, err


def files_in(place):
    return [os.path.join(d, f) for d, _, names in os.walk(place)
            for f in names if ".warc" in f]


need_network()
with open(LIST, encoding="utf-8") as f:
    rows = [line.rstrip("\n").split("\t") for line in f
            if line.strip() and not line.startswith("#")]
# A name must be looked up, for which there is nobody here.
denied = [url for verdict, url, _ in rows
          if verdict == "deny" and ".test/" not in url]
same("URLs that nobody may reach", len(denied), 59)
for port in PORTS:
    listener = Listener(("::", port), Page)
    threading.Thread(target=listener.serve_forever, daemon=True).start()

code, out, err = harvest("web", "allowed", [PUBLIC])
same("the one that is allowed is reached", (code, set(connections)),
     (0, {("::ffff:93.184.216.34", 80)}))
connections.clear()


def refused(name, kind, seeds, **more):
    code, out, err = harvest(kind, name, seeds, **more)
    check(f"{name}: it is refused, or has nothing", code in (65, 69) or
          json.loads(out).get("items") == 0, f"{code} {out} {err}")
    same(f"{name}: no file", files_in(name), [])
    same(f"{name}: no connection", connections, [])
    connections.clear()


refused("web", "web", denied)
refused("feed", "feed_entries", denied)
for i, url in enumerate(denied):
    refused(f"instance {i} {url}".replace("/", "_"), "mastodon_account",
            ["ada"], credential={"instance": url.rstrip("/"),
                                 "access_token": "t" * 20})
    refused(f"api {i} {url}".replace("/", "_"), "json_api", ["cats"],
            api={"label": "things", "url": url + "?q={seed}",
                 "items": "/items", "id": "/id"})
done()
