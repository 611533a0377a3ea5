"""external_site -- what the rows of bench/external run: sources, back ends and
the daemon, on loopback, over TLS with one certificate.
"""
import functools
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

import bench

PAGE = 100                   # documents of a page of nginx
TEXT = "x" * 940
SPOOL = "32GiB"
AGENT = "c"                  # the connector, and the token


class Over(Exception):
    """A row cannot be measured."""


@functools.lru_cache(None)
def certificate():
    """The paths of a certificate for this machine, and of its key."""
    return bench.certificate(bench.fresh("external-tls"),
                             "DNS:localhost,IP:127.0.0.1")


@functools.lru_cache(None)
def client_context():
    return ssl.create_default_context(cafile=certificate()[0])


@functools.lru_cache(None)
def server_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate())
    return context


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def page_of(numbers, following):
    page = {"items": [{"id": i, "name": f"{i:010}", "text": TEXT}
                      for i in numbers]}
    if following:
        page["next"] = str(following)
    return json.dumps(page)


# ---- Sources and back ends -------------------------------------------------------

class Source:
    """nginx with pages of PAGE documents, as many as `documents`."""

    def __init__(self, documents, name="external-source"):
        self.place = bench.fresh(name)
        for first in range(0, documents, PAGE):
            last = min(first + PAGE, documents)
            with open(f"{self.place}/page{first or ''}.json", "w") as f:
                f.write(page_of(range(first + 1, last + 1),
                                last if last < documents else 0))
        self.port = free_port()
        self.base = f"https://127.0.0.1:{self.port}"
        pem, key = certificate()
        conf = os.path.join(self.place, "nginx.conf")
        with open(conf, "w") as f:
            f.write(f"""
daemon off; worker_processes 1; pid {self.place}/pid; error_log /dev/null;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 1000000;
    client_body_temp_path {self.place}/b; proxy_temp_path {self.place}/p;
    fastcgi_temp_path {self.place}/f; uwsgi_temp_path {self.place}/u;
    scgi_temp_path {self.place}/s;
    server {{
        listen 127.0.0.1:{self.port} ssl; root {self.place};
        ssl_certificate {pem}; ssl_certificate_key {key};
        location / {{ default_type application/json;
                      try_files /page$arg_after.json =404; }}
    }}
}}
""")
        self.child = bench.start(["nginx", "-c", conf, "-p", self.place])
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Over("nginx did not start")

    def end(self):
        bench.end(self.child)


class Mute:
    """A source that takes connections and never answers."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.base = f"https://127.0.0.1:{self.socket.getsockname()[1]}"

    def end(self):
        self.socket.close()


class Server:
    """HTTP/1.1 over TLS, a thread for each connection."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.base = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,),
                             daemon=True).start()

    def serve(self, c):
        try:
            c = server_context().wrap_socket(c, server_side=True)
            f = c.makefile("rb")
            while (line := f.readline()):
                length = 0
                while (field := f.readline().strip()):
                    if field.lower().startswith(b"content-length:"):
                        length = int(field.split(b":")[1])
                path = line.split()[1].decode()
                answer = self.answer(path, f.read(length))
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json"
                          b"\r\nContent-Length: %d\r\n\r\n%s" % (
                              len(answer), answer))
                self.answered(path)
        except (OSError, ValueError):
            pass

    def answered(self, path):
        pass

    def end(self):
        self.socket.close()


class Trickle(Server):
    """A source whose n-th page of a kind comes `n * pause_s` after the first
    was asked for, with `size` documents."""

    def __init__(self, pages, size, pause_s):
        self.pages, self.size, self.pause_s = pages, size, pause_s
        self.began, self.sent = {}, {}
        super().__init__()

    @staticmethod
    def place_of(path):
        """The kind and the number of the page."""
        return (re.search(r"kind=(\w+)", path)[1],
                int((re.search(r"after=(\d+)", path) or [0, 0])[1]))

    def answer(self, path, body):
        kind, n = self.place_of(path)
        began = self.began.setdefault(kind, time.monotonic())
        first = n * self.size + 1
        text = page_of(range(first, first + self.size),
                       n + 1 if n + 1 < self.pages else 0).encode()
        time.sleep(max(0, began + n * self.pause_s - time.monotonic()))
        return text

    def answered(self, path):
        self.sent[self.place_of(path)] = time.monotonic()


class Counter(Server):
    """A back end, or a crawler, that accepts all and counts."""

    def __init__(self):
        self.calls, self.first = 0, threading.Event()
        super().__init__()
        self.text = json.dumps({"success": True, "version": 0, "payload": {
            "callback": self.base + "/", "status": {
                "code": 0, "message": "New"}}}).encode()

    def answer(self, path, body):
        self.calls += 1
        self.first.set()
        return self.text


class Uploads(Counter):
    """One that keeps uploads, and when each was answered."""

    def __init__(self):
        self.last, self.kept = threading.local(), []
        super().__init__()

    def answer(self, path, body):
        self.last.body = body
        return super().answer(path, body)

    def answered(self, path):
        if path.endswith("/upload"):
            self.kept.append((time.monotonic(), path, self.last.body))


