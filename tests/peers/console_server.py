"""A server for the console's tests, and the browser that drives it."""
import shutil

from console_site import Site
from peer import *

CLOSED = free_port()


class Browser:
    """NAME.js, with what it needs."""

    def __init__(self, name):
        self.script = f"{HERE}/{name}.js"
        # The headless shell draws no windows and needs half of the CPU.
        self.program = shutil.which("chromium-headless-shell") or \
            shutil.which("chromium")
        need(name, "node", "npm", self.program or "chromium")
        self.tools = node_with("console", "playwright-core@1.60.0",
                               "axe-core@4.10.3")
        if self.tools is None:
            skip(name, "Playwright or axe-core cannot be had from npm")
            done()
        self.shots = os.environ.get("CONSOLE_SHOTS")
        if self.shots:
            os.makedirs(self.shots, exist_ok=True)

    def drive(self, part, server, asked=None, **more):
        """Let the script do a part; it says its checks line by line."""
        child = subprocess.Popen(
            ["node", self.script, self.tools,
             self.program, server.url, part,
             json.dumps(dict(more, shots=self.shots or PLACE,
                             keep=bool(self.shots)))],
            env=dict(os.environ, HOME=PLACE), text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        children.append(child)
        for line in child.stdout:
            m = json.loads(line)
            if "note" in m:
                note(m["note"])
            elif "ask" in m:
                child.stdin.write(json.dumps(asked[m["ask"]]()) + "\n")
                child.stdin.flush()
            else:
                check(part + ": " + m["name"], m["fine"], m.get("why", ""))
        child.wait()
        check(part + " came to its end", child.returncode == 0,
              child.returncode)


class Server:
    def __init__(self, site, data, port=0, more=(), names=""):
        """names: further entries of fetch.resolve, each with a comma first."""
        self.site, self.data = site, os.path.join(PLACE, data)
        self.more, self.port, self.names = list(more), port, names
        self.start()

    def start(self):
        self.told = os.path.join(PLACE, "serve.out")
        out = open(self.told, "w")
        err = open(os.path.join(PLACE, "serve.err"), "a")
        self.child = start([
            program(), "serve", "--data", self.data,
            "--set", f"http.listen=127.0.0.1:{self.port}",
            "--set", "urlfrontier.listen=127.0.0.1:0",
            "--set", "fetch.allow_private=on", "--set", "fetch.backoff_ms=50",
            "--set", "fetch.resolve=site.test:80:127.0.0.1:%d,"
            "closed.test:80:127.0.0.1:%d%s" % (self.site.port, CLOSED,
                                               self.names)] + self.more,
            stdout=out, stderr=err)
        found = wait_until(self.where, 60)
        if not found:
            check("the server starts", False, open(err.name).read()[-500:])
            done()
        self.port = int(found.rsplit(":", 1)[1].strip("/\n"))
        self.url = f"http://127.0.0.1:{self.port}"

    def where(self, door="http"):
        for line in open(self.told):
            if line.startswith("argiope serves " + door):
                return line.split()[-1]
        return None

    def stop(self):
        end(self.child)

    def kill(self):
        self.child.kill()
        self.child.wait()
