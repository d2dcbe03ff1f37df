#pragma once

#include <string>
#include <vector>

namespace tmaprobe::cli {

// What --help says, as values: the help, the man page and the completions of shells are made of the same.

struct HelpOption {
    std::vector<std::string> names;  ///< "-l", "--level"; an argument has one name, as in the usage line
    std::string value;               ///< "N"; empty: it takes none
    std::string text;
    std::vector<std::string> words;  ///< that the value may be; empty: any
    bool is_argument = false;
};

struct HelpGroup {
    std::string title;
    std::vector<HelpOption> options;
};

/// One to be copied: a real command line, and what it does.
struct HelpExample {
    std::string command, what;
};

struct HelpPage {
    std::string name;  ///< "tmaprobe sweep"
    std::string description, usage;
    std::vector<HelpExample> examples;
    std::vector<HelpGroup> groups;
    std::vector<std::string> notes;  ///< paragraphs, such as the exit status
    std::vector<HelpPage> commands;  ///< those that nobody named have a name and a description only
};

/// For a terminal of so many columns.
std::string help_text(const HelpPage& page, int columns);

/// For man(1), section 1, of the program with all its commands.
std::string man_page(const HelpPage& program, const std::string& version);

/// "bash", "zsh" or "fish"; empty for other words.
std::string completion(const HelpPage& program, const std::string& shell);

}  // namespace tmaprobe::cli
