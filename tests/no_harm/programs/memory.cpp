// Memory with properties of its own: shared, locked, wiped or missing in a fork, near a limit; and what is inherited.
#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

constexpr size_t kPage = 4096;

char* pages(size_t count) {
    void* memory = mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return static_cast<char*>(memory);
}

/// Two processes add to shared counts, one with and one without atomics on its own word.
void shared_counts() {
    struct Counts {
        std::atomic<uint64_t> both;
        uint64_t own[2];
    };
    auto* counts = shared<Counts>();
    auto adding = [=](int me) {
        uint64_t made = 0;
        for (Span span; span.lasts();)
            for (int i = 0; i < 100; ++i, ++made) {
                ++counts->both;
                ++counts->own[me];
            }
        return counts->own[me] == made ? 0 : 1;
    };
    pid_t child = child_of([=] { return adding(1); });
    expect_equal("own", adding(0), 0);
    expect_equal("status of the other", WEXITSTATUS(wait_for(child)), 0);
    expect_equal("both", static_cast<long long>(counts->both - counts->own[0] - counts->own[1]), 0);
}

/// How many are attached to a segment is seen by everybody, and the last one that leaves destroys it.
void attached_segments() {
    int id = must(shmget(IPC_PRIVATE, 65536, 0600), "shmget");
    auto* memory = static_cast<char*>(shmat(id, nullptr, 0));
    long long most = 0;
    for (Span span; span.lasts();) {
        busy(0.5);
        memory[0]++;
        shmid_ds now{};
        must(shmctl(id, IPC_STAT, &now), "shmctl");
        most = std::max<long long>(most, static_cast<long long>(now.shm_nattch));
    }
    expect_equal("attached", most, 1);
    must(shmctl(id, IPC_RMID, nullptr), "shmctl");
    shmdt(memory);
    shmid_ds gone{};
    expect(shmctl(id, IPC_STAT, &gone) == -1, "the segment is gone with the last one attached");
}

/// A linker writes a program through its memory, and the next command executes it.
void programs_that_were_just_written() {
    const int source = must(open("/bin/true", O_RDONLY), "open");
    const auto bytes = static_cast<size_t>(must(lseek(source, 0, SEEK_END), "lseek"));
    long long busy_files = 0;
    for (Span span; span.lasts();) {
        unlink("written");  // as linkers do: it may be executed still
        const pid_t linker = child_of([&] {
            const int file = must(open("written", O_RDWR | O_CREAT | O_TRUNC, 0755), "open");
            must(ftruncate(file, static_cast<off_t>(bytes)), "ftruncate");
            void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            must(pread(source, memory, bytes, 0) == static_cast<ssize_t>(bytes) ? 0 : -1, "pread");
            busy(3);
            return 0;
        });
        if (!expect_equal("status of who wrote it", WEXITSTATUS(wait_for(linker)), 0)) break;
        const pid_t user = child_of([] {
            execl("./written", "written", nullptr);
            return errno == ETXTBSY ? 3 : 4;
        });
        const int status = WEXITSTATUS(wait_for(user));
        busy_files += status == 3;
        if (!expect(status == 0 || status == 3, "what was written is executed")) break;
    }
    expect_equal("programs that could not be executed because they were open", busy_files, 0);
    unlink("written");
}

/// What a process took of a semaphore is given back when it ends, and not before.
void undone_semaphores() {
    int id = must(semget(IPC_PRIVATE, 1, 0600), "semget");
    semctl(id, 0, SETVAL, 10);
    sembuf take{0, -3, SEM_UNDO};
    pid_t child = child_of([&] {
        must(semop(id, &take, 1), "semop");
        busy(work_ms());
        return semctl(id, 0, GETVAL) == 7 ? 0 : 1;
    });
    while (semctl(id, 0, GETVAL) != 7) sched_yield();
    for (Span span(work_ms() * 0.7); span.lasts(); busy(1))
        if (!expect_equal("value", semctl(id, 0, GETVAL), 7)) break;
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
    expect_equal("given back", semctl(id, 0, GETVAL), 10);
    semctl(id, 0, IPC_RMID);
}

void shared_semaphore() {
    auto* semaphore = shared<sem_t>();
    auto* taken = shared<std::atomic<long long>>();
    sem_init(semaphore, 1, 0);
    pid_t child = child_of([=] {
        for (;;) {
            if (sem_wait(semaphore) != 0) return 1;
            if (++*taken < 0) return 0;
        }
    });
    long long posted = 0;
    for (Span span; span.lasts(); ++posted) {
        busy(0.2);
        sem_post(semaphore);
    }
    while (*taken < posted) sched_yield();
    sleep_ms(20);
    expect_equal("taken", *taken, posted);
    *taken = -100;
    sem_post(semaphore);
    expect_equal("status", WEXITSTATUS(wait_for(child)), 0);
}

