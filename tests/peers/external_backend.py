"""argiope external simulate-backend: each request, each kind of fault, silence,
stop, retry, the demo, and the crawlers of examples/external as its peers.

usage: external_backend.sh PROGRAM
"""
import gzip
import http.server
import re
import socket
import ssl
import urllib.parse

from external_peer import (Backend, NDJSON, STREAM, example_crawlers,
                           loopback_certificate)
from peer import *

SECRET = "canary-secret-5417"
need("external_backend", "openssl")


# ---- A crawler that does what it is told ---------------------------------------

class Crawler(http.server.ThreadingHTTPServer):
    """It notes the requests, and answers POST /task by `reply`."""
    request_queue_size = 128

    def __init__(self, tls=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.reply, self.before = [], None, None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*loopback_certificate())
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' * tls}://127.0.0.1:{self.server_port}/base"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def of(self, method):
        return [r for r in self.requests if r["method"] == method]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({
            "method": self.command, "path": self.path, "body": body,
            "token": self.headers.get("Authorization")})
        code, answer = 200, {"success": True, "payload": {}, "version": 0}
        if self.command == "POST":
            if self.server.before:
                self.server.before(body)
            answer["payload"] = {"callback": f"/task/{body['fid']}",
                                 "status": {"code": 0, "message": "New"}}
            if self.server.reply:
                code, answer = self.server.reply(body)
        text = answer.encode() if isinstance(answer, str) else \
            json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_PATCH = do_POST

    def log_message(self, *args):
        pass


def message(said):
    return "; ".join(said["messages"]) if isinstance(said, dict) else str(said)


def refused(name, got, status, text):
    code, said = got
    if same(name, code, status):
        check("... and says why", said.get("success") is False and
              message(said).startswith(text), f"{message(said)!r} is not {text!r}")


# ---- Scenes --------------------------------------------------------------------

def command_line():
    def run(*options):
        return subprocess.run([program(), "external", "simulate-backend",
                               *options], capture_output=True, text=True,
                              timeout=20)
    for address in ("0.0.0.0:0", "192.0.2.1:0", "[::]:0", "localhost:0"):
        got = run("--listen", address)
        same(f"--listen {address} is refused", got.returncode, 64)
        check("... with the reason", "loopback" in got.stderr, got.stderr)
    for address in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536"):
        got = run("--listen", address)
        same(f"--listen {address} is refused", got.returncode, 64)
        check("... with the option's name", "--listen" in got.stderr,
              got.stderr)
    pem, key = loopback_certificate()
    for options in ("--tls-cert", pem), ("--tls-key", key):
        got = run("--listen", "127.0.0.1:0", *options)
        same(f"{options[0]} alone is refused", got.returncode, 64)
        check("... with the reason", "go together" in got.stderr, got.stderr)
    for name, first, second in (("a missing certificate", "none.pem", key),
                                ("a key that is none", pem, pem)):
        got = run("--listen", "127.0.0.1:0", "--tls-cert", first, "--tls-key",
                  second)
        same(f"{name} is refused", got.returncode, 78)
        check("... with the file's name", os.path.basename(first) in
              got.stderr, got.stderr)
    plan = f"{PLACE}/bad.json"
    with open(plan, "w") as f:
        f.write('{"faults":[{"number":1,"status":99}]}')
    got = run("--listen", "127.0.0.1:0", "--faults", plan)
    same("a faulty plan is refused", got.returncode, 65)
    check("... with the member's name", "faults[0].status" in got.stderr,
          got.stderr)
    b = Backend("ends")
    got = run("--listen", f"127.0.0.1:{b.port}")
    same("a port in use is refused", got.returncode, 75)
    for seconds in "0", "86401":
        same(f"--silence {seconds} is refused",
             run("--silence", seconds).returncode, 64)
    same("it ends in order", b.stop(), 0)


