"""What the scripts of the items door share: a daemon with a configuration, and
questions to it.  With ITEMS_PG, the folder of a PostgreSQL server's socket, its
items stand there.
"""
import http.client

from serve import *

JSON = "application/json"
LINES = "application/x-ndjson"
CONFIG = {
    "tags": {"page": ["a:fetch", "a:norm"], "check": ["b:check"],
             "words": ["demo:words"]},
    "tasks": {
        "a:fetch": {"version": "1", "remote": True, "retries": 1},
        "a:norm": {"version": "1", "remote": True, "dependsOn": ["a:fetch"]},
        "b:check": {"version": "1", "remote": True, "retries": 0},
        "demo:words": {"version": "1", "remote": True, "lease": "60s"},
    },
}


def database(name):
    """The setting of a new database of that name, or none."""
    place = os.environ.get("ITEMS_PG")
    if not place:
        return []
    subprocess.run([os.environ["ITEMS_PG_BIN"] + "/createdb", "-h", place,
                    "-U", "argiope", name], check=True)
    return [f"store.url=postgresql://argiope@/{name}?host={place}"]


class Items(Serve):
    """A daemon with a configuration of its own."""

    def __init__(self, name, settings=(), config=CONFIG, data=None,
                 store=None, token=None):
        """`config`: JSON, the text of a module, which has several lines, or
        the path of a file.  `store`: the settings of one that others have,
        too."""
        self.config, text = config, isinstance(config, str)
        if not text or "\n" in config:
            self.config = os.path.join(PLACE,
                                       name + (".js" if text else ".json"))
            with open(self.config, "w") as f:
                f.write(config if text else json.dumps(config))
        self.token, self.watcher = token, None
        store = database(name) if store is None else store
        super().__init__(name, ["urlfrontier.listen=",
                                "items.config=" + self.config, *store,
                                *settings], data)
        if not wait_until(lambda: self.ask("GET", "/items-config")[1][
                "generation"], 60):
            raise OSError(f"{name} has no configuration: {self.said()}")

    @property
    def store(self):
        """Options for commands on the same store."""
        return [x for setting in self.settings
                if setting.startswith("store.url=")
                for x in ("--set", setting)]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http_port}"

    def ask(self, method, path, body=None, type=JSON, token=None, **fields):
        """(status, what its JSON says)"""
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        if body is not None:
            fields["Content-Type"] = type
        if token or self.token:
            fields["Authorization"] = "Bearer " + (token or self.token)
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port,
                                                timeout=90)
        connection.request(method, path, body, fields)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.type = answer.getheader("Content-Type", "")
        if self.type.startswith(JSON) and text:
            return answer.status, json.loads(text)
        return answer.status, text

    def waiting(self):
        """(claims that wait, clients that follow events); `watcher` is a token
        that may ask, where one is needed."""
        text = self.ask("GET", "/metrics", token=self.watcher)[1].decode()
        return tuple(int(re.search(rf"^argiope_items_door_{name} (\d+)$",
                                   text, re.M)[1])
                     for name in ("claims", "event_readers"))

    def claim(self, task, **more):
        return self.ask("POST", "/worker/claim", {
            "worker": "test", "tasks": [task], **more})[1]["leases"]

    def complete(self, lease, outcome="success", **more):
        return self.ask("POST", "/worker/complete", {"completions": [
            {"lease": lease, "outcome": outcome, **more}]})[1]["results"][0]