class Backend:
    """The simulator, which keeps hashes alone."""

    def __init__(self):
        pem, key = certificate()
        self.child = bench.start(
            [bench.program(), "external", "simulate-backend", "--listen",
             "127.0.0.1:0", "--silence", "86400", "--discard", "--tls-cert",
             pem, "--tls-key", key], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        line = self.child.stdout.readline().strip()
        self.port = int(re.search(r":(\d+)/$", line)[1])
        self.base = f"https://127.0.0.1:{self.port}"
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=client_context())
        self.asked = time.monotonic()

    def ask(self, method, path, body=None):
        # A connection without a request is closed after a while.
        if time.monotonic() - self.asked > 10:
            self.connection.close()
        self.asked = time.monotonic()
        self.connection.request(method, path, body and json.dumps(body))
        return json.loads(self.connection.getresponse().read())["payload"]

    def tasks(self, n):
        """Endpoints by fid, of tasks that nobody has started."""
        mute = Counter()
        fid = self.ask("POST", "/externals", {
            "meta": {"name": "c"}, "docIdField": "id",
            "endpoint": mute.base})["meta"]["fid"]
        found = {}
        for _ in range(n):
            crawler = self.ask("POST", f"/actions/externals/{fid}/crawler", {
                "meta": {"links": [{"from": {"type": "streams",
                                             "fid": "s1"}}]},
                "params": {}})["crawler"]["meta"]["fid"]
            task = self.ask("POST", f"/actions/crawlers/{crawler}/task",
                            {"params": {}})["meta"]["fid"]
            found[task] = f"{self.base}/actions/tasks/{task}"
        mute.end()
        return found

    def documents(self, fid):
        return self.ask("GET", f"/tasks/{fid}")["documents"]

    def pause(self, paused):
        os.kill(self.child.pid, signal.SIGSTOP if paused else signal.SIGCONT)

    def end(self):
        self.connection.close()
        self.pause(False)
        bench.end(self.child)


# ---- The daemon ------------------------------------------------------------------

def connector(base):
    return {
        "name": AGENT, "version": 1, "title": "C", "credential": "none",
        "parameters": {"type": "object", "properties": {
            "kind": {"x-ui": "string"}}},
        "schema": {"type": "object", "required": ["id", "name"],
                   "properties": {"id": {"type": "integer"},
                                  "name": {"type": "string"}}},
        "docIdField": "id", "api": {
            "url": base + "/?kind={kind}",
            "label": "c", "items": "/items", "id": "/id",
            "next": {"cursor": "/next", "parameter": "after"}}}


def write_json(path, value):
    with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as out:
        json.dump(value, out)
    return path


class Daemon:
    """With one back end, whose endpoints begin with `backend_base`."""

    def __init__(self, source_base, backend_base):
        self.data = bench.fresh("external-data")
        place = bench.fresh("external-connectors")
        write_json(f"{place}/c.json", connector(source_base))
        pem, key = certificate()
        backends = write_json(f"{self.data}/backends.json", [{
            "name": "b", "token": AGENT, "prefix": backend_base + "/",
            "ca": pem}])
        done = subprocess.run(
            [bench.program(), "token", "add", AGENT, "--scope",
             "external:write", "--data", self.data], capture_output=True,
            text=True)
        self.headers = {"Authorization": "Bearer " + done.stdout.strip()}
        self.port, self.connection = free_port(), None
        self.command = [bench.program(), "serve", "--data", self.data]
        for s in (f"http.listen=127.0.0.1:{self.port}", "urlfrontier.listen=",
                  "http.tls_cert=" + pem, "http.tls_key=" + key,
                  "fetch.ca_file=" + pem, "external.connectors=" + place,
                  "external.backends_file=" + backends,
                  "external.spool_bytes_max=" + SPOOL,
                  "external.tasks_max=100000"):
            self.command += ["--set", s]
        self.start()

    def spawn(self):
        self.child = bench.start(self.command, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)

    def start(self):
        self.spawn()
        for _ in range(2000):
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.01)
        raise Over("the daemon does not serve")

    def ask(self, method, path, body=None):
        """On one connection, which is made anew when it has ended."""
        for fresh in (False, True):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=60,
                    context=client_context())
                fresh = True
            try:
                self.connection.request(method, path, body, self.headers)
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.connection.close()
                self.connection = None
                if fresh:
                    raise
        return None

    def post(self, fid, endpoint):
        status, text = self.ask("POST", f"/external/{AGENT}/task", json.dumps(
            {"fid": fid, "endpoint": endpoint, "params": {"kind": fid}}))
        if status != 200:
            raise Over(f"POST /task: {status} {text[:200]}")

    def task(self, fid):
        found = json.loads(self.ask("GET", f"/external/{AGENT}/task/{fid}")[1])
        if found["payload"]["state"] not in ("accepted", "running",
                                             "draining", "done"):
            raise Over(f"a task failed: {found}")
        return found["payload"]

    def until_done(self, fids):
        """The documents that were uploaded."""
        total, waiting, began = 0, list(fids), time.monotonic()
        while waiting:
            t = self.task(waiting[-1])
            if t["state"] == "done":
                total += t["uploaded"]
                waiting.pop()
            elif time.monotonic() - began > 600:
                raise Over(f"{len(waiting)} tasks did not end: {t}")
            else:
                time.sleep(0.1)
        return total

    def memory_kib(self, field="VmRSS"):
        with open(f"/proc/{self.child.pid}/status") as f:
            return int(re.search(field + r":\s*(\d+)", f.read())[1])

    def kill(self):
        self.child.kill()
        self.child.wait()

    def end(self):
        if self.connection is not None:
            self.connection.close()
        bench.end(self.child, 20)