void missing_in_a_fork() {
    char* memory = pages(64);
    must(madvise(memory, 64 * kPage, MADV_DONTFORK), "madvise");
    memset(memory, 7, 64 * kPage);
    for (Span span; span.lasts(); busy(1))
        for (size_t i = 0; i < 64; ++i)
            if (memory[i * kPage] != 7) {
                expect(false, "the original keeps its memory");
                return;
            }
}

void wiped_in_a_fork() {
    char* memory = pages(64);
    must(madvise(memory, 64 * kPage, MADV_WIPEONFORK), "madvise");
    memset(memory, 7, 64 * kPage);
    for (Span span; span.lasts(); busy(1))
        for (size_t i = 0; i < 64; ++i)
            if (memory[i * kPage] != 7) {
                expect(false, "the original keeps its memory");
                return;
            }
}

std::string status_line(const char* name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(name, 0) == 0) return line;
    return "";
}

/// Locked memory stays locked and in place.
void locked() {
    constexpr size_t kPages = 1024;
    char* memory = pages(kPages);
    if (mlock(memory, kPages * kPage) != 0) skip("memory cannot be locked here");
    const std::string before = status_line("VmLck");
    for (Span span; span.lasts();) {
        for (size_t i = 0; i < kPages; i += 64) memory[i * kPage]++;
        busy(1);
        unsigned char resident[kPages];
        must(mincore(memory, kPages * kPage, resident), "mincore");
        if (!expect_equal("resident", std::count(resident, resident + kPages, 1), kPages)) return;
        if (!expect(status_line("VmLck") == before, "as much is locked as before")) return;
    }
}

void all_locked() {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) skip("memory cannot be locked here");
    for (Span span; span.lasts();) {
        char* memory = pages(256);
        busy(2);
        unsigned char resident[256];
        must(mincore(memory, 256 * kPage, resident), "mincore");
        if (!expect_equal("resident", std::count(resident, resident + 256, 1), 256)) return;
        munmap(memory, 256 * kPage);
    }
}

/// Writes all its memory again and again, as much as $NO_HARM_MEGABYTES says: a cgroup's limit is near.
void near_its_limit() {
    const char* said = getenv("NO_HARM_MEGABYTES");
    size_t count = static_cast<size_t>(said ? atoi(said) : 40) * 256;
    char* memory = pages(count);
    uint64_t rounds = 0;
    for (Span span; span.lasts(); ++rounds)
        for (size_t i = 0; i < count; ++i) {
            if (rounds > 0 && memory[i * kPage] != static_cast<char>(rounds)) {
                expect(false, "memory holds what was written");
                return;
            }
            memory[i * kPage] = static_cast<char>(rounds + 1);
        }
}

