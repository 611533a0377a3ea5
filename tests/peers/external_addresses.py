"""Addresses that the external door must not reach: the suite own/ssrf-urls.tsv as
endpoint, prefix of a back end, callback, parameter, seed and redirect, and names
whose addresses are private, or become so between two look-ups.

The script runs in a network namespace of its own in which every address, of
either family, is this machine's (`ip route add local`), with listeners at the ports
that the URLs name and a name server at every address.  So that a connection to any
address would be accepted, and counted; that a public address is reached shows it.

usage: external_addresses.sh
"""
import socketserver
import struct

from external_door_peer import *
from external_peer import Backend

SUITES = os.environ.get("ARGIOPE_SUITES", "")
LIST = os.path.join(SUITES, "own", "ssrf-urls.tsv")
PORTS = 80, 443, 22, 25, 21, 11211
PUBLIC = "93.184.216.34"
connections = []                 # (address, port) of this end
looked_up = []                   # names, in order


# ---- The network ---------------------------------------------------------------------

def need_network():
    need("external_addresses", "ip", files=[LIST])
    for words in (["link", "set", "lo", "up"],
                  ["route", "add", "local", "0.0.0.0/0", "dev", "lo"],
                  ["-6", "route", "add", "local", "::/0", "dev", "lo"]):
        code, _, err = run("ip", *words)
        if code != 0:
            skip("external_addresses", f"ip {' '.join(words)}: {err}")
            done()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<p>ok</p>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PATCH = do_GET

    def setup(self):
        connections.append(self.request.getsockname()[:2])
        super().setup()

    def log_message(self, *words):
        pass


class Listener(http.server.ThreadingHTTPServer):
    address_family, daemon_threads = socket.AF_INET6, True   # both families

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, *words):
        """TLS to a server that does not speak it is expected."""


# Addresses by name, one list for each look-up; the last one stays.
NAMES = {
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
    "two-a.test": [[PUBLIC, "10.0.0.1"]],
    "private.test": [["10.0.0.1"]],
    "metadata.test": [["169.254.169.254"]],
    "public.test": [[PUBLIC]],
}


def answer_of(packet):
    """Of a query for one name (RFC 1035 §4.1); A records, TTL 0."""
    at, labels = 12, []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    name = ".".join(labels).lower()
    kind, = struct.unpack(">H", packet[at + 1:at + 3])
    found = []
    if kind == 1 and name in NAMES:
        looked_up.append(name)
        lists = NAMES[name]
        found = lists[0] if len(lists) == 1 else lists.pop(0)
    head = packet[:2] + struct.pack(">HHHHH", 0x8180 if name in NAMES else
                                    0x8183, 1, len(found), 0, 0)
    return head + packet[12:at + 5] + b"".join(
        b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(a)
        for a in found)


def serve_names():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("0.0.0.0", 53))
        # The answer comes from the address that was asked.
        s.setsockopt(socket.IPPROTO_IP, socket.IP_PKTINFO
                     if hasattr(socket, "IP_PKTINFO") else 8, 1)
        while True:
            packet, more, _, who = s.recvmsg(512, 256)
            asked = more[0][2][8:12] if more else b"\0\0\0\0"
            s.sendmsg([answer_of(packet)], [(
                socket.IPPROTO_IP, 8, struct.pack("=i4s4s", 0, asked,
                                                  b"\0" * 4))], 0, who)


def quiet(name, allowed=()):
    """No connection was made but to these addresses."""
    time.sleep(0.3)
    same(f"{name}: no connection", [c for c in connections
                                    if c[0] not in allowed], [])
    connections.clear()


# ---- The door ------------------------------------------------------------------------

def back_ends(*prefixes):
    """The settings of a door with these back ends, be0, be1 ..."""
    path = put("backends.json", [{
        "name": f"be{i}", "token": f"be{i}", "prefix": p}
        for i, p in enumerate(prefixes)])
    os.chmod(path, 0o600)
    return "external.backends_file=" + path