def externals(b):
    good = {"meta": {"name": "A"}, "endpoint": "http://127.0.0.1:9/x"}
    bad = {
        "endpoint: must be": {"endpoint": "ftp://127.0.0.1/"},
        "endpoint: must have no user": {"endpoint": "http://u:p@127.0.0.1/"},
        "headers: \"Host\"": {"headers": {"Host": "a"}},
        "headers.X-A: must be": {"headers": {"X-A": "a\nb"}},
        "headers: must be": {"headers": []},
        "credential: must be": {"credential": 7},
        "docIdField: must be": {"docIdField": 7},
        "schema: ": {"schema": []},
        "schema: /type": {"schema": {"type": "no"}},
        "schema: /$schema": {"schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema"}},
        "meta: must be": {"meta": 7},
        "parameters: must be": {"parameters": {}},
        "parameters[0].type: must be": {
            "parameters": [{"name": "a", "type": "x"}]},
        "parameters[0].name: must be": {"parameters": [{}]},
        "parameters[0].regex: is no": {
            "parameters": [{"name": "a", "regex": "("}]},
    }
    for text, change in bad.items():
        refused(f"an external object with a wrong {text.split(':')[0]}",
                b.ask("POST", "/externals", {**good, **change}), 400, text)
    refused("an external object with 33 headers", b.ask("POST", "/externals", {
        **good, "headers": {f"X-{i}": "a" for i in range(33)}}), 429,
        "headers: more than 32")
    same("... with 32", b.ask("POST", "/externals", {
        **good, "headers": {f"X-{i}": "a" for i in range(32)}})[0], 200)
    refused("a body that is no JSON", b.ask("POST", "/externals", "{"), 400,
            "the body: no JSON")
    refused("a body that is no object", b.ask("POST", "/externals", []), 400,
            "the body: must be")
    refused("a body that is too deep", b.ask("POST", "/externals", '{"a":' * 33
            + "1" + "}" * 33), 400, "the body: more than 32 levels")
    refused("a body that is too long", b.ask("POST", "/externals",
            " " * (1 << 20) + "{}"), 413, "")
    code, said = b.ask("POST", "/backend/externals", {
        **good, "crendential": "oauth", "parameters": [
            {"name": "n", "type": "interger", "options": [1, 2]}]})
    same("an external object is added below /backend", code, 200)
    x = said["payload"]
    fid = x["meta"]["fid"]
    same("... as version 1", x["meta"]["version"], 1)
    same("... crendential is read", (x.get("credential"), "crendential" in x),
         ("oauth", False))
    code, said = b.ask("PATCH", f"/externals/{fid}", {
        "meta": {"image": "i", "fid": "mine"}, "parameters": [{"name": "m"}]})
    same("PATCH merges objects", (code, said["payload"]["meta"]), (200, {
        "name": "A", "image": "i", "type": "externals", "fid": fid,
        "version": 2}))
    same("... and replaces arrays", said["payload"]["parameters"],
         [{"name": "m"}])
    refused("a PATCH that makes it wrong", b.ask(
        "PATCH", f"/externals/{fid}", {"endpoint": 7}), 400, "endpoint: must")
    same("... changes nothing", b.ask("GET", f"/externals/{fid}")[1]["payload"],
         said["payload"])
    code, said = b.ask("PUT", f"/externals/{fid}", good)
    same("PUT replaces it", (code, "parameters" in said["payload"],
         said["payload"]["meta"]["version"]), (200, False, 3))
    same("DELETE deletes it", b.ask("DELETE", f"/externals/{fid}")[0], 200)
    for method in "GET", "PATCH", "PUT", "DELETE":
        refused(f"{method} of one that is gone", b.ask(
            method, f"/externals/{fid}", {} if method[0] == "P" else None),
            404, "there is no external object")
    refused("another method", b.ask("GET", "/externals"), 404,
            "there is no such request")
    refused("... below /backend", b.ask("PUT", "/backend/x/y", {}), 404,
            "there is no such request")


