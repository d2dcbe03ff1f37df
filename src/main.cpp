#include "cli/cli.h"

int main(int argc, char** argv) { return tmaprobe::cli::main(argc, argv); }
