#!/usr/bin/env python3
"""A minimal external crawler: crawler.py PORT.  A task uploads `params.count` numbered documents and reports that it is done.

Try it against the simulated back end:

    argiope external simulate-backend &
    python3 crawler.py 4444 &
    curl -d '{"external":{"endpoint":"http://127.0.0.1:4444","docIdField":"id"},"config":{"params":{"count":20}}}' \
        http://127.0.0.1:3333/run

With TOKEN in the environment each request needs `Authorization: Bearer TOKEN`; the external object's `headers` send it.
"""
import http.client, http.server, json, os, sys, threading, time, urllib.error, urllib.parse, urllib.request

BATCH, FIRST_PAUSE, TRIES = 5, 0.2, 8
RETRIED = {408, 409, 425, 429}
running = {}                     # fid -> an event that stops the task


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


def call(endpoint, path, body, content_type, key):
    """POST until the back end accepts it.  None: it knows the task no more, or refuses for good."""
    url = urllib.parse.urlsplit(endpoint)        # The path is appended, the query stays.
    url = urllib.parse.urlunsplit(url._replace(path=url.path.rstrip("/") + path))
    for attempt in range(TRIES):
        pause = FIRST_PAUSE * 2 ** attempt
        request = urllib.request.Request(url, body.encode(), {"Content-Type": content_type, "Idempotency-Key": key})
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as e:
            if e.code == 406 and path == "/upload":
                return e.read()              # The lines that it names are refused, the others are accepted.
            if e.code < 500 and e.code not in RETRIED:
                return None
            pause = float(e.headers.get("Retry-After", pause))
        except (OSError, http.client.HTTPException):
            pass                             # No answer, or part of one: the key keeps a repetition harmless.
        time.sleep(pause)
    return None


def status(task, code, message, key):
    body = json.dumps({"code": code, "message": message, "detail": None})
    return call(task["endpoint"], "/status", body, "application/json", f"{task['fid']}:{key}")


def run(task, stop):
    count = int(task.get("params", {}).get("count", 10))
    for first in range(0, count, BATCH):
        documents = [{"id": i + 1, "text": f"Document {i + 1}"} for i in range(first, min(first + BATCH, count))]
        lines = "\n".join(map(json.dumps, documents))    # No line feed after the last.
        if stop.is_set() or call(task["endpoint"], "/upload", lines, "application/x-ndjson; charset=utf-8",
                                 f"{task['fid']}:{task['attempt']}.{first}") is None:
            return
        status(task, 102, f"{first + len(documents)} documents", f"s{task['attempt']}.{first}")
        time.sleep(float(task.get("params", {}).get("pause", 0)))
    if not stop.is_set():
        status(task, 200, f"{count} documents", f"s{task['attempt']}.end")


class Crawler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        task = self.read()
        if task is None or not self.path.startswith("/task?"):
            return task and self.answer(404, {"success": False, "messages": ["there is no such call"]})
        stop = running[task["fid"]] = threading.Event()
        task["attempt"] = time.time_ns()     # A retry of the task uses keys of its own.
        threading.Thread(target=run, args=(task, stop), daemon=True).start()
        self.answer(200, {"success": True, "version": 0, "payload": {
            "callback": "/task/" + task["fid"], "status": {"code": 0, "message": "New"}}})

    def do_PATCH(self):
        change = self.read()
        stop = running.get(urllib.parse.urlsplit(self.path).path.split("/")[2]) if change else None
        if change and stop is None:
            self.answer(404, {"success": False, "messages": ["there is no such task"]})
        elif change:
            if change["code"] >= 200:
                stop.set()
            self.answer(200, {"success": True, "version": 0, "payload": {"status": change}})

    def read(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if os.environ.get("TOKEN") and self.headers.get("Authorization") != "Bearer " + os.environ["TOKEN"]:
            return self.answer(401, {"success": False, "messages": ["the token is missing or wrong"]})
        return json.loads(body)

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, text, *args):
        print(f"{self.command} {text % args}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Crawler).serve_forever()