def crawlers(b, peer):
    form = [{"name": "n", "type": "integer", "req": True, "min": 1, "max": 9},
            {"name": "since", "type": "date", "restrictions": [
                {"rule": "lt", "target": "until"}]},
            {"name": "until", "type": "date"}]
    x = b.external(peer.url, parameters=form, analysis={"a": 1},
                   headers={"Authorization": "Bearer " + SECRET},
                   crendential={"oauth": {}})
    path = f"/actions/externals/{x}/crawler"
    good = {"meta": STREAM, "params": {"n": 3},
            "credential": {"oauth": {"token": SECRET}}}
    for name, change, text in (
            ("without a stream", {"meta": {}}, "meta.links: "),
            ("with two streams", {"meta": {"links": STREAM["links"] * 2}},
             "meta.links: "),
            ("without a credential", {"credential": None}, "credential: "),
            ("with params that are none", {"params": 7}, "params: must be"),
            ("without a required parameter", {"params": {}},
             "params.n: is missing"),
            ("with bad params", {"params": {
                "n": 10, "since": "2026-01-02", "until": "2026-01-01"}},
             "params.n: is greater than its max; params.since: must be less")):
        refused(f"a crawler {name}", b.ask("POST", path, {**good, **change}),
                400, text)
    refused("a crawler of no external object", b.ask(
        "POST", "/actions/externals/none/crawler", good), 404,
        "there is no external")
    code, said = b.ask("POST", path, good)
    same("a crawler is made", (code, said["payload"]["analysis"]),
         (200, {"a": 1}))
    check("... its credential is not repeated", SECRET not in json.dumps(said))
    c = said["payload"]["crawler"]["meta"]["fid"]
    same("... it can be read", b.ask("GET", f"/crawlers/{c}")[1]["payload"],
         said["payload"]["crawler"])
    for kind, code in ((None, 200), ("none", 200), ("ignore", 200),
                       ("oauth", 400), ({"type": "oauth"}, 400),
                       ({"type": "none"}, 200), ({"oauth": {}}, 400)):
        y = b.external(peer.url, credential=kind)
        same(f"a crawler without a credential for {kind}", b.ask(
            "POST", f"/actions/externals/{y}/crawler",
            {"meta": STREAM, "params": None, "credential": None})[0], code)
    path = f"/actions/crawlers/{c}/task"
    refused("a task with bad params", b.ask("POST", path, {"params": {"n": 0}}),
            400, "params.n: is less than its min")
    refused("a task of no crawler", b.ask(
        "POST", "/actions/crawlers/none/task", {}), 404, "there is no crawler")
    peer.requests.clear()
    code, said = b.ask("POST", path, {"params": {"n": 5}})
    same("a task is started", (code, said["payload"]["params"]), (200, {"n": 5}))
    t = said["payload"]["meta"]["fid"]
    same("... the crawler is asked once", len(peer.requests), 1)
    order = peer.requests[0]
    same("... at its endpoint, with the version", order["path"],
         "/base/task?version=1")
    same("... with the object's headers", order["token"], "Bearer " + SECRET)
    same("... and the order", order["body"], {
        "fid": t, "params": {"n": 5}, "credential": good["credential"],
        "endpoint": f"http://127.0.0.1:{b.port}/actions/tasks/{t}",
        "crawler": c})
    same("another task while it runs", b.ask("POST", path, {})[0], 208)
    same("a retry while it runs", b.ask("POST", f"{path}/{t}", {})[0], 208)
    refused("the external object cannot go", b.ask(
        "DELETE", f"/externals/{x}"), 409, "a task of the external object")
    same("it ends", b.report(t, 200, "done")[0], 200)
    same("... and is done", b.code(t), 200)
    b.ask("PATCH", f"/externals/{x}", {"meta": {"name": "B"}})
    code, said = b.ask("POST", f"{path}/{t}", {})
    same("it is retried", (code, said["payload"]["attempt"],
         said["payload"]["status"]["code"]), (200, 2, 0))
    same("... with the new version", peer.requests[-1]["path"],
         "/base/task?version=2")
    b.report(t, 200)
    refused("a retry of no task", b.ask("POST", f"{path}/none", {}), 404,
            "there is no task")
    peer.url += "?key=1"
    b.task(peer.url)
    same("an endpoint keeps its query", peer.requests[-1]["path"],
         "/base/task?key=1&version=1")
    peer.url = peer.url.split("?")[0]


def answers_of_crawlers(b, peer):
    def reply(name, answer, text, code=200):
        peer.reply = lambda body: (code, answer)
        c = b.crawler(b.external(peer.url))
        got = b.ask("POST", f"/actions/crawlers/{c}/task", {})
        refused(f"a crawler that answers {name}", got, 502, text)
        same("... and the task has failed",
             got[1]["payload"]["status"]["code"], 500)

    def payload(**p):
        return {"success": True, "payload": p, "version": 0}
    status = {"code": 0, "message": "New"}
    reply("400", {"success": False, "messages": ["params.n: no"]},
          "the crawler answered 400: params.n: no", 400)
    reply("200 and success:false", {"success": False, "messages": ["no"]},
          "the crawler answered 200: no")
    reply("a redirect", payload(callback="/t", status=status),
          "the crawler answered 302", 302)
    reply("no JSON", "hello", "the crawler's answer: no JSON")
    reply("200 without success", {}, "the crawler answered 200")
    reply("1 MiB and a byte", "{}" + " " * ((1 << 20) - 1),
          "the crawler: the answer is too long")
    reply("1 MiB", "{}" + " " * ((1 << 20) - 2), "the crawler answered 200")
    reply("no callback", payload(status=status), "payload.callback: is missing")
    reply("a foreign callback", payload(
        callback="http://127.0.0.1:9/t", status=status),
        "payload.callback: must have the origin")
    reply("no status", payload(callback="/t"), "payload.status.code: ")
    peer.reply = None
    c = b.crawler(b.external("http://127.0.0.1:9/"))
    refused("a crawler that is away", b.ask(
        "POST", f"/actions/crawlers/{c}/task", {}), 502, "the crawler: ")
    c = b.crawler(b.external("http://192.0.2.1/"))
    refused("plain http beyond loopback", b.ask(
        "POST", f"/actions/crawlers/{c}/task", {}), 502,
        "the crawler: plain http")
    peer.reply = lambda body: (200, payload(
        callback=f"http://127.0.0.1:{peer.server_port}/other/{body['fid']}",
        status={"code": 102, "message": "Running"}))
    t = b.task(peer.url)
    same("a status of the answer is taken", b.code(t), 102)
    peer.requests.clear()
    b.ask("DELETE", f"/actions/tasks/{t}")
    wait_until(lambda: peer.of("PATCH"))
    same("an absolute callback is used", peer.of("PATCH")[0]["path"],
         f"/other/{t}?version=1")
    peer.reply = None
    # A status that comes before the crawler's answer is newer than that answer.
    peer.before = lambda body: b.report(body["fid"], 200, "at once")
    same("a task that ends before its start was answered",
         b.code(b.task(peer.url)), 200)
    peer.before = None


