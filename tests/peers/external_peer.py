"""What scripts of external connectors share: an API whose answers they choose,
and a file that declares it.
"""
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse

from peer import PLACE, ours, program, start

PAGE = 10


class Api:
    """`items` by number from 1, PAGE a page; after `since` and `after`."""

    def __init__(self, host=None):
        """`host`: a name, which is served over TLS."""
        self.items = [self.item(i) for i in range(1, 46)]
        self.statuses = {}           # of the n-th request from now on
        self.delay_s = 0
        self.asked = []
        self.password = None         # of the user ada, if one is wanted
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                api.answer(self)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.settings = ()
        if host:
            self.use_tls(host)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def use_tls(self, host):
        port = self.server.server_address[1]
        key, certificate = (os.path.join(PLACE, x) for x in ("key.pem",
                                                             "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                        "-out", certificate, "-subj", "/CN=" + host, "-addext",
                        "subjectAltName=DNS:" + host], check=True,
                       capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket,
                                                 server_side=True)
        self.base = "https://" + host
        self.settings = ("--set", "fetch.ca_file=" + certificate, "--set",
                         f"fetch.resolve={host}:443:127.0.0.1:{port}")

    @staticmethod
    def item(i):
        return {"id": i, "name": f"näme {i}", "big": 10 ** 30 + i}

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.asked.append(query)
        if self.password is not None and request.headers[
                "Authorization"] != "Basic " + base64.b64encode(
                    b"ada:" + self.password.encode()).decode():
            self.send(request, 401, {})
            return
        time.sleep(self.delay_s)
        first = max(int(query.get("since", 0)), int(query.get("after", 0)))
        left = [x for x in self.items if x["id"] > first]
        body = {"items": left[:PAGE]}
        if len(left) > PAGE:
            body["next"] = str(left[PAGE - 1]["id"])
        self.send(request, self.statuses.get(len(self.asked), 200), body)

    @staticmethod
    def send(request, status, value):
        body = json.dumps(value).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def forget(self):
        self.asked.clear()
        self.statuses = {}

    def connector(self, name="things", **changes):
        """The path of a file that declares it."""
        declared = {
            "name": name, "version": 1, "title": "Things",
            "description": "Things by number",
            "parameters": {
                "type": "object", "required": ["kind"],
                "properties": {
                    "kind": {"title": "Kind", "x-ui": "string"},
                    "most": {"title": "Most", "x-ui": "integer",
                             "minimum": 1}}},
            "credential": "none",
            "schema": {"type": "object", "required": ["id", "name"],
                       "properties": {"id": {"type": "integer"},
                                      "name": {"type": "string"}}},
            "docIdField": "id",
            "api": {
                "url": self.base + "/{kind}?most={most}",
                "label": "things", "items": "/items", "id": "/id",
                "next": {"cursor": "/next", "parameter": "after"},
                "since": {"parameter": "since", "from": "id"}}}
        declared.update(changes)
        return put(name + ".json", declared)


def put(name, value):
    path = os.path.join(PLACE, name)
    with open(path, "w") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))
    return path


def folder(name):
    """An empty one, for what the verbs leave behind."""
    path = os.path.join(PLACE, name)
    os.makedirs(path, exist_ok=True)
    return path


TMP = folder("tmp")
ENVIRONMENT = dict(os.environ, TMPDIR=TMP, HOME=folder("home"))


def external(*words, **more):
    return ours("external", *words, env=ENVIRONMENT, **more)


def external_started(*words, **more):
    return start([program(), "external", *words], env=ENVIRONMENT, **more)
