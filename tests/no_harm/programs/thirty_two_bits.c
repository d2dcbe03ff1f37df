// A 32-bit program without a library, so that it can be built where there is none: computes, makes a child, and exits.
// gcc -m32 -nostdlib -static -fno-pie -no-pie -fno-stack-protector -O1

static int call(int number, int first, int second, int third) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

enum { EXIT = 1, FORK = 2, WRITE = 4, WAITPID = 7 };

static unsigned computed(unsigned rounds) {
    unsigned value = 1;
    for (unsigned i = 0; i < rounds; ++i) {
        value = value * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static void print(const char* text) {
    int length = 0;
    while (text[length]) ++length;
    call(WRITE, 1, (int)text, length);
}

static void print_number(unsigned value) {
    char text[12];
    int at = 11;
    text[at] = 0;
    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    print(text + at);
    print("\n");
}

void _start(void) {
    print_number(computed(150000000u));
    int child = call(FORK, 0, 0, 0);
    if (child == 0) {
        print_number(computed(100000000u));
        call(EXIT, 9, 0, 0);
    }
    int status = 0;
    if (call(WAITPID, child, (int)&status, 0) != child) print("waitpid failed\n");
    print_number((unsigned)status >> 8);
    call(EXIT, 32, 0, 0);
}