def uploads(b, peer):
    t = b.task(peer.url, docIdField="id")
    a, c = {"id": 1, "t": "a"}, {"id": "x", "t": "c"}
    same("an upload", b.upload(t, [a, c]), (200, {
        "success": True, "payload": {"count": 2}, "version": 0}))
    same("... with CR LF", b.upload(t, '{"id":2}\r\n{"id":3}')[1]["payload"],
         {"count": 2})
    same("... below /backend", b.ask(
        "POST", f"/backend/actions/tasks/{t}/upload", '{"id":4}')[0], 200)
    same("... gzipped", b.upload(t, gzip.compress(b'{"id":5}'),
                                 Content_Encoding="gzip")[0], 200)
    refused("... that is no gzip", b.upload(
        t, b'{"id":6}', Content_Encoding="gzip"), 400, "Content-Encoding: ")
    refused("... in another coding", b.upload(
        t, b'{"id":6}', Content_Encoding="foo"), 415, "Content-Encoding: ")
    refused("... that unpacks to too much", b.upload(t, gzip.compress(
        b" " * (17 << 20)), Content_Encoding="gzip"), 413, "upload_bytes_max")
    refused("... that is too long", b.upload(t, b" " * ((16 << 20) + 1)),
            413, "")
    same("... of the longest kind", b.upload(t, b'{"id":7}' + b" " * (
        (16 << 20) - 8))[0], 200)
    same("the ids are kept", [d["id"] for d in b.output(t)],
         [1, "x", 2, 3, 4, 5, 7])
    b.upload(t, [{"id": 1, "t": "new"}])
    same("a document with a known id replaces the other", b.output(t)[0],
         {"id": 1, "t": "new"})
    for name, body, text in (("an empty body", "", "line 1: is empty"),
                             ("a line feed at the end", '{"id":8}\n',
                              "line 2: is empty"),
                             ("a line that is no JSON", '{"id":8}\n{',
                              "line 2: no JSON"),
                             ("a line that is no object", '{"id":8}\n7',
                              "line 2: must be")):
        refused(f"an upload with {name}", b.upload(t, body), 400, text)
    same("... which keeps nothing", len(b.output(t)), 7)
    code, said = b.upload(t, [{"id": 9}, {"no": 1}, {"id": ""}, {"id": 10}])
    same("documents without an id are refused", code, 406)
    same("... by line", said["payload"]["errors"], [
        {"line": n, "error": "id: the document has no id, a text or a whole "
         "number"} for n in (2, 3)])
    same("... the others are kept", (said["payload"]["count"],
         [d["id"] for d in b.output(t)][-2:]), (2, [9, 10]))
    s = b.task(peer.url, schema={
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object", "required": ["t"],
        "properties": {"t": {"type": "string"}}})
    code, said = b.upload(s, [{"t": "a"}, {"t": 7}, {}])
    same("documents that the schema refuses", (code, said["payload"]), (406, {
        "count": 1, "errors": [
            {"line": 2, "error": "schema: /t must be string, not integer"},
            {"line": 3, "error": "schema: lacks the member \"t\""}]}))
    same("... the other is kept", b.output(s), [{"t": "a"}])
    big = 123456789012345678901234567890
    b.upload(t, [{"id": big}])
    same("a number of any length is kept", b.output(t)[-1], {"id": big})
    refused("an upload to no task", b.upload("none", [a]), 404,
            "there is no such task")
    key = f"{t}:1"
    first = b.upload(t, [{"id": 11}], Idempotency_Key=key)
    b.upload(t, [{"id": 11, "t": 1}])
    same("an upload that comes again gets the same answer", b.upload(
        t, [{"id": 11}], Idempotency_Key=key), first)
    same("... and changes nothing", b.output(t)[-1], {"id": 11, "t": 1})
    same("... also gzipped", b.upload(t, gzip.compress(b'{"id": 11}'),
         Idempotency_Key=key, Content_Encoding="gzip"), first)
    refused("its key with another upload", b.upload(
        t, [a], Idempotency_Key=key), 400, "Idempotency-Key: ")
    refused("a key that is too long", b.upload(
        t, [a], Idempotency_Key="k" * 201), 400, "Idempotency-Key: ")
    same("one that is just not", b.upload(
        t, [a], Idempotency_Key="k" * 200)[0], 200)
    u = b.task(peer.url)
    b.upload(u, '{"a":1}\n{ "a": 1 }\n{"a":2}')
    same("without docIdField contents are compared", b.output(u),
         [{"a": 1}, {"a": 2}])
    lines = b.ask("GET", f"/log/{u}")[1]["payload"]["lines"]
    check("the log has the upload", any("3 documents, 1 of them known" in
          line["text"] for line in lines), lines)
    for path in f"/log/none", f"/output/none", "/tasks/none":
        refused(f"{path}", b.ask("GET", path), 404, "there is no task")
    b.report(u, 200)
    refused("an upload to a closed task", b.upload(u, [a]), 404,
            "the task is closed")


