#pragma once

namespace tmaprobe::cli {

/// The whole program: reads the command line, runs one command, returns the exit status.
int main(int argc, char** argv);

}  // namespace tmaprobe::cli
