// Threads and what they wait on: many that come and go, condition variables, robust and inheriting mutexes, forks.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include <barrier>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

void come_and_go() {
    std::atomic<long long> ran{0};
    long long started = 0;
    for (Span span; span.lasts();) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i, ++started)
            threads.emplace_back([&] {
                busy(0.02);
                ++ran;
            });
        for (std::thread& thread : threads) thread.join();
    }
    expect_equal("threads that ran", ran, started);
}

void detached() {
    static std::atomic<long long> alive, ran;
    long long started = 0;
    for (Span span; span.lasts(); ++started) {
        while (alive > 16) sched_yield();
        ++alive;
        std::thread([] {
            busy(0.05);
            ++ran;
            --alive;
        }).detach();
    }
    while (alive > 0) sched_yield();
    expect_equal("threads that ran", ran, started);
}

void condition_variables() {
    constexpr int kThreads = 4;
    std::mutex mutex;
    std::condition_variable turn_changed;
    int turn = 0;
    std::atomic<bool> done{false};
    long long turns[kThreads] = {};
    std::vector<std::thread> threads;
    for (int me = 0; me < kThreads; ++me)
        threads.emplace_back([&, me] {
            for (;;) {
                std::unique_lock lock(mutex);
                turn_changed.wait(lock, [&] { return turn == me || done; });
                if (done) return;
                ++turns[me];
                busy(0.05);
                turn = (turn + 1) % kThreads;
                turn_changed.notify_all();
            }
        });
    sleep_ms(work_ms());
    {
        std::lock_guard lock(mutex);
        done = true;
        turn_changed.notify_all();
    }
    for (std::thread& thread : threads) thread.join();
    for (int i = 1; i < kThreads; ++i) expect(turns[0] - turns[i] >= 0 && turns[0] - turns[i] <= 1, "fair turns");
}

/// Waits with a time limit: it is the limit that ends them, not something else.
void timed_waits() {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) busy(1);
    });
    int others = 0;
    for (Span span; span.lasts();) {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2'000'000;
        if (until.tv_nsec >= 1'000'000'000) until.tv_sec++, until.tv_nsec -= 1'000'000'000;
        pthread_mutex_lock(&mutex);
        if (pthread_cond_timedwait(&never, &mutex, &until) != ETIMEDOUT) ++others;
        pthread_mutex_unlock(&mutex);
    }
    done = true;
    worker.join();
    expect_equal("waits that ended otherwise", others, 0);
}

void barriers_and_locks() {
    constexpr int kThreads = 6;
    std::barrier together(kThreads);
    std::shared_mutex shared_lock;
    std::mutex lock;
    long long exclusive = 0, plain = 0;
    constexpr int kRounds = 300;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; ++round) {
                together.arrive_and_wait();
                {
                    std::lock_guard held(lock);
                    ++plain;
                }
                std::shared_lock reading(shared_lock);
                busy(work_ms() / (kRounds * 3.0));
                reading.unlock();
                std::unique_lock writing(shared_lock);
                ++exclusive;
            }
        });
    for (std::thread& thread : threads) thread.join();
    expect_equal("plain", plain, kThreads * kRounds);
    expect_equal("exclusive", exclusive, kThreads * kRounds);
}

struct Robust {
    pthread_mutex_t mutex;
    long long count;
};

Robust* robust_mutex() {
    auto* robust = shared<Robust>();
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust->mutex, &attributes);
    return robust;
}

/// A process dies with the lock held: the next one hears of it, each time, and never while the owner lives.
void robust_owner_dies() {
    Robust* robust = robust_mutex();
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        wait_for(child_of([&] {
            if (pthread_mutex_lock(&robust->mutex) != 0) return 1;
            ++robust->count;
            busy(8);
            raise(SIGKILL);
            return 0;
        }));
        if (!expect_equal("lock after the owner's death", pthread_mutex_lock(&robust->mutex), EOWNERDEAD)) return;
        pthread_mutex_consistent(&robust->mutex);
        pthread_mutex_unlock(&robust->mutex);
    }
    expect_equal("locked", robust->count, rounds);
}