void address_space_limit() {
    auto room = [] {
        int count = 0;
        std::vector<void*> blocks;
        for (;; ++count) {
            void* block = mmap(nullptr, 16 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (block == MAP_FAILED) break;
            blocks.push_back(block);
        }
        for (void* block : blocks) munmap(block, 16 << 20);
        return count;
    };
    rlimit limit{1 << 30, 1 << 30};
    must(setrlimit(RLIMIT_AS, &limit), "setrlimit");
    const int before = room();
    for (Span span; span.lasts();) {
        busy(5);
        if (!expect_equal("blocks", room(), before)) return;
    }
}

volatile sig_atomic_t warned;

/// SIGXCPU comes after a second of processor time, and the process goes on until the hard limit.
void processor_limit() {
    handle(SIGXCPU, [](int, siginfo_t*, void*) { warned = warned + 1; });
    rlimit limit{1, 5};
    must(setrlimit(RLIMIT_CPU, &limit), "setrlimit");
    while (!warned) busy(5);
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    // The limit is checked on ticks of the clock, which are only about as exact as this.
    expect(used.tv_sec >= 1 || used.tv_nsec > 500'000'000, "not long before one second");
    expect_equal("warnings", warned, 1);
}

void file_size_limit() {
    handle(SIGXFSZ, [](int, siginfo_t*, void*) { warned = warned + 1; });
    rlimit limit{4096, 4096};
    must(setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
    int fd = must(open("limited", O_CREAT | O_RDWR, 0600), "open");
    long long tried = 0;
    for (Span span; span.lasts(); ++tried) {
        busy(1);
        if (!expect(pwrite(fd, "x", 1, 4096) == -1 && errno == EFBIG, "too large")) return;
    }
    expect_equal("warnings", warned, tried);
}

/// How many processes a user may have: it can make them all, while it works itself.
void process_limit() {
    if (geteuid() != 0) skip("only root can become a user of its own");
    const uid_t user = 50000 + static_cast<uid_t>(getpid()) % 10000;
    rlimit limit{12, 12};
    must(setrlimit(RLIMIT_NPROC, &limit), "setrlimit");
    must(setresuid(user, user, user), "setresuid");
    for (Span span; span.lasts();) {
        busy(20);
        std::vector<pid_t> children;
        for (;;) {
            fflush(stdout);
            pid_t child = fork();
            if (child < 0) break;
            if (child == 0) {
                pause();
                _exit(0);
            }
            children.push_back(child);
        }
        for (pid_t child : children) kill(child, SIGKILL);
        for (pid_t child : children) wait_for(child);
        if (!expect_equal("children", static_cast<long long>(children.size()), 11)) return;
    }
}

/// All descriptors that it may have are in use, again and again.
void open_files_limit() {
    rlimit limit{32, 32};
    must(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
    std::vector<int> fds;
    auto fill = [&] {
        for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) fds.push_back(fd);
    };
    fill();
    const size_t before = fds.size();
    for (Span span; span.lasts();) {
        busy(3);
        for (int fd : fds) close(fd);
        fds.clear();
        fill();
        if (!expect_equal("descriptors", static_cast<long long>(fds.size()), static_cast<long long>(before))) return;
    }
}

/// What a program inherits: nothing is added, blocked, ignored or changed.
void inherited() {
    busy(work_ms() / 4.0);
    for (const char* name :
         {"SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd", "Umask", "NoNewPrivs", "Seccomp:", "THP_enabled", "Uid",
          "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Cpus_allowed_list", "Threads"})
        printf("%s\n", status_line(name).c_str());
    std::vector<std::string> names;
    DIR* folder = opendir("/proc/self/fd");
    while (dirent* entry = readdir(folder))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder)) names.push_back(entry->d_name);
    closedir(folder);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
        printf("descriptor %s, flags %o\n", name.c_str(), fcntl(atoi(name.c_str()), F_GETFL));
    for (int limit = 0; limit < 16; ++limit) {
        rlimit now{};
        if (getrlimit(static_cast<__rlimit_resource_t>(limit), &now) == 0)
            printf("limit %d: %llu %llu\n", limit, static_cast<unsigned long long>(now.rlim_cur),
                   static_cast<unsigned long long>(now.rlim_max));
    }
    int death_signal = -1, reaper = -1;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    printf("death signal %d, subreaper %d, dumpable %d, timer slack %d, securebits %d\n", death_signal, reaper,
           prctl(PR_GET_DUMPABLE), prctl(PR_GET_TIMERSLACK), prctl(PR_GET_SECUREBITS));
    printf("personality %x, nice %d, policy %d\n", static_cast<unsigned>(personality(0xffffffff)),
           getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    for (const char* file :
         {"/proc/self/oom_score_adj", "/proc/self/cgroup", "/proc/self/coredump_filter", "/proc/self/uid_map"}) {
        std::ifstream in(file);
        std::string text((std::istreambuf_iterator<char>(in)), {});
        printf("%s: %s", file, text.c_str());
    }
    std::vector<std::string> variables;
    for (char** each = environ; *each; ++each) variables.push_back(*each);
    std::sort(variables.begin(), variables.end());
    for (const std::string& each : variables)
        if (each.rfind("PWD=", 0) != 0) printf("%s\n", each.c_str());
}

/// Aborts where a core file is wanted: there is one, and it is this process's.
void core_file() {
    rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &all) != 0) skip("core files cannot be asked for here");
    pid_t child = child_of([] {
        busy(work_ms());
        abort();
        return 0;
    });
    int status = wait_for(child);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "died of SIGABRT");
    printf("core file written: %s\n", WCOREDUMP(status) ? "yes" : "no");
}

void without_address_randomisation() {
    if (getenv("NO_HARM_ROUND")) {
        busy(work_ms());
        printf("personality %x\n", static_cast<unsigned>(personality(0xffffffff)));
        return;
    }
    setenv("NO_HARM_ROUND", "1", 1);
    must(personality(ADDR_NO_RANDOMIZE), "personality");
    execl("/proc/self/exe", "memory", "without_address_randomisation", nullptr);
    fail("execl");
}

/// The processor time that a process has used is its own: no less than it worked, and hardly more.
void own_time() {
    timespec cpu_before{}, cpu_after{};
    for (Span span; span.lasts();) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_before);
        double before = seconds_now();
        busy(40);
        double passed = seconds_now() - before;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_after);
        double used = static_cast<double>(cpu_after.tv_sec - cpu_before.tv_sec) +
                      static_cast<double>(cpu_after.tv_nsec - cpu_before.tv_nsec) * 1e-9;
        if (!expect(used <= passed + 0.002, "one thread uses no more processor time than passes")) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"shared_counts", shared_counts},
        {"attached_segments", attached_segments},
        {"undone_semaphores", undone_semaphores},
        {"shared_semaphore", shared_semaphore},
        {"missing_in_a_fork", missing_in_a_fork},
        {"wiped_in_a_fork", wiped_in_a_fork},
        {"locked", locked},
        {"all_locked", all_locked},
        {"near_its_limit", near_its_limit},
        {"address_space_limit", address_space_limit},
        {"processor_limit", processor_limit},
        {"file_size_limit", file_size_limit},
        {"process_limit", process_limit},
        {"open_files_limit", open_files_limit},
        {"programs_that_were_just_written", programs_that_were_just_written},
        {"inherited", inherited},
        {"core_file", core_file},
        {"without_address_randomisation", without_address_randomisation},
        {"own_time", own_time},
    };
    return run_named(cases, argc, argv);
}