def start_task(s, fid, endpoint, params={"kind": "a"}, connector="things",
               **more):
    """(status, what it said)"""
    return s.ask("POST", f"/external/{connector}/task", {
        "fid": fid, "endpoint": endpoint, "params": params, **more})


def endpoints(s):
    """Whatever the endpoint is, it is not below the back end's prefix."""
    odd = {}
    for i, url in enumerate(denied):
        for one in url, url.replace("http:", "https:", 1):
            code, said = start_task(s, f"e{i}", one, callback=url)
            if code not in (400, 403):
                odd[one] = code, said
    same(f"{2 * len(denied)} endpoints are refused", odd, {})
    quiet("endpoints")


def callbacks_and_parameters(s, b):
    """In places that name no address to call, they are texts."""
    for i, url in enumerate(denied):
        code, said = start_task(s, f"p{i}", b.endpoint(f"p{i}"), {
            "kind": url, "most": i + 1}, callback=url)
        check(f"a parameter {url}", code == 200, said)
    same("the tasks are done", {s.ends(f"p{i}") for i in range(len(denied))},
         {"done"})
    same("the API of the file was asked", len(api.asked) >= len(denied), True)
    quiet("parameters and callbacks")


def seeds(s, b):
    code, said = start_task(s, "public", b.endpoint("public"), {
        "seeds": [f"http://{PUBLIC}/"], "depth": 0}, "web_crawl")
    same("a public seed is crawled", s.ends("public", connector="web_crawl"),
         "done")
    check("... and reached", connections and {c[0] for c in connections} == {
        "::ffff:" + PUBLIC}, connections)
    connections.clear()
    for i, url in enumerate(denied):
        code, said = start_task(s, f"w{i}", b.endpoint(f"w{i}"), {
            "seeds": [url], "depth": 0}, "web_crawl")
        if code == 200:
            s.ends(f"w{i}", connector="web_crawl")
        else:
            same(f"seed {url}: refused", code, 400)
        same(f"seed {url}: no document of it", [
            d for d in b.stored.get(f"w{i}", {}).values()
            if d["status"] is not None and d["status"] < 300], [])
    quiet("seeds")


def redirects(s, b):
    """Neither a back end nor the API of a file leads elsewhere."""
    targets = [u for u in denied if u.startswith("http")]

    def to(call, number):
        return (307, {"Location": targets[number % len(targets)].encode(
            "ascii", "ignore").decode()}, "") if number <= 3 else None
    b.reply = to
    start_task(s, "r1", b.endpoint("r1"))
    check("a back end that redirects is called", wait_until(
        lambda: b.of(STATUSES, "r1") or b.of(UPLOADS, "r1")))
    quiet("redirects of the back end")
    s.ask("PATCH", "/external/things/task/r1/status", {"code": 408})
    b.reply = None

    def answer(request):
        redirected.append(request.path)
        request.send_response(302)
        request.send_header("Location", "http://169.254.169.254/latest/")
        request.send_header("Content-Length", "0")
        request.end_headers()
    real, api.answer = api.answer, answer
    start_task(s, "r2", b.endpoint("r2"))
    # It is asked again in a minute.
    check("an API that redirects is asked", wait_until(lambda: len(
        redirected) > 0))
    quiet("redirects of the API")
    s.ask("PATCH", "/external/things/task/r2/status", {"code": 408})
    api.answer = real