/// The owner is alive and works: nobody may hear that it is dead, whatever becomes of copies of it.
void robust_owner_lives() {
    Robust* robust = robust_mutex();
    auto* stop = shared<std::atomic<bool>>();
    pid_t owner = child_of([&] {
        while (!*stop) {
            if (pthread_mutex_lock(&robust->mutex) != 0) return 1;
            long long before = ++robust->count;
            busy(5);
            if (robust->count != before) return 2;
            pthread_mutex_unlock(&robust->mutex);
        }
        return 0;
    });
    for (Span span; span.lasts();) {
        int result = pthread_mutex_lock(&robust->mutex);
        if (!expect_equal("lock", result, 0)) break;
        ++robust->count;
        busy(1);
        pthread_mutex_unlock(&robust->mutex);
    }
    *stop = true;
    expect_equal("owner's status", WEXITSTATUS(wait_for(owner)), 0);
}

void inheriting_mutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    constexpr int kRounds = 400;
    long long count = 0, failed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < kRounds; ++round) {
                if (pthread_mutex_lock(&mutex) != 0) ++failed;
                busy(work_ms() / (3.0 * kRounds));
                ++count;
                if (pthread_mutex_unlock(&mutex) != 0) ++failed;
            }
        });
    for (std::thread& thread : threads) thread.join();
    expect_equal("count", count, 3 * kRounds);
    expect_equal("failed", failed, 0);
}

/// The first thread ends; the others go on, and their exit is the process's.
void first_thread_ends() {
    std::thread([] {
        busy(work_ms());
        printf("the second thread ends the process\n");
        fflush(stdout);
        _exit(6);
    }).detach();
    pthread_exit(nullptr);
}

void exec_from_a_thread() {
    std::thread([] {
        busy(work_ms());
        execl("/bin/sh", "sh", "-c", "echo executed by a thread; exit 8", nullptr);
        fail("execl");
    }).join();
}

std::atomic<int> prepared, in_parent;

/// The handlers of pthread_atfork run for the program's own forks only.
void fork_handlers() {
    pthread_atfork([] { ++prepared; }, [] { ++in_parent; }, nullptr);
    std::atomic<bool> done{false};
    std::thread worker([&] {
        while (!done) busy(1);
    });
    int forks = 0;
    for (Span span; span.lasts(); ++forks) {
        busy(3);
        int status = wait_for(child_of([] { return computed_right(2000) ? 0 : 1; }));
        if (!expect_equal("status", status, 0)) break;
    }
    done = true;
    worker.join();
    expect_equal("prepared", prepared, forks);
    expect_equal("in the parent", in_parent, forks);
}

thread_local struct Destroyed {
    std::atomic<long long>* count = nullptr;
    ~Destroyed() {
        if (count) ++*count;
    }
} destroyed;

void thread_local_destructors() {
    std::atomic<long long> count{0};
    long long started = 0;
    for (Span span; span.lasts(); ++started)
        std::thread([&] {
            destroyed.count = &count;
            busy(0.3);
        }).join();
    expect_equal("destructors", count, started);
}

void cancelled() {
    int pipe_ends[2];
    must(pipe(pipe_ends), "pipe");
    static std::atomic<long long> cleaned;
    long long started = 0;
    for (Span span; span.lasts(); ++started) {
        pthread_t thread;
        pthread_create(
            &thread, nullptr,
            [](void* fd) -> void* {
                pthread_cleanup_push([](void*) { ++cleaned; }, nullptr);
                char byte;
                if (read(*static_cast<int*>(fd), &byte, 1) != 1) return reinterpret_cast<void*>(1);
                pthread_cleanup_pop(0);
                return nullptr;
            },
            &pipe_ends[0]);
        busy(1);
        pthread_cancel(thread);
        void* result = nullptr;
        pthread_join(thread, &result);
        if (!expect(result == PTHREAD_CANCELED, "the thread was cancelled")) return;
    }
    expect_equal("cleaned", cleaned, started);
}