def statuses(b, peer):
    t = b.task(peer.url)
    for name, body, text in (
            ("without a code", {}, "code: "),
            ("with a code of 1000", {"code": 1000}, "code: "),
            ("with a negative code", {"code": -1}, "code: "),
            ("with a message that is none", {"code": 1, "message": 7},
             "message: ")):
        refused(f"a status {name}", b.ask(
            "POST", f"/actions/tasks/{t}/status", body), 400, text)
    refused("a status that is no JSON", b.ask(
        "POST", f"/actions/tasks/{t}/status", "x"), 400, "the body: no JSON")
    refused("a status of no task", b.report("none", 102), 404,
            "there is no such task")
    same("a status", b.report(t, 102, "half")[0], 200)
    same("... is shown", b.show(t)["status"],
         {"code": 102, "message": "half", "detail": None})
    b.ask("POST", f"/actions/tasks/{t}/status",
          {"code": 102, "detail": {"a": 1}})
    same("a detail may be any value", b.show(t)["status"]["detail"], '{"a":1}')
    b.report(t, 102, "x" * 3000)
    same("a long message is cut", len(b.show(t)["status"]["message"]), 1999)
    b.report(t, 103, "newer", Idempotency_Key="s1")
    b.report(t, 102, "older, again", Idempotency_Key="s1")
    same("a status that comes again changes nothing", b.code(t), 103)
    b.report(t, 500, "failed", Idempotency_Key="s2")
    same("a closing status may come again",
         b.report(t, 500, "failed", Idempotency_Key="s2")[0], 200)
    same("... without a key, too", b.report(t, 500)[0], 200)
    refused("another one after it", b.report(t, 200), 404, "the task is closed")
    same("... changes nothing", b.code(t), 500)


def stops(b, peer):
    t = b.task(peer.url, headers={"Authorization": "Bearer " + SECRET})
    b.upload(t, [{"a": 1}])
    peer.requests.clear()
    same("a task is stopped", b.ask("DELETE", f"/actions/tasks/{t}")[0], 200)
    wait_until(lambda: peer.of("PATCH"))
    same("... the crawler is told", [(r["path"], r["body"], r["token"])
         for r in peer.requests], [(f"/base/task/{t}?version=1", {
             "code": 499, "message": "Task is cancelled", "detail": None},
             "Bearer " + SECRET)])
    refused("... its documents are gone", b.ask("GET", f"/output/{t}"), 404,
            "there is no task")
    refused("... a further upload", b.upload(t, [{"a": 2}]), 404,
            "there is no such task")
    refused("... a second stop", b.ask("DELETE", f"/actions/tasks/{t}"), 404,
            "there is no task")


