import os
import signal
import threading
import time

seen = {"alarm": 0, "child": 0}
signal.signal(signal.SIGALRM, lambda *_: seen.__setitem__("alarm", seen["alarm"] + 1))
signal.signal(signal.SIGCHLD, lambda *_: seen.__setitem__("child", seen["child"] + 1))
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
value = 1
while seen["alarm"] < 80:
    value = value * 1664525 + 1013904223 & 0xffffffff
signal.setitimer(signal.ITIMER_REAL, 0)
for status in range(10):
    child = os.fork()
    if child == 0:
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ")
print(seen["child"])
read, write = os.pipe()
threading.Timer(0.2, lambda: os.write(write, b"x")).start()
print(os.read(read, 1))
before = time.monotonic()
time.sleep(0.1)
print(time.monotonic() - before >= 0.1)
