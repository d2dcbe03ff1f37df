// Programs that make, change, load or look at code: their own text and memory map are what they were. x86-64 only.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "case.h"

using namespace no_harm;

namespace {

using Function = int (*)();
constexpr size_t kPage = 4096;

/// mov $value, %eax; ret
void write_function(unsigned char* at, int value) {
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

unsigned char* executable(size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    return static_cast<unsigned char*>(memory);
}

int called(const unsigned char* code) { return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(code))(); }

/// Written while it is not executable, executed while it is not writable.
void write_xor_execute() {
    unsigned char* code = executable(kPage, PROT_READ | PROT_WRITE);
    int version = 0;
    for (Span span; span.lasts(); ++version) {
        mprotect(code, kPage, PROT_READ | PROT_WRITE);
        for (int i = 0; i < 100; ++i) write_function(code + i * 16, version + i);
        mprotect(code, kPage, PROT_READ | PROT_EXEC);
        for (int round = 0; round < 20; ++round)
            for (int i = 0; i < 100; ++i)
                if (called(code + i * 16) != version + i) {
                    expect(false, "the newest version runs");
                    return;
                }
    }
}

void two_mappings() {
    int fd = must(memfd_create("code", 0), "memfd_create");
    must(ftruncate(fd, kPage), "ftruncate");
    auto* writing = static_cast<unsigned char*>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    auto* running = static_cast<unsigned char*>(mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0));
    if (writing == MAP_FAILED || running == MAP_FAILED) skip("no executable shared mapping here");
    long long wrong = 0;
    int version = 0;
    for (Span span; span.lasts(); ++version) {
        for (int i = 0; i < 100; ++i) write_function(writing + i * 16, version + i);
        for (int round = 0; round < 20; ++round)
            for (int i = 0; i < 100; ++i) wrong += called(running + i * 16) != version + i;
    }
    expect_equal("old versions that ran", wrong, 0);
}

/// Another thread writes the next version into the other half, and then points the worker at it.
void writing_thread() {
    unsigned char* code = executable(2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    std::atomic<int> version{-1};
    std::atomic<bool> done{false};
    std::atomic<long long> taken{-1}, wrong{0};
    write_function(code, 0);
    std::thread worker([&] {
        while (!done) {
            int current = version.load(std::memory_order_acquire);
            if (current < 0) continue;
            asm volatile("cpuid" : : "a"(0), "c"(0) : "ebx", "edx", "memory");  // serialises
            for (int i = 0; i < 200; ++i) wrong += called(code + (current % 2) * kPage) != current;
            taken.store(current, std::memory_order_release);
        }
    });
    int next = 0;
    for (Span span; span.lasts(); ++next) {
        write_function(code + (next % 2) * kPage, next);
        version.store(next, std::memory_order_release);
        busy(0.05);
        while (taken.load(std::memory_order_acquire) != next) sched_yield();
    }
    done = true;
    worker.join();
    expect_equal("old versions that ran", wrong, 0);
}

/// Changes the very loop it runs in.
void self_modifying() {
    unsigned char* code = executable(kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    long long wrong = 0;
    int version = 0;
    for (Span span; span.lasts();)
        for (int i = 0; i < 500; ++i, ++version) {
            write_function(code, version);
            asm volatile("" ::: "memory");
            wrong += called(code) != version;
        }
    expect_equal("old versions that ran", wrong, 0);
}

void moved_and_unmapped() {
    auto* place = executable(2 * kPage, PROT_NONE);
    long long wrong = 0;
    int version = 0;
    for (Span span; span.lasts(); ++version) {
        unsigned char* code = executable(kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
        write_function(code, version);
        wrong += called(code) != version;
        void* moved = mremap(code, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        if (moved == MAP_FAILED) fail("mremap");
        wrong += called(place) != version;
        // Taken back, and not unmapped: the next round's code must not come to lie there by itself.
        if (mmap(place, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) fail("mmap");
        busy(0.05);
    }
    expect_equal("wrong", wrong, 0);
}

// 20,000 functions of 32 bytes in the program's text, each adding its own number.
asm(R"(
    .pushsection .text.many_functions, "ax", @progbits
    .balign 64
many_functions:
    .set number, 0
    .rept 20000
    .balign 32
    leaq number(%rdi), %rax
    xorq $(number * 7), %rax
    ret
    .set number, number + 1
    .endr
    .popsection
)");
extern "C" const unsigned char many_functions[];

void twenty_thousand_functions() {
    for (Span span; span.lasts();) {
        uint64_t value = 1, expected = 1;
        for (uint64_t i = 0; i < 20000; ++i) {
            auto address = reinterpret_cast<uintptr_t>(many_functions + i * 32);
            auto function = reinterpret_cast<uint64_t (*)(uint64_t)>(address);
            value = function(value);
            expected = (expected + i) ^ (i * 7);
        }
        if (!expect(value == expected, "all functions ran")) return;
    }
}

void loaded_libraries() {
    long long rounds = 0;
    for (Span span; span.lasts(); ++rounds) {
        void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (!library) skip("no libm.so.6");
        auto cosine = reinterpret_cast<double (*)(double)>(dlsym(library, "cos"));
        if (!expect(cosine && cosine(0.0) == 1.0, "cos(0) is 1")) return;
        dlclose(library);
    }
    expect(rounds > 0, "loaded");
}

struct Text {
    const unsigned char* begin = nullptr;
    size_t size = 0;
    size_t file_offset = 0;
};

Text own_text() {
    Text text;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            if (info->dlpi_name && info->dlpi_name[0]) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i)
                if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X))
                    *static_cast<Text*>(out) = {
                        reinterpret_cast<const unsigned char*>(info->dlpi_addr) + info->dlpi_phdr[i].p_vaddr,
                        info->dlpi_phdr[i].p_filesz, info->dlpi_phdr[i].p_offset};
            return 1;
        },
        &text);
    return text;
}