def limits(peer):
    """Each named limit at its edge."""
    b = Backend("limits", faults=[{"call": "upload", "number": 2, "last": 1000,
                                   "delay_ms": 600000}])
    t = b.task(peer.url, docIdField="id")
    bad = "\n".join(["{}"] * 1001)
    refused("1,001 refused lines", b.upload(t, bad), 406,
            "too many documents are refused")
    for i in range(1000):
        b.report(t, 102, str(i))
    lines = b.ask("GET", f"/log/{t}")[1]["payload"]["lines"]
    same("a log has 1,000 lines", len(lines), 1000)
    same("... the newest", lines[-1]["text"], "status 102: 999")
    b.report(t, 200)
    x = b.external(peer.url)
    answers = [b.ask("POST", "/externals", {"endpoint": peer.url})
               for i in range(999)]
    same("1,000 external objects", {a[0] for a in answers[:-1]}, {200})
    refused("... one more", answers[-1], 429, "externals_max")
    path = f"/actions/externals/{x}/crawler"
    answers = [b.ask("POST", path, {"meta": STREAM}) for i in range(1000)]
    same("1,000 crawlers", {a[0] for a in answers[:-1]}, {200})
    refused("... one more", answers[-1], 429, "crawlers_max")
    peer.reply = lambda body: (200, {"success": True, "payload": {
        "callback": "/t", "status": {"code": 200}}})
    c = answers[0][1]["payload"]["crawler"]["meta"]["fid"]
    answers = [b.ask("POST", f"/actions/crawlers/{c}/task", {})
               for i in range(1000)]
    same("1,000 tasks", {a[0] for a in answers[:-1]}, {200})
    refused("... one more", answers[-1], 429, "tasks_max")
    peer.reply = None
    same("it ends in order", b.stop(), 0)
    b = Backend("demos", faults=[{"call": "upload", "number": 1, "last": 1000,
                                  "delay_ms": 600000}])
    answers = [b.ask("GET", "/demo") for i in range(17)]
    same("16 demos", [a[0] for a in answers], [200] * 16 + [502])
    check("... one more", "demo_runs_max" in message(answers[-1][1]),
          answers[-1])
    same("it ends in order", b.stop(), 0)
    b = Backend("calls")
    crawler = [b.crawler(b.external(peer.url)) for i in range(65)]
    gate = threading.Event()
    peer.before = lambda body: gate.wait(30)
    answers = []
    threads = [threading.Thread(target=lambda c=c: answers.append(b.ask(
        "POST", f"/actions/crawlers/{c}/task", {}))) for c in crawler]
    for thread in threads:
        thread.start()
    wait_until(lambda: answers)
    refused("65 calls to crawlers at once", answers[0], 429,
            "crawler_calls_max")
    gate.set()
    for thread in threads:
        thread.join(30)
    same("... 64 succeed", sorted(a[0] for a in answers), [200] * 64 + [429])
    peer.before = None
    same("it ends in order", b.stop(), 0)


def silence(peer):
    b = Backend("silence", "--silence", "1")
    peer.requests.clear()
    t = b.task(peer.url)
    for i in range(6):
        time.sleep(0.4)
        (b.upload(t, [{"a": i}]) if i % 2 else b.report(t, 102))
    same("a task that is heard of stays open", b.code(t), 102)
    check("a silent one is closed", wait_until(lambda: b.code(t) == 408, 20))
    check("... and the crawler is told", wait_until(lambda: peer.of("PATCH")))
    same("... once", [r["body"] for r in peer.of("PATCH")], [
        {"code": 408, "message": "Task is timeout", "detail": None}])
    refused("... its uploads are refused", b.upload(t, [{}]), 404,
            "the task is closed")
    same("it ends in order", b.stop(), 0)


