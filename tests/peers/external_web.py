"""web_crawl at the external door: a site of PAGES pages as documents; the
crawler's next task, after CHANGED of them have changed, gives those; a kill -9
in the middle loses none.  A crawl goes keep_s after its task, but not while a
later task of its crawler needs it; that of a check goes at once.

usage: external_web.sh [PAGES [CHANGED]]
"""
from external_door_peer import *

WORDS = [int(x) for x in sys.argv[1:] if x.isdigit()]
PAGES, CHANGED = (WORDS + [1000, 50][len(WORDS):])[:2]


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    changed, asked, delay_s = set(), [], 0

    def do_GET(self):
        Site.asked.append(self.path)
        time.sleep(Site.delay_s)
        if self.path == "/robots.txt":
            self.answer(404, "")
            return
        n = int(self.path.strip("/p") or 0)
        links = "".join(f"<li><a href='/p{i}'>{i}</a>" for i in range(
            n * 10 + 1, min(n * 10 + 11, PAGES)))
        text = "has changed" if n in Site.changed else "is as it was"
        self.answer(200, f"<!DOCTYPE html><html lang=en><title>Page {n}</title>"
                    f"<nav>Menu {n}</nav><p>Page {n} {text}.</p>"
                    f"<script>var hidden = {n}</script><ul>{links}</ul>")

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 128

    def handle_error(self, *words):
        """Clients that are killed are expected."""


site = Server(("127.0.0.1", 0), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{site.server_address[1]}"
b = Back()
# The site is ours: no pause between its pages.
data = os.path.join(PLACE, "web")
policy = json.loads(ours("policy", "get", "default", "--data", data)[1])
policy["rate_limit"] = 0
ours("policy", "put", "default", put("policy.json", policy), "--data", data)
s = External("web", connectors("web-connectors"), "fetch.allow_private=true",
             "fetch.address_delay_ms=0ms")
params = {"seeds": [base + "/"], "scope": "host"}

code, said = s.ask("GET", "/external/web_crawl/form")
same("form: parameters", sorted(said["payload"]["parameters"]["properties"]),
     ["depth", "exclude", "include", "pages_max", "scope", "seeds"])
s.task("w1", b.endpoint("w1"), params, "web_crawl", crawler="c")
same("first: done", s.ends("w1", 60, connector="web_crawl"), "done")
same("first: every page, once", (len(b.ids("w1")), b.repeated), (PAGES, 0))
home = b.stored["w1"][base + "/"]
check("a document has the readable text alone", "Page 0 is as it was." in
      home["text"] and "Menu" not in home["text"] and
      "hidden" not in home["text"], home)
same("... title, language, status", (home["title"], home["language"],
                                     home["status"]), ("Page 0", "en", 200))
check("... links", base + "/p1" in home["links"], home["links"])

Site.changed = set(range(1, PAGES, max(1, PAGES // CHANGED)))
Site.changed = set(sorted(Site.changed)[:CHANGED])
s.task("w2", b.endpoint("w2"), params, "web_crawl", crawler="c")
same("second: done", s.ends("w2", 60, connector="web_crawl"), "done")
same("second: what has changed", sorted(b.ids("w2")),
     sorted(f"{base}/p{i}" for i in Site.changed))

Site.delay_s = 0.01
s.task("w3", b.endpoint("w3"), params, "web_crawl")
wait_until(lambda: len(b.ids("w3")) > PAGES // 10, 60)
s.restart(kill=True)
same("killed: done", s.ends("w3", 60, connector="web_crawl"), "done")
same("killed: every page", len(b.ids("w3")), PAGES)
same("it ends", s.stop(), 0)

KEEP_S = 3


class Keeping(External):
    """Tasks are forgotten when it starts, and once a minute."""

    def crawls(self):
        listed = json.loads(ours("status", "--json", "--data", self.data)[1])
        return sorted(c["id"] for c in listed["crawls"])


Site.delay_s, Site.changed = 0, set()
k = Keeping("keep", connectors("keep-connectors"), "fetch.allow_private=true",
            "fetch.address_delay_ms=0ms", f"external.keep_s={KEEP_S}")
ours("policy", "put", "default", put("policy.json", policy), "--data", k.data)
k.task("k1", b.endpoint("k1"), params, "web_crawl", crawler="c")
same("kept: done", k.ends("k1", 60, connector="web_crawl"), "done")
code, said = k.ask("POST", "/external/web_crawl/check", {"params": params})
same("check: it is right", (code, said["payload"]["ok"]), (200, True))
same("check: its crawl is gone", len(k.crawls()), 1)
first = k.crawls()
time.sleep(KEEP_S + 1)

Site.delay_s, Site.changed = 0.01, set(range(1, CHANGED + 1))
k.task("k2", b.endpoint("k2"), params, "web_crawl", crawler="c")
wait_until(lambda: len(b.ids("k2")) > 0, 60)
k.restart(kill=True)
wait_until(lambda: k.ask("GET", "/external/web_crawl/task/k1")[0] == 404, 30)
same("an open task needs the earlier crawl", first[0] in k.crawls(), True)
same("killed, compared: done", k.ends("k2", 60, connector="web_crawl"), "done")
same("... and gives what has changed", sorted(b.ids("k2")),
     sorted(f"{base}/p{i}" for i in Site.changed))
k.restart()
wait_until(lambda: first[0] not in k.crawls(), 30)
same("a closed one does not; its own is kept", len(k.crawls()), 1)
k.task("k3", b.endpoint("k3"), params, "web_crawl", crawler="c")
same("a task after it: done", k.ends("k3", 60, connector="web_crawl"), "done")
same("... and nothing has changed since", b.ids("k3"), [])
time.sleep(KEEP_S + 1)
k.restart()
check("all are gone keep_s after the last task",
      wait_until(lambda: k.crawls() == [], 30), k.crawls())
# A back end may use the name of a task that was forgotten again.
b.stored.pop("k1")
k.task("k1", b.endpoint("k1"), params, "web_crawl")
same("the same fid again: done", k.ends("k1", 60, connector="web_crawl"),
     "done")
same("... with all pages", len(b.ids("k1")), PAGES)
same("it ends as well", k.stop(), 0)
done()