void spinning_flags() {
    std::atomic<int> turn{0};
    constexpr int kRounds = 2000;
    std::thread other([&] {
        for (int i = 0; i < kRounds; ++i) {
            while (turn != 1) sched_yield();
            turn = 0;
        }
    });
    for (int i = 0; i < kRounds; ++i) {
        busy(work_ms() / (1.0 * kRounds));
        turn = 1;
        while (turn != 0) sched_yield();
    }
    other.join();
}

/// Raw futexes: a wait ends by a wake or by a changed value, and by nothing else.
void futexes() {
    static std::atomic<uint32_t> word;
    auto call = [](int operation, uint32_t value) {
        return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
    };
    std::atomic<long long> unexpected{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i)
        waiters.emplace_back([&] {
            while (!done) {
                uint32_t before = word;
                if (call(FUTEX_WAIT, before) != 0 && errno != EAGAIN) ++unexpected;
            }
        });
    for (Span span; span.lasts();) {
        busy(0.5);
        ++word;
        call(FUTEX_WAKE, INT32_MAX);
    }
    done = true;
    for (std::thread& waiter : waiters) {
        ++word;
        call(FUTEX_WAKE, INT32_MAX);
        sched_yield();
        ++word;
        call(FUTEX_WAKE, INT32_MAX);
        waiter.join();
    }
    expect_equal("unexpected ends of a wait", unexpected, 0);
}

/// The asymmetric Dekker lock: correct only if membarrier reaches every running thread.
void memory_barriers() {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0)
        skip("no expedited membarrier in this kernel");
    static std::atomic<int> fast, slow;
    static long long guarded;
    std::atomic<bool> done{false};
    std::atomic<long long> entered{0};
    std::thread reader([&] {
        while (!done) {
            fast.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);
            if (slow.load(std::memory_order_relaxed) == 0) {
                ++guarded;
                ++entered;
            }
            fast.store(0, std::memory_order_release);
        }
    });
    long long mine = 0;
    for (Span span; span.lasts();) {
        busy(0.2);
        slow.store(1, std::memory_order_relaxed);
        must(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), "membarrier");
        while (fast.load(std::memory_order_acquire) != 0) sched_yield();
        ++guarded;
        ++mine;
        slow.store(0, std::memory_order_release);
    }
    done = true;
    reader.join();
    expect_equal("guarded", guarded, entered + mine);
}

void a_hundred() {
    std::atomic<long long> count{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 100; ++i)
        threads.emplace_back([&count, i] {
            for (int round = 0; round < 20; ++round) {
                if (i % 2 == 0)
                    sleep_ms(work_ms() / 40.0);
                else
                    busy(work_ms() / 1000.0);
                ++count;
            }
        });
    for (std::thread& thread : threads) thread.join();
    expect_equal("rounds", count, 2000);
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"come_and_go", come_and_go},
        {"detached", detached},
        {"condition_variables", condition_variables},
        {"timed_waits", timed_waits},
        {"barriers_and_locks", barriers_and_locks},
        {"robust_owner_dies", robust_owner_dies},
        {"robust_owner_lives", robust_owner_lives},
        {"inheriting_mutex", inheriting_mutex},
        {"first_thread_ends", first_thread_ends},
        {"exec_from_a_thread", exec_from_a_thread},
        {"fork_handlers", fork_handlers},
        {"thread_local_destructors", thread_local_destructors},
        {"cancelled", cancelled},
        {"spinning_flags", spinning_flags},
        {"futexes", futexes},
        {"memory_barriers", memory_barriers},
        {"a_hundred", a_hundred},
    };
    return run_named(cases, argc, argv);
}
