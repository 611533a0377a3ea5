"""The examples of docs/realtime.md, unchanged but for address and site."""
from realtime_peer import *

begin("realtime_examples")
PAGES = 4
WSCAT = {"wscat": "6.1.0"}


def examples():
    """{language: text} of the door's page."""
    with open(os.path.join(SOURCE, "docs", "realtime.md")) as f:
        return dict(re.findall(r"```(\w+)\n(.*?)```", f.read(), re.S))


def told(name, output, site, sizes=True):
    """Does it name every page, with its status and the length of its body?"""
    for i in range(PAGES):
        url = site + (f"{i}.html" if i else "")
        size = rf"\D+{len(bodies[i])}\b" if sizes else ""
        check(f"{name}: {url}", re.search(
            rf"\b200\b.*{re.escape(url)}['\"]?{size}" if sizes else
            re.escape(f'"{url}"'), output), output[-600:])


def javascript(text, site):
    flags = next((f for f in ([], ["--experimental-websocket"])
                  if run("node", *f, "-e", "new WebSocket('ws://[::1]:1')."
                         "onerror = () => {}")[0] == 0), None)
    if flags is None:
        skip("javascript", "there is no node with WebSocket")
        return
    with open("example.mjs", "w") as f:
        f.write(text)
    code, out, err = run("node", *flags, "example.mjs", seconds=40)
    same("javascript: it ends by itself", code, 0)
    told("javascript", out + err, site)


def python(text, site):
    with open("example.py", "w") as f:
        f.write(text)
    code, out, err = run(sys.executable, "example.py", seconds=40)
    same("python: it ends by itself", code, 0)
    told("python", out + err, site)


def command_line(text, site):
    modules = node_with("wscat", *[f"{k}@{v}" for k, v in WSCAT.items()])
    if modules is None:
        skip("wscat", "npm has no wscat for us")
        return
    env = dict(os.environ)
    env["PATH"] = f"{modules}/node_modules/.bin:{env['PATH']}"
    # It leaves when its input ends, which a terminal's does not.
    reads, _ = os.pipe()
    done_ = subprocess.run(["sh", "-e", "-c", text], stdin=reads, env=env,
                           capture_output=True, text=True, timeout=60)
    same("wscat: it ends by itself", done_.returncode, 0)
    told("wscat", done_.stdout + done_.stderr, site, sizes=False)


web = Web()
bodies = []
for number in range(PAGES):
    bodies.append(html(*[f"/{k}.html" for k in range(1, PAGES)],
                       title=str(number), text="w" * number * 100))
    web.put("www.example.org", f"/{number}.html" if number else "/",
            ok(bodies[-1]))
server = Server("examples", hosts={"www.example.org": web.port})
# The pace of the default policy would take a while.
server.client().good("policy.put", name="default", policy={
    **server.client().good("policy.get", name="default")["policy"],
    "rate_limit": 0.2})
for language, example in examples().items():
    example = example.replace("127.0.0.1:8001", f"127.0.0.1:{server.port}")
    try:
        {"js": javascript, "python": python, "sh": command_line}[language](
            example, "http://www.example.org/")
    except KeyError as e:
        check(f"an example in {e} is run", False)
same("there are three", len(examples()), 3)
same("SIGTERM ends the daemon", server.stop(), 0)
done()
