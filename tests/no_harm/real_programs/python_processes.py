import multiprocessing
import os


def work(seed):
    value = seed
    for _ in range(80_000):
        value = value * 1664525 + 1013904223 & 0xffffffff
    return value


if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print(pool.map(work, range(24)))
    counter = multiprocessing.Value("q", 0)

    def count():
        for _ in range(2000):
            with counter.get_lock():
                counter.value += 1

    workers = [multiprocessing.Process(target=count) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(counter.value, [worker.exitcode for worker in workers])
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        print("no child is left")
