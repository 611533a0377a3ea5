"""The web that the console's tests crawl: pages that say hostile things, some
that fail, and a calendar that one wants to leave out.
"""
import http.server
import ssl
import subprocess
import threading

# Days enough that a crawl outlasts what is done to it.
PAGES, DAYS = 120, 2040
TITLE = "Page %d <script>window.hurt=1</script>&\"' ünïcode"
BODY = """<!DOCTYPE html><html><head><title>%s</title>
<meta http-equiv=refresh content="0;url=http://elsewhere.test/refresh">
<link rel=stylesheet href=http://elsewhere.test/style.css>
<link rel=preconnect href=http://elsewhere.test/>
<style>body { background: url(http://elsewhere.test/style) }</style>
<script>parent.hurt = 2; alert("hurt")</script></head>
<body onload="alert(3)" style="color: red"><h1>This is page %d</h1>
<img src=x onerror="alert(4)" alt="a &lt;b> &amp; c"><svg onload="alert(5)"></svg>
<iframe src=http://elsewhere.test/frame></iframe>
<form action=http://elsewhere.test/form><button>send</button></form>
<p title="a > b">%s</p><!-- <b>comment</b> -->%s</body></html>"""


FLOWERS = ("Yarrow", "Ox-eye daisy", "Cornflower", "Meadow sage", "Clover",
           "Bird's-foot trefoil", "Cuckooflower", "Field scabious")
FLOWER = """<!DOCTYPE html><html lang=en><title>%s, no. %d</title>
<ul><li><a href=/meadow/0>Home</a><li><a href=/meadow/1>Flowers</a></ul>
<h1>%s</h1><p>Specimen <b>%d</b> of the meadow: it was seen in <em>June</em>
beside <a href=/meadow/%d>another one</a>.</p><h2>Nearby</h2><p>%s</p></html>"""


def flower(n):
    """A friendly page, for pictures."""
    name = FLOWERS[n % len(FLOWERS)]
    near = [(n * 7 + k) % 6000 for k in range(1, 13)]
    return (FLOWER % (name, n, name, n, (n + 1) % 6000, ", ".join(
        f'<a href=/meadow/{m}>{FLOWERS[m % len(FLOWERS)]} {m}</a>'
        for m in near))).encode()


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def page(n):
    links = [f"/p/{(n * 3 + k) % PAGES}" for k in range(1, 6)]
    links += [f"/day/{(n * 17 + k) % DAYS}" for k in range(1, 18)]
    links += [f"/missing/{n}"] if n % 5 == 0 else []
    links += [f"/error/{n}"] if n % 11 == 0 else []
    links += [f"/private/{n}"] if n % 7 == 0 else []
    links += ["/moved", "/big", "http://elsewhere.test/"] if n == 0 else []
    return (BODY % (escaped(TITLE % n), n, "words and words " * 40, "".join(
        f'<a href="{u}">{u}</a> ' for u in links))).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def say(self, status, body, kind="text/html; charset=utf-8", more=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Said", "<script>alert(6)</script>")
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        kind, _, rest = self.path[1:].partition("/")
        if kind in ("", "p"):
            self.say(200, page(int(rest or 0)))
        elif kind == "day":
            self.say(200, b"<title>day %d</title>" % int(rest))
        elif kind == "meadow" and int(rest) % 43 != 7:
            self.say(200, flower(int(rest)))
        elif kind == "plain":
            self.say(200, b"<title>plain</title><h1>A plain page</h1>")
        elif kind == "robots.txt":
            self.say(200, b"User-agent: *\nDisallow: /private/\n",
                     "text/plain")
        elif kind == "big":
            self.say(200, b"<title>big</title>" + b"<p>words</p>\n" * 150000)
        elif kind == "moved":
            self.say(302, b"", more=[("Location", "/p/1")])
        elif kind == "error":
            self.say(500, b"<title>it broke</title>")
        else:
            self.say(404, b"<title>not here</title>")


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def signed(name, days, host):
    """NAME.pem and NAME.key in this folder, for a host, signed by ca.pem."""
    ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    if name == "ca" or host is None:
        openssl("req", "-x509", *ec, "-keyout", name + ".key", "-out",
                name + ".pem", "-days", str(days), "-subj", "/CN=" + name)
        return
    openssl("req", "-new", *ec, "-keyout", name + ".key", "-out",
            name + ".csr", "-subj", "/CN=" + name, "-addext",
            "subjectAltName=DNS:" + host)
    openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-days", str(days), "-copy_extensions", "copy", "-out",
            name + ".pem")


class TlsSite(http.server.ThreadingHTTPServer):
    """A site of https with one certificate; of it, only failures are wanted."""
    daemon_threads = True

    def __init__(self, name, days, host):
        super().__init__(("127.0.0.1", 0), Handler)
        signed(name, days, host)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(name + ".pem", name + ".key")
        self.socket = context.wrap_socket(self.socket, server_side=True,
                                          do_handshake_on_connect=False)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        """A client that refuses the certificate breaks off: no trace of it."""


class Site(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()
