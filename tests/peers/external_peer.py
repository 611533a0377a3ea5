"""What scripts of external connectors share: an API whose answers they choose,
and a file that declares it.
"""
import base64
import http.client
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

from peer import PLACE, SOURCE, ours, program, skip, start

EXAMPLES = os.path.join(SOURCE, "examples", "external")
PAGE = 10
NDJSON = "application/x-ndjson; charset=utf-8"
STREAM = {"links": [{"from": {"type": "streams", "fid": "s1"}}]}


class Api:
    """`items` by number from 1, `page` at a time; after `since` and `after`,
    and with `like` in their names."""

    def __init__(self, host=None):
        """`host`: a name, which is served over TLS."""
        self.items = [self.item(i) for i in range(1, 46)]
        self.page = PAGE
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

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *words):
                """Clients that are stopped or killed are expected."""

        self.server = Server(("127.0.0.1", 0), Handler)
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
        left = [x for x in self.items if x["id"] > first and
                query.get("like", "") in str(x.get("name"))]
        body = {"items": left[:self.page]}
        if len(left) > self.page:
            body["next"] = str(left[self.page - 1]["id"])
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


def example_crawlers():
    """(language, command without the port) of each crawler in examples/."""
    found = [("Python", [sys.executable, EXAMPLES + "/python/crawler.py"])]
    if shutil.which("node"):
        found.append(("JavaScript", ["node", EXAMPLES +
                                     "/javascript/crawler.js"]))
    else:
        skip("the example in JavaScript", "node is not installed")
    return found


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


# ---- The simulated back end ----------------------------------------------------

def loopback_certificate():
    """The paths of one for this machine, and of its key."""
    paths = os.path.join(PLACE, "own.pem"), os.path.join(PLACE, "own-key.pem")
    if not os.path.exists(paths[0]):
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-keyout", paths[1], "-out",
            paths[0], "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True,
            capture_output=True)
    return paths


class Backend:
    def __init__(self, name, *options, faults=None, tls=False):
        self.log = f"{PLACE}/{name}.log"
        self.context = None
        if tls:
            pem, key = loopback_certificate()
            options += "--tls-cert", pem, "--tls-key", key
            self.context = ssl.create_default_context(cafile=pem)
        if faults is not None:
            with open(f"{PLACE}/{name}.json", "w") as f:
                json.dump({"faults": faults}, f)
            options += "--faults", f"{PLACE}/{name}.json"
        with open(self.log, "w") as log:
            self.child = start([program(), "external", "simulate-backend",
                                "--listen", "127.0.0.1:0", *options],
                               stdout=subprocess.PIPE, stderr=log, text=True)
        said = self.child.stdout.readline()
        self.port = int(re.search(r":(\d+)/$", said.strip())[1])

    def ask(self, method, path, body=None, **fields):
        """(status, JSON or text); None when no answer came."""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30) \
            if self.context is None else http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=30, context=self.context)
        try:
            c.request(method, path, body, {k.replace("_", "-"): v
                                           for k, v in fields.items()})
            answer = c.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as e:
            return None, type(e).__name__
        finally:
            c.close()
        self.fields = answer.headers
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode()

    def external(self, endpoint, **more):
        code, said = self.ask("POST", "/externals", {
            "meta": {"name": "Test"}, "endpoint": endpoint, **more})
        assert code == 200, said
        return said["payload"]["meta"]["fid"]

    def crawler(self, external, params={}, **more):
        code, said = self.ask("POST", f"/actions/externals/{external}/crawler",
                              {"meta": STREAM, "params": params, **more})
        assert code == 200, said
        return said["payload"]["crawler"]["meta"]["fid"]

    def task(self, endpoint, **more):
        """The fid of a task that runs."""
        crawler = self.crawler(self.external(endpoint, **more))
        code, said = self.ask("POST", f"/actions/crawlers/{crawler}/task",
                              {"params": None})
        assert code == 200, said
        return said["payload"]["meta"]["fid"]

    def upload(self, task, documents, **fields):
        lines = documents if isinstance(documents, (str, bytes)) else \
            "\n".join(map(json.dumps, documents))
        fields.setdefault("Content_Type", NDJSON)
        return self.ask("POST", f"/actions/tasks/{task}/upload", lines,
                        **fields)

    def report(self, task, code, message="", **fields):
        return self.ask("POST", f"/actions/tasks/{task}/status",
                        {"code": code, "message": message, "detail": None},
                        **fields)

    def show(self, task):
        return self.ask("GET", f"/tasks/{task}")[1]["payload"]

    def code(self, task):
        return self.show(task)["status"]["code"]

    def output(self, task):
        text = self.ask("GET", f"/output/{task}")[1]
        if isinstance(text, dict):       # One line is JSON, too.
            return [text]
        return [json.loads(line) for line in text.split("\n") if line]

    def stop(self):
        self.child.terminate()
        return self.child.wait(15)
