// Faults that a program handles itself: guard pages, userfaultfd, truncated maps, stacks, exceptions, contexts.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

constexpr size_t kPage = 4096;

char* pages(size_t count, int protection = PROT_READ | PROT_WRITE) {
    void* memory = mmap(nullptr, count * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return static_cast<char*>(memory);
}

volatile sig_atomic_t faults;

/// The write barrier of a garbage collector: pages are protected, and opened by the handler of the first write.
void write_barrier() {
    constexpr size_t kPages = 64;
    static char* heap;
    heap = pages(kPages);
    handle(SIGSEGV, [](int, siginfo_t* info, void*) {
        auto address = reinterpret_cast<uintptr_t>(info->si_addr) & ~(kPage - 1);
        const auto begin = reinterpret_cast<uintptr_t>(heap);
        if (address < begin || address >= begin + kPages * kPage) _exit(99);
        faults = faults + 1;
        mprotect(reinterpret_cast<void*>(address), kPage, PROT_READ | PROT_WRITE);
    });
    long long rounds = 0, sum = 0;
    for (Span span; span.lasts(); ++rounds) {
        mprotect(heap, kPages * kPage, PROT_READ);
        for (size_t i = 0; i < kPages; ++i)
            for (int again = 0; again < 3; ++again) heap[i * kPage + static_cast<size_t>(again)]++;
        busy(0.3);
    }
    for (size_t i = 0; i < kPages; ++i) sum += static_cast<unsigned char>(heap[i * kPage]);
    expect_equal("faults", faults, rounds * static_cast<long long>(kPages));
    expect_equal("sum", sum, (rounds % 256) * static_cast<long long>(kPages));
}

sigjmp_buf back;

void null_pointers() {
    handle(SIGSEGV, [](int, siginfo_t*, void*) { siglongjmp(back, 1); });
    volatile long long recovered = 0;
    volatile long long tried = 0;
    for (Span span; span.lasts();) {
        tried = tried + 1;
        if (sigsetjmp(back, 1) == 0) {
            busy(0.1);
            volatile uintptr_t nowhere = 8;
            *reinterpret_cast<volatile int*>(nowhere) = 1;
        } else {
            recovered = recovered + 1;
        }
    }
    expect_equal("recovered", recovered, tried);
}

void truncated_file() {
    handle(SIGBUS, [](int, siginfo_t*, void*) { siglongjmp(back, 1); });
    int fd = must(open("truncated", O_CREAT | O_RDWR, 0600), "open");
    volatile long long recovered = 0, tried = 0;
    for (Span span; span.lasts();) {
        must(ftruncate(fd, 2 * kPage), "ftruncate");
        auto* map = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        map[kPage] = 1;
        must(ftruncate(fd, kPage), "ftruncate");
        tried = tried + 1;
        busy(0.3);
        if (sigsetjmp(back, 1) == 0)
            map[kPage] = 2;
        else
            recovered = recovered + 1;
        munmap(map, 2 * kPage);
    }
    expect_equal("recovered", recovered, tried);
}

[[gnu::noinline]] int deep(int level) {
    volatile char space[512];
    space[0] = static_cast<char>(level);
    return level < 0 ? 0 : deep(level + 1) + space[0];
}

void stack_overflow() {
    static char memory[1 << 16];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    handle(SIGSEGV, [](int, siginfo_t*, void*) { siglongjmp(back, 1); }, SA_ONSTACK);
    std::thread([&] {
        volatile long long recovered = 0, tried = 0;
        sigaltstack(&stack, nullptr);
        for (Span span; span.lasts();) {
            tried = tried + 1;
            if (sigsetjmp(back, 1) == 0)
                deep(0);
            else
                recovered = recovered + 1;
        }
        expect_equal("recovered", recovered, tried);
    }).join();
}

/// User faults on pages that a thread of the program fills: each page has what the thread put there.
int user_faults(uint64_t features, bool* supported) {
    int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    uffdio_api api{UFFD_API, features, 0};
    *supported = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
    return fd;
}

void filled_by_a_thread(uint64_t features) {
    bool supported = false;
    int fd = user_faults(features, &supported);
    if (!supported) skip("no userfaultfd with these features here");
    constexpr size_t kPages = 256;
    char* area = pages(kPages);
    uffdio_register registered{};
    registered.range = {reinterpret_cast<uint64_t>(area), kPages * kPage};
    registered.mode = UFFDIO_REGISTER_MODE_MISSING;
    must(ioctl(fd, UFFDIO_REGISTER, &registered), "UFFDIO_REGISTER");
    std::atomic<long long> filled{0}, other_events{0};
    std::atomic<bool> done{false};
    std::thread server([&] {
        alignas(kPage) static char source[kPage];
        while (!done) {
            pollfd ready{fd, POLLIN, 0};
            if (poll(&ready, 1, 20) <= 0) continue;
            uffd_msg message;
            if (read(fd, &message, sizeof message) != sizeof message) continue;
            if (message.event != UFFD_EVENT_PAGEFAULT) {
                if (message.event != UFFD_EVENT_REMOVE) ++other_events;
                continue;
            }
            uint64_t page = message.arg.pagefault.address & ~(kPage - 1);
            memset(source, static_cast<int>((page / kPage) % 251 + 1), kPage);
            uffdio_copy copy{page, reinterpret_cast<uint64_t>(source), kPage, 0, 0};
            if (ioctl(fd, UFFDIO_COPY, &copy) == 0) ++filled;
        }
    });
    long long wrong = 0, touched = 0;
    for (Span span; span.lasts();) {
        for (size_t i = 0; i < kPages; ++i) {
            auto page = reinterpret_cast<uintptr_t>(area + i * kPage);
            if (static_cast<unsigned char>(area[i * kPage + 17]) != (page / kPage) % 251 + 1) ++wrong;
            ++touched;
            if (i % 16 == 0) busy(0.5);
        }
        must(madvise(area, kPages * kPage, MADV_DONTNEED), "madvise");
    }
    done = true;
    server.join();
    expect_equal("wrong pages", wrong, 0);
    expect_equal("filled", filled, touched);
    expect_equal("events of forks that nobody made", other_events, 0);
}

void user_fault_pages() { filled_by_a_thread(0); }

/// With fork events asked for, a fork of this process is seen here, and waits until it is.
void user_fault_fork_events() { filled_by_a_thread(UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMOVE); }

void write_protected_tracking() {
    bool supported = false;
    int fd = user_faults(UFFD_FEATURE_PAGEFAULT_FLAG_WP, &supported);
    if (!supported) skip("no userfaultfd write protection here");
    constexpr size_t kPages = 64;
    char* area = pages(kPages);
    memset(area, 1, kPages * kPage);
    uffdio_register registered{};
    registered.range = {reinterpret_cast<uint64_t>(area), kPages * kPage};
    registered.mode = UFFDIO_REGISTER_MODE_WP;
    if (ioctl(fd, UFFDIO_REGISTER, &registered) != 0) skip("no write protection of anonymous memory");
    std::atomic<long long> writes{0};
    std::atomic<bool> done{false};
    std::thread server([&] {
        while (!done) {
            pollfd ready{fd, POLLIN, 0};
            if (poll(&ready, 1, 20) <= 0) continue;
            uffd_msg message;
            if (read(fd, &message, sizeof message) != sizeof message) continue;
            ++writes;
            uffdio_writeprotect open{{message.arg.pagefault.address & ~(kPage - 1), kPage}, 0};
            ioctl(fd, UFFDIO_WRITEPROTECT, &open);
        }
    });
    long long written = 0;
    for (Span span; span.lasts();) {
        uffdio_writeprotect close{{reinterpret_cast<uint64_t>(area), kPages * kPage}, UFFDIO_WRITEPROTECT_MODE_WP};
        must(ioctl(fd, UFFDIO_WRITEPROTECT, &close), "UFFDIO_WRITEPROTECT");
        for (size_t i = 0; i < kPages; i += 2, ++written) area[i * kPage]++;
        busy(1);
    }
    done = true;
    server.join();
    expect_equal("writes seen", writes, written);
}

struct Counted {
    int* count;
    ~Counted() { ++*count; }
};

[[gnu::noinline]] void throw_at(int depth, int* unwound) {
    Counted here{unwound};
    if (depth == 0) throw std::runtime_error("from the depth");
    throw_at(depth - 1, unwound);
    asm volatile("" ::: "memory");
}

void deep_exceptions() {
    auto throwing = [] {
        for (Span span; span.lasts();) {
            int unwound = 0;
            bool caught = false;
            try {
                throw_at(500, &unwound);
            } catch (const std::runtime_error& error) {
                caught = std::string(error.what()) == "from the depth";
            }
            if (!expect(caught, "caught") || !expect_equal("unwound", unwound, 501)) return;
        }
    };
    std::thread other(throwing);
    throwing();
    other.join();
}

ucontext_t contexts[3];
long long switches[2];

void coroutine(int me) {
    for (;;) {
        ++switches[me];
        busy(0.02);
        swapcontext(&contexts[me], &contexts[2]);
    }
}

void context_switches() {
    static char stacks[2][1 << 16];
    for (int i = 0; i < 2; ++i) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(&contexts[i], reinterpret_cast<void (*)()>(coroutine), 1, i);
    }
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds)
        for (int i = 0; i < 2; ++i) swapcontext(&contexts[2], &contexts[i]);
    expect_equal("first", switches[0], rounds);
    expect_equal("second", switches[1], rounds);
}