void checks_its_text() {
    Text text = own_text();
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (!expect(text.size > 0 && bytes.size() >= text.file_offset + text.size, "text found")) return;
    for (Span span; span.lasts();) {
        const bool same = memcmp(text.begin, bytes.data() + text.file_offset, text.size) == 0;
        if (!expect(same, "text is as in the file")) return;
        busy(0.5);
    }
}

std::string contents(const char* path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Lines of the memory map, without the heap's, which grows as this program reads.
std::string memory_map() {
    std::istringstream all(contents("/proc/self/maps"));
    std::string kept, line;
    while (std::getline(all, line))
        if (line.find("[heap]") == std::string::npos) kept += line + "\n";
    return kept;
}

void checks_its_map() {
    memory_map();
    const std::string before = memory_map();
    for (Span span; span.lasts();) {
        busy(1);
        if (memory_map() != before) {
            expect(false, "the memory map is as it was");
            return;
        }
    }
}

/// No page of the program's text was written, that is, became private.
void text_stays_shared() {
    for (Span span; span.lasts();) {
        std::istringstream all(contents("/proc/self/smaps"));
        std::string line, perms;
        long long written = 0;
        while (std::getline(all, line)) {
            std::istringstream words(line);
            std::string first, second;
            words >> first >> second;
            if (first.find('-') != std::string::npos && second.size() == 4) perms = second;
            if (perms == "r-xp" && first == "Anonymous:") written += atoll(second.c_str());
        }
        if (!expect_equal("kB of text written", written, 0)) return;
        busy(1);
    }
}

}  // namespace

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"write_xor_execute", write_xor_execute},   {"two_mappings", two_mappings},
        {"writing_thread", writing_thread},         {"self_modifying", self_modifying},
        {"moved_and_unmapped", moved_and_unmapped}, {"twenty_thousand_functions", twenty_thousand_functions},
        {"loaded_libraries", loaded_libraries},     {"checks_its_text", checks_its_text},
        {"checks_its_map", checks_its_map},         {"text_stays_shared", text_stays_shared},
    };
    return run_named(cases, argc, argv);
}
