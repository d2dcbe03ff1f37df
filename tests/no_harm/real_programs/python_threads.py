import queue
import subprocess
import threading


def work(seed):
    value, kept = seed, {}
    for i in range(60_000):
        value = value * 1664525 + 1013904223 & 0xffffffff
        kept[value % 1000] = i
    return value ^ len(kept)


tasks, results = queue.Queue(), {}
for i in range(12):
    tasks.put(i)


def worker():
    while True:
        try:
            i = tasks.get_nowait()
        except queue.Empty:
            return
        results[i] = work(i)


threads = [threading.Thread(target=worker) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print([results[i] for i in range(12)])
print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True, check=False))