def names(data, place):
    """A back end of that name has private addresses, or gets them."""
    hosts = [n for n in NAMES if n != "public.test"]
    s = External("names", place, back_ends(*(
        f"https://{n}/tasks" for n in ("public.test", *hosts))),
        "external.call_ms=2s", data=data)
    s.token = tokens[0]
    start_task(s, "n0", "https://public.test/tasks/n0")
    check("a public name is reached", wait_until(lambda: connections, 15) and
          {c[0] for c in connections} == {"::ffff:" + PUBLIC}, connections)
    s.ask("PATCH", "/external/things/task/n0/status", {"code": 408})
    time.sleep(0.5)
    connections.clear()
    for i, host in enumerate(hosts, 1):
        s.token = tokens[i]
        before = len(looked_up)
        code, said = start_task(s, f"n{i}", f"https://{host}/tasks/n{i}")
        same(f"{host}: begins", code, 200)
        # At the second look-up of rebind.test its address is private.
        check(f"{host}: looked up again", wait_until(
            lambda: looked_up[before:].count(host) >= 3, 30),
            looked_up[before:])
        log = json.dumps(s.ask("GET", f"/external/things/task/n{i}/log")[1])
        check(f"{host}: the log says why", "no answer" in log, log[-500:])
        s.ask("PATCH", f"/external/things/task/n{i}/status", {"code": 408})
        quiet(host, ["::ffff:" + PUBLIC])
    s.stop()


def prefixes(data, place):
    """Plain HTTP goes to loopback alone, whoever has written the file."""
    accepted = []
    for url in denied:
        s = External("prefix", place, back_ends(url), data=data, ready=False)
        wait_until(lambda: not s.runs() or s.serves(), 15)
        if s.runs():
            accepted.append(url)
            s.stop()
        else:
            check(f"prefix {url}: the message names it",
                  "backends_file" in s.said(), s.said()[-300:])
    loopback = [u for u in accepted if re.match(
        r"http://(127\.|\[::ffff:7f00:1\]|\[::ffff:127\.|2130706433|0x7f|0177|017700000001|localhost/|"
        r"LOCALHOST\./|foo\.localhost/|\[::1\]|\[0:0:0:0:0:0:0:1\]|"
        r"①②⑦|127。)", u)]
    same("prefixes that are accepted are loopback's",
         [u for u in accepted if u not in loopback], [])
    check("... and some are", len(loopback) >= 5, accepted)
    quiet("prefixes")


# ---- The simulated back end ----------------------------------------------------------

class Crawler(http.server.BaseHTTPRequestHandler):
    """An external crawler that wants to be called elsewhere."""

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        fid = json.loads(self.rfile.read(length))["fid"]
        body = json.dumps({"success": True, "payload": {
            "callback": denied[len(told) % len(denied)], "status": {
                "code": 0, "message": "New"}}, "version": 0})
        told.append(fid)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words):
        pass


def simulator():
    """Silence has it call back the crawler."""
    crawler = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Crawler)
    threading.Thread(target=crawler.serve_forever, daemon=True).start()
    b = Backend("simulator", "--silence", "1")
    x = b.external(f"http://127.0.0.1:{crawler.server_address[1]}/external/x")
    for _ in denied:
        c = b.crawler(x)
        b.ask("POST", f"/actions/crawlers/{c}/task", {"params": {}})
    same("each foreign callback was given", len(told), len(denied))
    time.sleep(2.5)
    quiet("callbacks of the simulator")
    b.stop()


need_network()
with open(LIST, encoding="utf-8") as f:
    rows = [line.rstrip("\n").split("\t") for line in f
            if line.strip() and not line.startswith("#")]
# Names are asked for below.
denied = [url for verdict, url, _ in rows
          if verdict == "deny" and ".test/" not in url]
same("URLs that nobody may reach", len(denied), 59)
told, redirected = [], []
for port in PORTS:
    threading.Thread(target=Listener(("::", port), Page).serve_forever,
                     daemon=True).start()
threading.Thread(target=serve_names, daemon=True).start()
api, back = Api(), Back()
place = connectors("connectors", api.connector())
data = os.path.join(PLACE, "door")
tokens = [token(data, f"be{i}") for i in range(len(NAMES))]
s = External("door", place, back_ends(back.base + "/tasks"),
             "external.tasks_max=200", "fetch.timeout_ms=3000",
             "fetch.tries_max=1", data=data)
s.token = tokens[0]
endpoints(s)
callbacks_and_parameters(s, back)
seeds(s, back)
redirects(s, back)
same("it ends", s.stop(), 0)
names(data, place)
prefixes(data, place)
simulator()
done()