def faults(peer):
    def upload(number, **more):
        return {"call": "upload", "number": number, **more}
    b = Backend("faults", faults=[
        upload(1, status=503, retry_after_s=7), upload(2, status=429),
        upload(3, delay_ms=600), upload(4, cut_bytes=10),
        upload(5, reply_lost=True), upload(6, refused_lines=[1, 3]),
        upload(7, redirect="http://127.0.0.1:9/"),
        upload(8, status=200, body="hello"), upload(9, last=10, status=413),
        upload(12, cut_bytes=0), upload(13, cut_bytes=100000),
        {"call": "status", "number": 1, "status": 500},
        {"call": "status", "number": 2, "reply_lost": True}])
    t = b.task(peer.url, docIdField="id")
    at = [0]

    def send(n=1, **fields):
        at[0] += 1
        return b.upload(t, [{"id": f"{at[0]}.{i}"} for i in range(n)], **fields)
    refused("1: a status", send(), 503, "the fault plan refuses")
    same("... with Retry-After", b.fields["Retry-After"], "7")
    refused("2: another, without", send(), 429, "the fault plan refuses")
    same("...", b.fields["Retry-After"], None)
    began = time.monotonic()
    same("3: a delay", send()[0], 200)
    check("... of 0.6 s", time.monotonic() - began >= 0.6)
    same("4: a cut answer", send(), (None, "IncompleteRead"))
    same("5: a lost reply", send(), (None, "RemoteDisconnected"))
    same("... its retry gets its answer", b.upload(t, [{"id": "5.0"}])[0], 406)
    at[0] += 1
    same("7: a redirect", send()[0], 307)
    same("... with its Location", b.fields["Location"], "http://127.0.0.1:9/")
    same("8: an answer that is no JSON", send(), (200, "hello"))
    same("9, 10: a range", (send()[0], send()[0]), (413, 413))
    code, said = send(3)
    same("11: none", code, 200)
    same("12: cut before its body", send(), (None, "IncompleteRead"))
    same("13: cut after all of it", send(), (None, "IncompleteRead"))
    same("what was accepted is kept", [d["id"] for d in b.output(t)],
         ["3.0", "4.0", "5.0", "8.0", "11.0", "11.1", "11.2", "12.0", "13.0"])
    refused("a fault of statuses", b.report(t, 102), 500, "the fault plan")
    same("... is not taken", b.code(t), 0)
    same("... and a lost one", b.report(t, 103), (None, "RemoteDisconnected"))
    same("... is", b.code(t), 103)
    same("then all is well", b.report(t, 104)[0], 200)
    with open(b.log) as f:
        log = f.read()
    for word in ("upload_number=1 fault=status", "upload_number=4 fault=cut_bytes",
                 "upload_number=5 fault=reply_lost",
                 "upload_number=7 fault=redirect"):
        check(f"the log has {word}", word in log)
    same("it ends in order", b.stop(), 0)
    b = Backend("lines", faults=[upload(1, refused_lines=[1, 3]),
                                 upload(2, delay_ms=600000)])
    t = b.task(peer.url, docIdField="id")
    code, said = b.upload(t, [{"id": i} for i in range(4)])
    same("refused lines", (code, said["payload"]), (406, {
        "count": 2, "errors": [{"line": n, "error": "the fault plan refuses "
                                "this line"} for n in (1, 3)]}))
    same("... the others are kept", [d["id"] for d in b.output(t)], [1, 3])
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(
        b.upload(t, [{"id": 9}])))
    thread.start()
    time.sleep(0.3)
    same("it ends in order while an upload waits", b.stop(), 0)
    thread.join(10)
    check("... which is answered", waiting and waiting[0][0] in (503, None),
          waiting)


def demo():
    plan = [{"call": "upload", "number": 2, "status": 503},
            {"call": "upload", "number": 4, "reply_lost": True},
            {"call": "status", "number": 1, "status": 500}]
    for name, b in (("the demo", Backend("demo")),
                    ("the demo with faults", Backend("demo2", faults=plan))):
        code, said = b.ask("GET", "/demo")
        if not same(f"{name} starts", code, 200):
            continue
        task = said["payload"]
        t = task["meta"]["fid"]
        check("... ends", wait_until(lambda: b.code(t) == 200, 20), b.show(t))
        same("... with its documents", [d["id"] for d in b.output(t)],
             list(range(1, 21)))
        same("... its log and output are where it says",
             [b.ask("GET", task[k])[0] for k in ("log", "output")], [200, 200])
        code, said = b.ask("GET", "/demo")
        t = said["payload"]["meta"]["fid"]
        same("a demo is stopped", b.ask("DELETE", f"/actions/tasks/{t}")[0],
             200)
        same("it ends in order", b.stop(), 0)