jmp_buf jump;

[[gnu::noinline]] void leap(int depth) {
    if (depth == 0) longjmp(jump, 5);
    if (depth > 0) leap(depth - 1);
    asm volatile("" ::: "memory");
}

void long_jumps() {
    volatile long long landed = 0;
    for (Span span; span.lasts();) {
        int from = setjmp(jump);
        if (from == 0) leap(200);
        if (!expect_equal("from", from, 5)) return;
        landed = landed + 1;
    }
    expect(landed > 0, "landed");
}

#ifdef __x86_64__
/// A handler that changes the registers of what was interrupted.
void rewritten_registers() {
    handle(SIGSEGV, [](int, siginfo_t*, void* context) {
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        registers[REG_RAX] = registers[REG_RBX] + 1;
        registers[REG_RIP] += 3;  // the length of the load
        faults = faults + 1;
    });
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        busy(0.1);
        long result = 0;
        asm volatile("mov $8, %%eax\n .byte 0x48, 0x8b, 0x00\n"  // mov (%rax), %rax
                     : "=a"(result)
                     : "b"(rounds));
        if (!expect_equal("result", result, rounds + 1)) return;
    }
    expect_equal("faults", faults, rounds);
}

void divided_by_zero() {
    handle(SIGFPE, [](int, siginfo_t* info, void* context) {
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
        registers[REG_RCX] = info->si_code == FPE_INTDIV ? 1 : 2;
        faults = faults + 1;
    });
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        busy(0.1);
        long quotient = 100, divisor = 0, remainder = 0;
        asm volatile("idiv %%rcx" : "+a"(quotient), "+c"(divisor), "+d"(remainder));
        if (!expect_equal("quotient", quotient, 100)) return;
    }
    expect_equal("faults", faults, rounds);
}
#endif

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"write_barrier", write_barrier},
        {"null_pointers", null_pointers},
        {"truncated_file", truncated_file},
        {"stack_overflow", stack_overflow},
        {"user_fault_pages", user_fault_pages},
        {"user_fault_fork_events", user_fault_fork_events},
        {"write_protected_tracking", write_protected_tracking},
        {"deep_exceptions", deep_exceptions},
        {"context_switches", context_switches},
        {"long_jumps", long_jumps},
#ifdef __x86_64__
        {"rewritten_registers", rewritten_registers},
        {"divided_by_zero", divided_by_zero},
#endif
    };
    return run_named(cases, argc, argv);
}
