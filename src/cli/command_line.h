#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/help.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace tmaprobe::cli {

// What may stand on the command line, over CLI11, whose templates take longer to compile than all else in this room:
// only command_line.cpp includes them. Handles are copied freely; what they stand for belongs to the Application.

/// Whether a command of tmaprobe measures what the user names after it, as the program without a command does.
inline bool measures_command(std::string_view command) {
    return command == "where" || command == "what-if" || command == "gate";
}

/// Whether it takes an argument of its own before that, so that the user's words have to stand behind "--".
inline bool needs_dashes(std::string_view command) { return command == "gate"; }

/// Refuses a value that is not as it should be, and says why.
class Check {
  public:
    explicit Check(const CLI::Validator& validator);
    const CLI::Validator& validator() const { return *validator_; }

  private:
    std::shared_ptr<const CLI::Validator> validator_;
};

/// Refuses what is no number from `least` to `most`.
Check between(int least, int most);
Check between(double least, double most);

/// Refuses what is none of the words.
Check one_of(std::initializer_list<const char*> words);

/// Refuses what is no whole number from `least` to `most`, and says that these are the limits.
Check whole_number(int least, int most);

/// Refuses what is no whole number; which levels there are, the commands say.
Check level_number();

/// An option or an argument of a command.
class Option {
  public:
    /// nullptr: of a command that nobody gave, and never read.
    explicit Option(CLI::Option* option) : option_(option) {}
    Option type_name(const std::string& name);
    Option check(const Check& check);
    Option required();
    /// Several values in one word, separated by this.
    Option delimiter(char separator);
    /// Whether further words are values too.
    Option allow_extra_args(bool allowed);
    /// The help shows the default.
    Option capture_default_str();
    /// Least and most values.
    Option expected(int least, int most);
    /// How often it was given.
    std::size_t count() const;

  private:
    CLI::Option* option_;
};

/// What the user wrote, and what the help says beside the options; lives as long as the Application.
struct CommandLineShared {
    std::vector<std::string> words;
    bool every_command = false;  ///< all options are set up: something is made of the whole help
    std::map<const CLI::App*, std::vector<HelpExample>> examples;
};

/// One command with its options; the program itself is one too.
class CommandLine {
  public:
    CommandLine(CLI::App* app, CommandLineShared& shared) : app_(app), shared_(&shared) {}

    /// The options that are added from here on stand under this heading in the help.
    void group(const std::string& title) { group_ = title; }

    /// "--name" or "-n,--name"; a name without dashes is an argument. The value stays as it is where none is given.
    Option add_option(const std::string& names, std::string& value, const std::string& help);
    Option add_option(const std::string& names, int& value, const std::string& help);
    Option add_option(const std::string& names, std::optional<int>& value, const std::string& help);
    Option add_option(const std::string& names, double& value, const std::string& help);
    Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
    Option add_flag(const std::string& names, bool& value, const std::string& help);
    /// Calls back with how often the flag was given.
    Option add_flag(const std::string& names, std::function<void(int times)> given, const std::string& help);

    /// One that is not among the user's words has a name and a help, and takes no options: to set up those of every
    /// command took longer than all else that a short answer needs.
    CommandLine add_subcommand(const std::string& name, const std::string& help);
    /// One of the subcommands has to be given.
    void require_subcommand();
    /// The subcommand that was given; empty: none.
    std::string subcommand() const;
    /// A real command line for the help, and what it does.
    void example(const std::string& command, const std::string& what);
    /// A paragraph below the help, of this command alone.
    void footer(const std::string& text);
    /// Called when all words are read, before anything is done. Errors end the program as bad usage.
    void check_parsed(std::function<Result<>()> check);
    /// Does the command's work, when it was given.
    void callback(std::function<void()> work);

  private:
    Option added(CLI::Option* option) const;

    CLI::App* app_;
    CommandLineShared* shared_;
    std::string group_ = "Options";
    bool is_named_ = true;
};

/// The whole program's command line.
class Application {
  public:
    /// `words`: of the command line, without the program's name.
    Application(const std::string& name, const std::string& description, const std::string& version,
                std::vector<std::string> words);
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    CommandLine command_line();

    /// Takes the command that is to be measured off the words, once all options are known: what stands behind "--", or,
    /// without that, from the first word on that is no option, no option's value and no command's name, if a program of
    /// that name can be run. Empty: none is named.
    std::vector<std::string> take_measured_command();

    /// What reading the words came to.
    struct Parsed {
        std::string text;  ///< of --help or --version, to be printed; empty: the commands' callbacks did the work
    };
    /// Reads the words and calls back. Options that take a value refuse an empty one: in a script it is a variable that
    /// was forgotten, and must not mean the default. Errors: bad_usage with the nearest right spelling; unavailable
    /// when the memory is used up; system for an exception of a library.
    Result<Parsed> parse();

  private:
    /// "help", "help sweep", "help --man" as what they stand for. Empty: the words are something else.
    Result<std::string> asked_help();

    std::unique_ptr<CLI::App> app_;
    CommandLineShared shared_;
    std::string version_;
};

}  // namespace tmaprobe::cli
