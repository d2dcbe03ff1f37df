#!/usr/bin/env python3
"""Servers that run already are looked at while clients ask them: each answer is right, and the server goes on.

    more_services_test.py --build build/test
"""

import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
import running

SECONDS = 1
BODY = bytes(range(256)) * 200
NODE = """
const body = Buffer.alloc(51200);
for (let i = 0; i < body.length; ++i) body[i] = i & 255;
const server = require('http').createServer((request, response) => {
    let sum = 0;
    for (let i = 0; i < 20000; ++i) sum = (sum * 31 + i) | 0;
    response.end(body);
});
server.listen(Number(process.argv[2]), '127.0.0.1');
"""
NGINX = """
daemon off; pid nginx.pid; error_log error.log;
events {{ }}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Clients:
    """Threads that ask for one file again and again, and count the answers and those that were wrong."""

    def __init__(self, port):
        self.port, self.done, self.right, self.wrong = port, False, 0, []
        self.threads = [threading.Thread(target=self.ask) for _ in range(3)]

    def ask(self):
        while not self.done:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                connection.request("GET", "/body")
                answer = connection.getresponse()
                if answer.status == 200 and answer.read() == BODY:
                    self.right += 1
                else:
                    self.wrong.append(f"status {answer.status}")
                connection.close()
            except OSError as error:
                self.wrong.append(str(error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done = True
        for thread in self.threads:
            thread.join()


class Servers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.port = free_port()
        pathlib.Path(self.folder.name, "body").write_bytes(BODY)

    @contextlib.contextmanager
    def server(self, command, needs):
        if not shutil.which(needs):
            self.skipTest(f"{needs} is not installed")
        process = subprocess.Popen(command, cwd=self.folder.name, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            harness.end_all()

    def wait_for_the_port(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.fail("the server does not start")

    def looked_at(self, process):
        ran = running.measured("--pid", str(process.pid), "--seconds", str(SECONDS))
        if "may not trace" in " ".join(ran.said().split()):
            self.skipTest("this user may not trace what is not its child")
        self.assertEqual(ran.status, 0, ran.said())
        self.assertIsNone(process.poll(), "the server ended")
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            self.assertIn("TracerPid:\t0\n", status.read())
        print(f"\n{self.id().rpartition('.')[2]}: {ran.windows()} windows", file=sys.stderr)
        return ran

    def check(self, command, needs):
        with self.server(command, needs) as process:
            self.wait_for_the_port()
            before = len(harness.descendants(process.pid))
            with Clients(self.port) as clients:
                self.looked_at(process)
            self.assertEqual(clients.wrong, [])
            self.assertGreater(clients.right, 0)
            self.assertEqual(len(harness.descendants(process.pid)), before, "a copy is left behind")

    def test_node(self):
        pathlib.Path(self.folder.name, "server.js").write_text(NODE)
        self.check(["node", "server.js", str(self.port)], "node")

    def test_python(self):
        self.check(["python3", "-m", "http.server", "--bind", "127.0.0.1", str(self.port)], "python3")

    def test_nginx(self):
        pathlib.Path(self.folder.name, "nginx.conf").write_text(NGINX.format(port=self.port, folder=self.folder.name))
        os.chmod(self.folder.name, 0o755)
        self.check(["nginx", "-p", self.folder.name, "-c", "nginx.conf"], "nginx")

    def test_postgres(self):
        for program in ("initdb", "postgres", "pgbench", "createdb", "setpriv"):
            if not self.postgres(program):
                self.skipTest(f"{program} is not installed")
        if os.getuid() != 0:
            self.skipTest("root is needed to start it as another user")
        os.chmod(self.folder.name, 0o777)
        data = f"{self.folder.name}/data"
        address = ["-h", self.folder.name, "-p", str(self.port), "-U", "tester"]

        def run(*words):
            subprocess.run(self.as_nobody(*words), check=True, cwd=self.folder.name, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=120)

        run("initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync")
        server = self.as_nobody("postgres", "-D", data, "-k", self.folder.name, "-c", "listen_addresses=127.0.0.1",
                                "-p", str(self.port), "-c", "fsync=off")
        with self.server(server, "setpriv") as process:
            self.wait_for_the_port()
            run("createdb", *address, "bench")
            run("pgbench", *address, "-q", "-i", "bench")
            load = subprocess.Popen(self.as_nobody("pgbench", *address, "-c", "3", "-T", str(3 * SECONDS), "bench"),
                                    cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertGreater(self.looked_at(process).windows(), 0, "none of its processes could be copied")
            out, err = load.communicate(timeout=120)
            self.assertEqual(load.returncode, 0, out + err)
            if "failed transactions" in out:  # from PostgreSQL 15 on
                self.assertIn("number of failed transactions: 0", out)
            run("psql", *address, "-c", "select count(*) from pgbench_history", "bench")

    @staticmethod
    def postgres(program):
        folders = sorted(map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
        return shutil.which(program, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))

    def as_nobody(self, program, *words):
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.postgres(program), *words]


if __name__ == "__main__":
    running.main(__doc__, reaper=False)