def tls(peer):
    b = Backend("tls", tls=True)
    code, said = b.ask("GET", "/demo")
    same("over TLS the demo starts", code, 200)
    t = said["payload"]["meta"]["fid"]
    check("... ends", wait_until(lambda: b.code(t) == 200, 20), b.show(t))
    same("... with its documents", [d["id"] for d in b.output(t)],
         list(range(1, 21)))
    with socket.create_connection(("127.0.0.1", b.port), 10) as plain:
        plain.sendall(b"GET /demo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try:
            said = plain.recv(100)
        except ConnectionError:
            said = b""
        check("... plain HTTP is not answered",
              not said.startswith(b"HTTP/1.1 2"), said)
    secure = Crawler(tls=True)
    t = b.task(secure.url)
    same("a crawler with the same certificate is called",
         len(secure.of("POST")), 1)
    same("... and calls back over TLS", secure.requests[0]["body"]["endpoint"],
         f"https://127.0.0.1:{b.port}/actions/tasks/{t}")
    same("... a plain one on loopback, too", b.code(b.task(peer.url)), 0)
    same("it ends in order", b.stop(), 0)
    b = Backend("no-ca")
    c = b.crawler(b.external(secure.url))
    refused("a crawler's certificate that is not known", b.ask(
        "POST", f"/actions/crawlers/{c}/task", {}), 502, "the crawler: ")
    same("it ends in order", b.stop(), 0)
    b = Backend("ca", "--ca", loopback_certificate()[0])
    t = b.task(secure.url)
    same("... one that --ca names", b.code(t), 0)
    same("it ends in order", b.stop(), 0)
    secure.shutdown()


def discard(peer):
    b = Backend("discard", "--discard")
    t = b.task(peer.url, docIdField="id")
    for key in "k:1", "k:1":
        same("documents are counted", b.upload(t, [
            {"id": 1}, {"id": 2}], Idempotency_Key=key)[1]["payload"],
            {"count": 2})
    b.upload(t, [{"id": 2, "text": "other"}, {"id": 3}])
    same("... each id once", b.show(t)["documents"], 3)
    refused("... and none is kept", b.ask("GET", f"/output/{t}"), 409,
            "documents are discarded")
    t = b.task(peer.url)
    b.upload(t, [{"a": 1}, {"a": 2}, {"a": 1}])
    same("... without an id each content once", b.show(t)["documents"], 2)
    same("it ends in order", b.stop(), 0)


def example(language, command):
    port = free_port()
    with open(f"{PLACE}/crawler-{language}.log", "w") as log:
        start([*command, str(port)], stdout=log, stderr=log,
              env=dict(os.environ, TOKEN=SECRET))
    check(f"the example in {language} listens",
          wait_until(lambda: listens(port)))
    url = f"http://127.0.0.1:{port}"
    b = Backend("example-" + language, "--silence", "20", faults=[
        {"call": "upload", "number": 2, "status": 503, "retry_after_s": 0},
        {"call": "upload", "number": 3, "reply_lost": True},
        {"call": "upload", "number": 5, "cut_bytes": 3},
        {"call": "status", "number": 2, "status": 500}])

    def run(params, token=SECRET, **more):
        return b.ask("POST", "/run", {
            "external": {"endpoint": url, "docIdField": "id", "parameters": [
                {"name": "count", "type": "integer", "max": 100}],
                "headers": {"Authorization": "Bearer " + token}, **more},
            "config": {"params": params}})
    refused("/run with a wrong external object", run({}, endpoint=""), 400,
            "external.endpoint: must be")
    refused("/run with wrong params", run({"count": 101}), 400,
            "params.count: is greater")
    refused("/run without an external object", b.ask("POST", "/run", {}), 400,
            "external: must be")
    refused("/run with a config that is none", b.ask("POST", "/run", {
        "external": {}, "config": 7}), 400, "config: must be")
    refused("the example refuses a wrong token", run({}, token="other"), 502,
            "the crawler answered 401: the token")
    code, said = run({"count": 23})
    same("the example is started", code, 200)
    t = said["payload"]["meta"]["fid"]
    check("... ends", wait_until(lambda: b.code(t) == 200, 30), b.show(t))
    same("... each document is there once, for all faults",
         [d["id"] for d in b.output(t)], list(range(1, 24)))
    c = said["payload"]["meta"]["links"][0]["from"]["fid"]
    same("... it is retried", b.ask(
        "POST", f"/actions/crawlers/{c}/task/{t}", {})[0], 200)
    check("... ends again", wait_until(lambda: b.code(t) == 200, 30))
    same("... and adds nothing", len(b.output(t)), 23)
    code, said = run({"count": 100, "pause": 0.2})
    t = said["payload"]["meta"]["fid"]
    wait_until(lambda: b.output(t))
    same("... it is stopped", b.ask("DELETE", f"/actions/tasks/{t}")[0], 200)

    def log():
        with open(b.log) as f:
            return f.read()
    check("... and obeys", wait_until(lambda: re.search(
        r"PATCH callback.*status=200", log())), log()[-300:])
    same("it ends in order", b.stop(), 0)


def main():
    command_line()
    peer = Crawler()
    b = Backend("backend")
    externals(b)
    crawlers(b, peer)
    answers_of_crawlers(b, peer)
    uploads(b, peer)
    statuses(b, peer)
    stops(b, peer)
    same("it ends in order", b.stop(), 0)
    limits(peer)
    silence(peer)
    faults(peer)
    demo()
    tls(peer)
    discard(peer)
    for language, command in example_crawlers():
        example(language, command)
    for name in sorted(glob.glob(f"{PLACE}/*.log")):
        with open(name, errors="replace") as f:
            check(f"no secret in {os.path.basename(name)}",
                  SECRET not in f.read())


main()
done()
