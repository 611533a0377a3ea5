"""Many hosts with a pause each, over plain HTTP and over TLS: what `polite` asks
of connections.

nginx serves chains of pages for any name below polite.test at one address; its
log tells which connection a request came on, whether its TLS session was
resumed, and when.  nginx counts whole milliseconds.

Hosts with the same pause keep step for ever: all that were found at once ask at
once, their pages become durable together, and all connections are needed at the
same time.  So each host has a pause of its own, by the Crawl-delay of its
robots.txt, up to a tenth of a second longer: h0123 1.023 s.  After a few of them
the requests are spread evenly.
"""
import collections
import os
import shutil
import time

import bench

NAME = "polite.test"
LINKS = 400                          # pages of a chain, at most one a second
TEXT = "A host with a pause is asked for one page, and then for nothing. "


def nginx():
    return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")


def write_pages(folder, size):
    """The chain that all hosts have; each writes its own name into it."""
    os.makedirs(os.path.join(folder, "chain"))
    for i in range(LINKS):
        with open(os.path.join(folder, "chain", str(i)), "w") as f:
            f.write(f"<!DOCTYPE html>\n<title>Page {i} of "
                    '<!--#echo var="host" --></title>\n'
                    f'<a href="/chain/{i + 1}">{i + 1}</a>\n'
                    f"<p>{TEXT * (size // len(TEXT))}</p>\n")


