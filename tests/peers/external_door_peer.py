"""What scripts of the external door share: a daemon with connectors, and a back
end that notes each call and answers as it is told.
"""
import gzip
import http.client
import http.server
import shutil

from serve import *
from external_peer import Api, put

UPLOADS, STATUSES = "/upload", "/status"


class External(Serve):
    """A daemon that serves the connectors of a directory."""

    def __init__(self, name, connectors, *settings, **more):
        self.token = None
        super().__init__(name, [
            "urlfrontier.listen=", "external.connectors=" + connectors,
            *settings], **more)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.http_port,
                                          timeout=60)

    def ask(self, method, path, body=None, token=None, **fields):
        """(status, JSON or text)"""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if token or self.token:
            fields["Authorization"] = "Bearer " + (token or self.token)
        connection = self.connection()
        try:
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        self.fields = answer.headers
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def task(self, fid, endpoint, params, connector="things", **more):
        code, said = self.ask("POST", f"/external/{connector}/task", {
            "fid": fid, "endpoint": endpoint, "params": params, **more})
        assert code == 200, said
        return said["payload"]

    def look(self, fid, connector="things", **more):
        return self.ask("GET", f"/external/{connector}/task/{fid}",
                        **more)[1]["payload"]

    def state(self, fid, **more):
        return self.look(fid, **more)["state"]

    def ends(self, fid, seconds=30, **more):
        """The state that it has at last."""
        wait_until(lambda: self.state(fid, **more) not in
                   ("accepted", "running", "draining"), seconds)
        return self.state(fid, **more)


class Call:
    def __init__(self, kind, request, body):
        self.kind, self.at = kind, time.monotonic()
        self.fields, self.path = request.headers, request.path
        self.sent = body
        if request.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        self.body = body
        self.key = request.headers["Idempotency-Key"]

    @property
    def documents(self):
        return [json.loads(line) for line in self.body.split(b"\n")]

    @property
    def status(self):
        return json.loads(self.body)


class Kept:
    """An upload without the lines that are refused, from 1."""

    def __init__(self, call, refused):
        self.key, self.body = call.key, call.body
        self.documents = [d for i, d in enumerate(call.documents, 1)
                          if i not in refused]


class Back:
    """A back end.  `reply(call, number)` gives (status, fields, body), or None
    for an answer that is lost; what it accepts is kept once by key, then by the
    document's id."""

    def __init__(self, reply=None):
        self.calls, self.reply = [], reply
        self.stored, self.keys = {}, {}
        self.repeated = self.contradicted = 0
        self.lock = threading.Lock()
        back = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                back.answer(self)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 128

            def handle_error(self, request, address):
                if not isinstance(sys.exc_info()[1], OSError):
                    super().handle_error(request, address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def answer(self, request):
        length = int(request.headers["Content-Length"])
        body = request.rfile.read(length)
        if len(body) < length:       # Its daemon was killed.
            request.close_connection = True
            return
        path = request.path.split("?")[0]
        kind = "/" + path.rsplit("/", 1)[1]
        call = Call(kind, request, body)
        with self.lock:
            self.calls.append(call)
            number = sum(c.kind == kind for c in self.calls)
        told = self.reply and self.reply(call, number)
        status, fields, text = told or (200, {}, None)
        if kind == UPLOADS and status in (200, None):
            self.store(path, call)
        if status is None:           # Accepted, and nobody hears of it.
            request.close_connection = True
            return
        if text is None:
            text = json.dumps({"success": status == 200, "payload": {},
                               "version": 0} if status == 200 else
                              {"success": False, "messages": ["no"]})
        request.send_response(status)
        for name, value in fields.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(text.encode())))
        request.end_headers()
        request.wfile.write(text.encode())

    def store(self, path, call):
        task = path.split("?")[0].split("/")[-2]
        with self.lock:
            kept = self.stored.setdefault(task, {})
            before = self.keys.setdefault((task, call.key), call)
            if before.body != call.body:
                self.contradicted += 1      # One key, two contents.
            for d in call.documents:
                self.repeated += d["id"] in kept and before is call
                kept[d["id"]] = d

    def endpoint(self, fid):
        return f"{self.base}/tasks/{fid}"

    def of(self, kind, fid=None):
        with self.lock:
            return [c for c in self.calls if c.kind == kind and (
                fid is None or c.path.split("/")[-2] == fid)]

    def codes(self, fid):
        return [c.status["code"] for c in self.of(STATUSES, fid)]

    def ids(self, fid):
        with self.lock:
            return sorted(self.stored.get(fid, {}))


def connectors(name, *files):
    """A directory with these files."""
    place = os.path.join(PLACE, name)
    os.makedirs(place, exist_ok=True)
    for f in files:
        shutil.copy(f, place)
    return place


def token(data, name, scope="external:write", *settings):
    done_ = subprocess.run([program(), "token", "add", name, "--scope", scope,
                            "--data", data, *(x for s in settings
                                              for x in ("--set", s))],
                           capture_output=True, text=True)
    found = re.search(r"argiope_[0-9a-f]{64}", done_.stdout)
    assert found, done_.stdout + done_.stderr
    return found[0]
