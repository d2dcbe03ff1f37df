/* Takes itself away while it runs: gone [OTHER], which then stands in its place. */
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
    volatile long sum = 1;
    if (count > 1 ? rename(words[1], words[0]) : unlink(words[0])) return 1;
    for (long i = 0; i < 400000000; ++i) sum = sum * 3 + i;
    printf("%d\n", sum != 0);
}
