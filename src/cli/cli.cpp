#include "cli/cli.h"

namespace tmaprobe::cli {

int main(int, char**) { return 0; }

}  // namespace tmaprobe::cli