class Server:
    """One nginx with three ports."""
    LISTENS = {"plain": "", "tls": " ssl", "closing": " ssl"}

    def __init__(self, folder, size):
        self.folder = folder
        self.pem, key = bench.certificate(folder, f"DNS:*.{NAME}")
        write_pages(os.path.join(folder, "pages"), size)
        self.ports = dict(zip(self.LISTENS, bench.free_ports(
            len(self.LISTENS))))
        path = os.path.join(folder, "nginx.conf")
        with open(path, "w") as f:
            f.write(self.configuration(key))
        self.child = bench.start([nginx(), "-e", f"{folder}/errors", "-p",
                                  folder, "-c", path])
        for port in self.ports.values():
            bench.wait_for_port(port)

    def configuration(self, key):
        temporary = "".join(
            f"{name}_temp_path {self.folder}/tmp;\n" for name in
            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        servers = "".join(
            f"server {{ listen 127.0.0.1:{port}{self.LISTENS[name]} "
            f"backlog=4096; access_log {self.folder}/{name} requests; "
            + ("keepalive_timeout 500ms; " if name == "closing" else "") +
            'location = /robots.txt { default_type text/plain; '
            'return 200 "User-agent: *\\nCrawl-delay: $pause\\n"; }\n'
            "}\n" for name, port in self.ports.items())
        user = "user root;" if os.getuid() == 0 else ""
        return f"""daemon off; worker_processes 1; {user}
worker_rlimit_nofile 16384;
pid {self.folder}/pid; error_log {self.folder}/errors warn;
events {{ worker_connections 8192; }}
http {{
map $host $pause {{ default 1; ~^h\\d*(?<part>\\d\\d)\\. 1.0$part; }}
default_type text/html; ssi on; root {self.folder}/pages;
{temporary}
keepalive_timeout 60; keepalive_requests 100000000;
ssl_certificate {self.pem}; ssl_certificate_key {key};
log_format requests '$msec $request_time $connection $ssl_session_reused '
    '$host $request_uri';
{servers}
}}
"""

    def end(self):
        bench.end(self.child)


class Seen:
    """What the server has seen of one run; times in seconds."""

    def __init__(self, path):
        self.reused = {}             # by connection: "r", "." or ""
        self.ended = []              # each request's
        self.hosts = collections.defaultdict(list)
        with open(path) as f:
            for line in f:
                end, took, connection, reused, host, _ = line.rstrip(
                    "\n").split(" ", 5)
                self.reused[connection] = reused
                self.ended.append(float(end))
                self.hosts[host].append((float(end) - float(took),
                                         float(end)))

    def handshakes(self, word):
        return sum(reused == word for reused in self.reused.values())

    def breaches(self):
        """Pauses that were too short, by more than what two times lack that
        are cut to a millisecond.  That after robots.txt counts, too."""
        found = 0
        for host, times in self.hosts.items():
            least = 1 + int(host.split(".")[0][-2:]) / 1000
            times.sort()
            gaps = [b[0] - a[1] for a, b in zip(times, times[1:])]
            found += sum(gap < least - 0.00101 for gap in gaps)
        return found

    def between(self, begin, end):
        return sum(begin <= t < end for t in self.ended)


class SecondHalf:
    """Processor time of the program in the second half of its run: all hosts
    are known then, and have been asked before."""

    def __init__(self, seconds):
        self.seconds, self.cpu = seconds, []

    def __call__(self, pid):
        for part in (0.5, 0.45):
            time.sleep(self.seconds * part)
            self.cpu.append((time.time(), bench.family_cpu(pid)))

    def per_request(self, seen):
        """In microseconds."""
        (begin, before), (end, after) = self.cpu
        return (after - before) * 1e6 / max(1, seen.between(begin, end))


def crawl(o, server, name, connections):
    """One run at that port."""
    out, port = bench.fresh("polite-run"), server.ports[name]
    seeds, log = os.path.join(out, "seeds"), os.path.join(server.folder, name)
    scheme = "http" if name == "plain" else "https"
    with open(seeds, "w") as f:
        f.write("".join(f"{scheme}://h{i:04}.{NAME}:{port}/chain/0\n"
                        for i in range(o.tls_hosts)))
    # nginx appends: the file is emptied between two runs.
    os.truncate(log, 0)
    settings = {"fetch.address_delay_ms": 0,
                "fetch.address_connections_max": 4096,
                "fetch.connections_max": connections,
                "fetch.ca_file": server.pem,
                "fetch.resolve": f"*:*:127.0.0.1:{port}"}
    command = [bench.program(), "crawl", "--quiet", "--data", f"{out}/data",
               "--warc-dir", f"{out}/warc", "--seeds", seeds, "--delay", "1s",
               "--allow-private", "--max-time", f"{o.tls_seconds}s"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    half = SecondHalf(o.tls_seconds)
    figures = bench.measure(command, o.tls_seconds + 30, log=os.path.join(
        bench.work_folder(), "polite.log"), beside=half)
    shutil.rmtree(out, ignore_errors=True)
    seen = Seen(log)
    figures["us"] = half.per_request(seen)
    bench.note_raw(o, {"who": "polite_tls", "run": name, "connections":
                       connections, "requests": len(seen.ended), **figures})
    return figures, seen


def section(o):
    """Whether all went well, and the lines of the report."""
    if nginx() is None or shutil.which("openssl") is None:
        return True, "There is no nginx, or no openssl, for the runs over TLS."
    folder = bench.fresh("polite-tls")
    server = Server(folder, o.size)
    few = max(1, o.tls_hosts // (4 * len(bench.CPUS)))
    runs = [("plain HTTP", "plain", 4096), ("TLS", "tls", 4096),
            ("TLS, closed by the server after 0.5 s", "closing", 4096),
            ("TLS, connections for a quarter of the hosts", "tls", few)]
    rows, breaches, failed = [], 0, 0
    for text, name, connections in runs:
        figures, seen = crawl(o, server, name, connections)
        early = seen.breaches()
        breaches += early
        failed += figures["code"] != 0 or len(seen.hosts) != o.tls_hosts
        rows.append((text, f"{len(seen.ended):,}", f"{figures['us']:.0f}",
                     "{:.0f}".format(figures["cpu"] * 1e6 /
                                     max(1, len(seen.ended))),
                     f"{len(seen.reused):,}", f"{seen.handshakes('.'):,}",
                     f"{seen.handshakes('r'):,}", f"{early:,}",
                     f"{figures['rss_kb'] / 1024:.1f}"))
    server.end()
    shutil.rmtree(folder, ignore_errors=True)
    head = ["", "requests", "CPU µs per request, second half", "whole run",
            "connections accepted", "full handshakes", "resumed", "breaches",
            "peak MB"]
    lines = [bench.judge("breaches of these runs", breaches, 0,
                         form="{:.0f}")]
    if failed:
        lines.append("- a run failed, or left out hosts: MISSED")
    return not breaches and not failed, "\n\n".join([
        f"{o.tls_hosts:,} names at one address of nginx, each with a pause of "
        f"its own from 1 to 1.099 s; {o.tls_seconds} s a run:",
        bench.table(head, rows), "\n".join(lines)])
