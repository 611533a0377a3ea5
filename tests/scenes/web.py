#!/usr/bin/env python3
"""An invented web for scenes.

usage: web.py PORTFILE LOGFILE [pages=N] [delay=S] [robots=TEXT] [etag=1]
              [gzip=1]

/            links to /page/0 .. /page/N-1, /style.css, /pic.png, /missing and
             to a page of another host
/page/I      links to /page/I+1 and, at the end, to /deep/1 .. /deep/5
/same/X      one content for every X
/out         redirects to another host; /hop to /page/0
/slow        takes ten seconds
/list.txt    a sitemap: the one that names /listed
/map/N       a sitemap index that names /map/2N+1 and /map/2N+2, without end
/plain.gz    a packed page that links to /page/4, as a file; /packed the same
             bytes as a content coding
With etag=1 a page that the asker has is answered by 304; with gzip=1 HTML comes
packed.  Each request is a line "path" of the log.
"""
import gzip
import hashlib
import http.server
import os
import re
import sys
import time

options = dict(word.split("=", 1) for word in sys.argv[3:])
PAGES = int(options.get("pages", 20))
DELAY = float(options.get("delay", 0))
ROBOTS = options.get("robots", "").replace("\\n", "\n")
log = open(sys.argv[2], "a", buffering=1)


def page(title, links, text=""):
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    return (f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
            f"<p>{text}</p>\n{anchors}</body></html>")


def answer(path):
    """Status, type, body, and further fields."""
    html = "text/html; charset=utf-8"
    found = re.fullmatch(r"/page/(\d+)", path)
    deep = re.fullmatch(r"/deep/(\d+)", path)
    if path == "/":
        links = [f"/page/{i}" for i in range(PAGES)]
        links += ["/missing", "http://elsewhere.example/"]
        body = page("Home", links, "welcome")
        body = body.replace("</head>", '<link rel="stylesheet" '
                            'href="/style.css"><img src="/pic.png"></head>')
        return 200, html, body, {}
    if found and int(found[1]) < PAGES:
        i = int(found[1])
        links = [f"/page/{i + 1}"] if i + 1 < PAGES else ["/deep/1"]
        words = " ".join(f"w{i}x{k}" for k in range(40))
        return 200, html, page(f"Page {i}", links, words), {}
    if deep and int(deep[1]) <= 5:
        i = int(deep[1])
        links = [f"/deep/{i + 1}"] if i < 5 else []
        words = " ".join(f"d{i}y{k}" for k in range(40))
        return 200, html, page(f"Deep {i}", links, words), {}
    if path.startswith("/same/"):
        return 200, html, page("Same", [], "always the same words"), {}
    if path == "/style.css":
        return 200, "text/css", "body { background: url(/pic.png) }", {}
    if path == "/pic.png":
        return 200, "image/png", "\x89PNG not really", {}
    if path == "/out":
        return 302, html, "", {"Location": "http://elsewhere.example/x"}
    if path == "/hop":
        return 302, html, "", {"Location": "/page/0"}
    if path == "/robots.txt" and ROBOTS:
        return 200, "text/plain", ROBOTS, {}
    index = re.fullmatch(r"/map/(\d+)", path)
    if index:
        maps = [2 * int(index[1]) + i for i in (1, 2)]
        return (200, "application/xml", '<?xml version="1.0"?><sitemapindex '
                'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' +
                "".join(f"<sitemap><loc>http://{{host}}/map/{i}</loc>"
                        "</sitemap>" for i in maps) + "</sitemapindex>", {})
    if path in ("/plain.gz", "/packed"):
        data = gzip.compress(page("Packed", ["/page/4"]).encode(), mtime=0)
        coded = path == "/packed"
        return (200, html if coded else "application/gzip",
                data.decode("latin-1"),
                {"Content-Encoding": "gzip"} if coded else {})
    if path == "/list.txt":
        return 200, "text/plain", "http://{host}/listed\n", {}
    if path == "/listed":
        return 200, html, page("Listed", [], "linked from no page"), {}
    if path == "/slow":
        time.sleep(10)
    return 404, html, page("Not found", []), {}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        log.write(self.path + "\n")
        time.sleep(DELAY)
        status, kind, body, fields = answer(self.path)
        body = body.replace("{host}", self.headers["Host"])
        data = body.encode("latin-1")
        if "etag" in options and status == 200:
            fields["ETag"] = f'"{hashlib.sha1(data).hexdigest()}"'
            if self.headers["If-None-Match"] == fields["ETag"]:
                status, data = 304, b""
        if "gzip" in options and data and kind.startswith("text/html") \
                and "Content-Encoding" not in fields:
            fields["Content-Encoding"] = "gzip"
            data = gzip.compress(data, mtime=0)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_address[1]))

os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
