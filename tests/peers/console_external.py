"""The console's views of connectors and of tasks of back ends, in a real
browser: a form of every type, a check, runs by hand, and tasks of a back end
that are stopped, retried, given up and delivered again.

CONSOLE_SHOTS=FOLDER keeps the screenshots.
"""
from console_server import *
from external_door_peer import *
from external_peer import PAGE

HOSTILE = "<img src=x onerror=alert(1)>"
FILE = os.path.join(PLACE, "downloaded.ndjson")
DATA = os.path.join(PLACE, "data")

browser = Browser("console_external")
api, safe, back = Api(), Api("things.example.org"), Back()


def by_type(ui, title, **more):
    return dict(more, **{"title": title, "x-ui": ui})


def by_choices(ui, title, url):
    return by_type(ui, title, **{"x-choices": {
        "url": url, "items": "/items", "value": "/id", "label": "/name"}})


PARAMETERS = {"type": "object", "required": ["kind"], "properties": {
    "kind": by_type("string", "Kind", description="A word of the address."),
    "most": by_type("integer", "Most", minimum=1, maximum=1000),
    "since": by_type("date", "From", **{"x-restrictions": [
        {"rule": "lt", "target": "until", "message": "Must be earlier"}]}),
    "until": by_type("date", "Until"),
    "order": by_type("list", "Order", default="up", oneOf=[
        {"const": "up", "title": "Upwards"},
        {"const": "down", "title": HOSTILE}]),
    "parts": by_type("multi_bool", "Parts", enum=["texts", "pictures"]),
    "words": by_type("multi_search", "Words"),
    "place": by_type("location", "Place"),
    "pass": by_type("password", "Pass phrase"),
    "deep": by_type("bool", "Deep", default=True),
    "board": by_choices("list", "Board", api.base + "/boards?like={query}")}}
# Board's choices need the first parameter.
BOARDS = {"type": "object", "required": ["kind"], "properties": {
    "kind": by_type("string", "Kind"),
    "board": by_choices("list", "Board", safe.base +
                        "/{kind}/boards?like={query}"),
    "tags": by_choices("multi_search", "Tags", safe.base +
                       "/tags?like={query}")}}
place = connectors(
    "connectors", api.connector(parameters=PARAMETERS, description=
                                "Things by number, " + HOSTILE),
    safe.connector("secret", title="Secret things", credential="basic", api={
        "url": safe.base + "/{kind}?most={most}", "label": "things",
        "items": "/items", "id": "/id", "auth": {"kind": "basic"},
        "next": {"cursor": "/next", "parameter": "after"}}),
    safe.connector("boards", title="Boards", credential="basic",
                   parameters=BOARDS, api={
                       "url": safe.base + "/{kind}?board={board}&tags={tags}",
                       "label": "things", "items": "/items", "id": "/id",
                       "auth": {"kind": "basic"}}),
    safe.connector("signed", title="Things of people", credential="oauth",
                   oauth={"kind": "oauth2", "authorize": "https://a.example/auth",
                          "token": "https://a.example/token"},
                   parameters={"type": "object", "properties": {
                       "board": by_choices("list", "Board",
                                           "https://a.example/boards")}},
                   api={"url": "https://a.example/x?board={board}",
                        "label": "things", "items": "/items", "id": "/id",
                        "auth": {"kind": "bearer"}}))
tokens = {name: token(DATA, name, scope) for name, scope in (
    ("acme", "external:write"), ("operator", "*:write"),
    ("looker", "external:read,console:read,realtime:read"),
    ("crawler", "realtime:write,console:read"))}
backends = put("backends.json", [{"name": "acme", "token": "acme", "prefix":
                                  back.base + "/tasks/"}])
os.chmod(backends, 0o600)
server = Server(Site(), "data", names="," + safe.settings[3].split("=", 1)[1],
                more=[w for s in ("external.connectors=" + place,
                                  "external.backends_file=" + backends,
                                  "external.retry_s_max=12",
                                  safe.settings[1]) for w in ("--set", s)])


def begin(fid, **more):
    c = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    c.request("POST", "/external/things/task", json.dumps({
        "fid": fid, "endpoint": back.endpoint(fid),
        "params": {"kind": "a", **more}}), {
            "Authorization": "Bearer " + tokens["acme"]})
    answer = c.getresponse()
    said = answer.read().decode()
    c.close()
    return {"status": answer.status, "said": said}


def slow():
    api.delay_s = 1
    return True


def start_slow():
    api.delay_s = 2
    return begin("t:1")


def hold():
    """Longer than anybody waits: the request is cut."""
    api.delay_s = 600
    return True


def go_fast():
    api.delay_s = 0
    return True


def break_one():
    api.items[2] = {"id": 3, "name": 7}
    return begin("broken")


def mend():
    api.items[2] = api.item(3)
    return True


def refuse(fid):
    back.reply = lambda call, number: (503, {}, None)
    return begin(fid)


def accept():
    back.reply = None
    return True


def spoil():
    """One document breaks a rule, and pages come slowly."""
    api.items[2] = {"id": 3, "name": 7}
    api.delay_s = 1
    return True


def answer_choices_late():
    safe.delay_s = 2
    safe.items[0] = {"id": 1, "name": HOSTILE + " e 1"}
    return True


def have_many_choices():
    safe.delay_s, safe.page = 0, 2000
    safe.items = [safe.item(i) for i in range(1, 1002)]
    return True


def have_no_choices():
    safe.items = []
    return True


def have_few_choices():
    safe.page = PAGE
    safe.items = [safe.item(i) for i in range(1, 46)]
    return True


safe.password = "canary-pass"
browser.drive("external", server, file=FILE, token=tokens["operator"],
              asked={
                  "spoil": spoil, "mend": mend, "fast": go_fast,
                  "slow": slow, "hold": hold,
                  "late choices": answer_choices_late,
                  "many choices": have_many_choices,
                  "no choices": have_no_choices,
                  "few choices": have_few_choices,
                  "slow task": start_slow, "broken task": break_one,
                  "secret task": lambda: begin("kept", **{"pass": "canary"}),
                  "refused": lambda: refuse("r1"),
                  "refused too": lambda: refuse("r2"), "accept": accept})
with open(FILE, encoding="utf-8") as f:
    lines = f.read().splitlines()
same("the download has the documents as the source gave them",
     [json.loads(line) for line in lines],
     [api.item(i) for i in range(1, 46) if i != 3])
check("numbers keep their digits", str(10 ** 30 + 1) in lines[0], lines[0])
same("redelivered: every document", back.ids("r1"), list(range(1, 46)))
browser.drive("rights", server, looker=tokens["looker"],
              crawler=tokens["crawler"])
with open(os.path.join(PLACE, "serve.err")) as f:
    check("no secret in the log", "canary" not in f.read())
server.stop()
done()
