"""A RabbitMQ broker of a script's own, on loopback, in a folder of its own.

The broker of the system is left alone.  What is started here is known by its
process id and ended by it.  A script without RabbitMQ is skipped.
"""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

from peer import PLACE, fixed_port, need, skip, start, wait_until

BIN = "/usr/lib/rabbitmq/bin/"
READY_SECONDS_MAX = 120
END_SECONDS_MAX = 30
# One scheduler that does not spin: scripts run side by side.
CALM = "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"

CONF = """loopback_users.guest = true
distribution.listener.interface = 127.0.0.1
"""
TLS = """listeners.ssl.1 = 127.0.0.1:{port}
ssl_options.cacertfile = {crt}
ssl_options.certfile = {crt}
ssl_options.keyfile = {key}
ssl_options.verify = verify_none
ssl_options.fail_if_no_peer_cert = false
"""


def need_rabbitmq(name):
    """pika, or the end of the script where it or the broker is missing."""
    need(name, "epmd", "erl", files=[BIN + "rabbitmq-server"])
    try:
        import pika
        return pika
    except ImportError:
        skip(name, "python3-pika is not installed")
        sys.exit(0)


class Rabbit:
    BIN = BIN

    def __init__(self, name="rabbit", tls=None):
        """`tls`: (certificate, key) for a second port, self.tls_port."""
        self.place = os.path.join(PLACE, name)
        os.makedirs(self.place + "/log")
        self.port, distribution, epmd = (fixed_port() for _ in range(3))
        self.tls_port = fixed_port() if tls else None
        conf = CONF
        if tls:
            conf += TLS.format(port=self.tls_port, crt=tls[0], key=tls[1])
        self.write("rabbitmq.conf", conf)
        self.write("plugins", "[].\n")
        self.env = {
            "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
            "HOME": self.place,
            "RABBITMQ_NODENAME": f"t{os.getpid()}-{name}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": self.place + "/mnesia",
            "RABBITMQ_LOG_BASE": self.place + "/log",
            "RABBITMQ_CONFIG_FILE": self.place + "/rabbitmq",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.place + "/plugins",
            "RABBITMQ_PID_FILE": self.place + "/pid",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": CALM,
            "RABBITMQ_CTL_ERL_ARGS": CALM,
            "ERL_MAX_PORTS": "4096",
            "ERL_EPMD_PORT": str(epmd), "ERL_EPMD_ADDRESS": "127.0.0.1"}
        # In the foreground, so that its process id is known.
        self.epmd = start(["epmd", "-port", str(epmd), "-address",
                           "127.0.0.1"], env=self.env)
        self.child = None
        atexit.register(self.end)
        self.start()

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as f:
            f.write(text)

    def start(self):
        out = open(self.place + "/out", "a")
        with out, open(self.place + "/out") as said:
            said.seek(0, os.SEEK_END)
            self.child = subprocess.Popen(
                [BIN + "rabbitmq-server"], env=self.env, stdout=out,
                stderr=out, stdin=subprocess.DEVNULL)
            # The port answers before rabbitmqctl may do anything; that may
            # wait for it, too, but is a second's work.
            told = ""

            def has_started():
                nonlocal told
                told += said.read()
                return "completed with " in told
            if not wait_until(lambda: self.answers() and self.pid() and
                              has_started(), READY_SECONDS_MAX):
                sys.exit("RabbitMQ does not start: " + told[-2000:])

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as s:
                s.settimeout(2)
                s.sendall(b"AMQP\0\0\x09\x01")
                return s.recv(1) == b"\x01"
        except OSError:
            return False

    def pid(self):
        """Of the broker itself; rabbitmq-server is a script around it."""
        try:
            with open(self.place + "/pid") as f:
                return int(f.read())
        except (OSError, ValueError):
            return None

    def signal(self, number):
        os.kill(self.pid(), number)

    def kill(self):
        """kill -9; start() on the same files comes next."""
        self.signal(signal.SIGKILL)
        self.child.wait(END_SECONDS_MAX)
        os.unlink(self.place + "/pid")

    def stop(self):
        if self.child is None or self.child.poll() is not None:
            return
        for number in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
            if self.pid() is not None:
                self.signal(number)
            try:
                self.child.wait(END_SECONDS_MAX if number != signal.SIGCONT
                                else 0)
                break
            except subprocess.TimeoutExpired:
                pass

    def end(self):
        self.stop()
        self.epmd.terminate()
        self.epmd.wait()
        shutil.rmtree(self.place, ignore_errors=True)

    def ctl(self, *words):
        """rabbitmqctl; its output."""
        done = subprocess.run([BIN + "rabbitmqctl", *words], env=self.env,
                              capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"rabbitmqctl {words}: {done.stdout}{done.stderr}")
        return done.stdout


class Relay:
    """Connections to a port, passed on; what comes back can be swallowed, so
    that a peer is heard and its answers are lost."""

    def __init__(self, port):
        self.to, self.muted, self.pairs = port, False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.to), 5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            self.pairs.append((near, far))
            for a, b, back in (near, far, False), (far, near, True):
                threading.Thread(target=self.pass_on, args=(a, b, back),
                                 daemon=True).start()

    def pass_on(self, a, b, back):
        try:
            while data := a.recv(65536):
                if not (back and self.muted):
                    b.sendall(data)
        except OSError:
            pass
        self.shut(a, b)

    def shut(self, *sockets):
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """All connections end; later ones are heard again."""
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            self.shut(*pair)
        self.muted = False
