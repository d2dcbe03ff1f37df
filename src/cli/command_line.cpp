#include "cli/command_line.h"

#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "base/suggest.h"
#include "cli/terminal.h"

namespace tmaprobe::cli {
namespace {

std::optional<int> read_whole(const std::string& word) {
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool all = error == std::errc() && end == word.data() + word.size() && !word.empty();
    return all ? std::optional(number) : std::nullopt;
}

void refuse_empty_values(CLI::App& app) {
    const CLI::Validator not_empty(
        [](const std::string& word) { return std::string(word.empty() ? "its value is empty" : ""); }, "");
    for (CLI::Option* option : app.get_options())
        if (option->nonpositional() && option->get_items_expected_max() > 0) option->check(not_empty);
    for (CLI::App* command : app.get_subcommands({})) refuse_empty_values(*command);
}

/// A mistyped option or command word: the parser's message, with the nearest right spelling.
Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
    std::vector<std::string> known;
    const CLI::App* active = &app;
    for (const auto* command : app.get_subcommands()) active = command;
    for (const auto* option : active->get_options()) known.push_back(option->get_name());
    if (active == &app)
        for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
            known.push_back(command->get_name());

    std::string hint;
    const auto left_over = active->remaining();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) && !left_over.empty()) {
        const auto& word = left_over.front();
        hint = suggest(word.substr(0, word.find('=')), known);
        if (hint.empty() && word[0] != '-') hint = "a command to measure goes after '--': tmaprobe -- " + word;
    }
    if (hint.empty())
        hint = "tmaprobe " + (active == &app ? "" : active->get_name() + " ") + "--help lists what there is";
    return {ErrorCode::bad_usage, error.what(), hint};
}

/// nullptr: none is called so.
const CLI::App* subcommand_of(const CLI::App& command, const std::string& name) {
    const auto named = command.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
    return named.empty() ? nullptr : named.front();
}

/// How many words an option takes with its values; nothing where no option is called so.
std::optional<std::size_t> words_of_option(const CLI::App& command, const std::string& word) {
    const auto takes_value = [](const CLI::Option* option) { return option->get_items_expected_min() > 0; };
    if (word.starts_with("--")) {
        const auto equals = word.find('=');
        const CLI::Option* option = command.get_option_no_throw(word.substr(0, equals));
        if (!option) return std::nullopt;
        return takes_value(option) && equals == std::string::npos ? 2 : 1;
    }
    for (std::size_t letter = 1; letter < word.size(); ++letter) {
        const CLI::Option* option = command.get_option_no_throw(std::string("-") + word[letter]);
        if (!option) return std::nullopt;
        if (takes_value(option)) return letter + 1 < word.size() ? 1 : 2;
    }
    return word.size() > 1 ? std::optional<std::size_t>(1) : std::nullopt;
}

/// Whether the shell would find a program: a path is taken at its word.
bool can_be_run(const std::string& program) {
    if (program.find('/') != std::string::npos) return true;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    std::error_code unknown;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const auto file = std::filesystem::path(folder.empty() ? "." : folder) / program;
        if (std::filesystem::is_regular_file(file, unknown) && ::access(file.c_str(), X_OK) == 0) return true;
    }
    return false;
}

HelpOption help_option(const CLI::Option& option) {
    HelpOption help;
    help.is_argument = !option.nonpositional();
    for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) help.names.push_back("--" + name);
    const bool takes_value = option.get_items_expected_max() > 0;
    // CLI11 puts the checks behind the name of the value: "WHEN:{auto,always,never}".
    const std::string type = option.get_type_name();
    const auto colon = type.find(':');
    if (help.is_argument)
        help.names.push_back(type.substr(0, colon));
    else if (takes_value)
        help.value = type.substr(0, colon);
    if (const auto brace = type.find('{'); brace != std::string::npos) {
        std::istringstream words(type.substr(brace + 1, type.find('}') - brace - 1));
        for (std::string word; std::getline(words, word, ',');) help.words.push_back(word);
    }
    help.text = option.get_description();
    const std::string usual = option.get_default_str();
    if (!usual.empty()) help.text += usual[0] == '[' ? " " + usual : " [" + usual + "]";
    return help;
}

/// "tmaprobe list metrics".
std::string whole_name(const CLI::App& command) {
    return command.get_parent() ? whole_name(*command.get_parent()) + " " + command.get_name() : command.get_name();
}

HelpPage page_of(const CLI::App& command, const CommandLineShared& shared) {
    HelpPage page;
    page.name = whole_name(command);
    page.description = command.get_description();
    const bool program = !command.get_parent();
    const bool takes_both = needs_dashes(command.get_name());
    page.usage = page.name + (program      ? " [OPTIONS] [--] PROGRAM [ARGS]   |   " + page.name + " COMMAND [OPTIONS]"
                              : takes_both ? " [OPTIONS]"
                              : measures_command(command.get_name()) ? " [OPTIONS] [--] PROGRAM [ARGS]"
                              : !command.get_subcommands({}).empty() ? " WHAT [OPTIONS]"
                                                                     : " [OPTIONS]");
    if (const auto examples = shared.examples.find(&command); examples != shared.examples.end())
        page.examples = examples->second;
    for (const CLI::Option* option : command.get_options()) {
        const HelpOption help = help_option(*option);
        if (help.is_argument) page.usage += " " + help.names.front();
        const std::string title = help.is_argument ? "Arguments" : option->get_group();
        auto group = std::ranges::find(page.groups, title, &HelpGroup::title);
        if (group == page.groups.end()) group = page.groups.insert(page.groups.end(), {title, {}});
        group->options.push_back(help);
    }
    if (takes_both) page.usage += " -- PROGRAM [ARGS]";
    // What every command has comes last.
    std::ranges::stable_partition(page.groups, [](const HelpGroup& group) { return group.title != "General"; });
    for (const CLI::App* further : command.get_subcommands({})) page.commands.push_back(page_of(*further, shared));
    std::istringstream notes(command.get_footer());
    for (std::string note; std::getline(notes, note);) page.notes.push_back(note);
    return page;
}

}  // namespace

Check::Check(const CLI::Validator& validator) : validator_(std::make_shared<CLI::Validator>(validator)) {}

Check between(int least, int most) { return Check(CLI::Range(least, most)); }

Check between(double least, double most) { return Check(CLI::Range(least, most)); }

Check one_of(std::initializer_list<const char*> words) {
    return Check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
}

Check whole_number(int least, int most) {
    const auto complaint = [least, most](const std::string& word) {
        const auto number = read_whole(word);
        if (number && *number >= least && *number <= most) return std::string();
        return fmt::format("'{}' is not a whole number from {} to {}", word, least, most);
    };
    return Check(CLI::Validator(complaint, ""));
}

Check level_number() {
    const auto complaint = [](const std::string& word) {
        return read_whole(word) ? std::string() : fmt::format("'{}' is not a level: a whole number from 1 to 6", word);
    };
    return Check(CLI::Validator(complaint, ""));
}

Option Option::type_name(const std::string& name) {
    if (option_) option_->type_name(name);
    return *this;
}
Option Option::check(const Check& check) {
    if (option_) option_->check(check.validator());
    return *this;
}
Option Option::required() {
    if (option_) option_->required();
    return *this;
}
Option Option::delimiter(char separator) {
    if (option_) option_->delimiter(separator);
    return *this;
}
Option Option::allow_extra_args(bool allowed) {
    if (option_) option_->allow_extra_args(allowed);
    return *this;
}
Option Option::capture_default_str() {
    if (option_) option_->capture_default_str();
    return *this;
}
Option Option::expected(int least, int most) {
    if (option_) option_->expected(least, most);
    return *this;
}
std::size_t Option::count() const { return option_ ? option_->count() : 0; }

Option CommandLine::add_option(const std::string& names, std::string& value, const std::string& help) {
    return added(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, int& value, const std::string& help) {
    return added(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, std::optional<int>& value, const std::string& help) {
    return added(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, double& value, const std::string& help) {
    return added(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
    return added(is_named_ ? app_->add_option(names, values, help) : nullptr);
}

Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
    return added(is_named_ ? app_->add_flag(names, value, help) : nullptr);
}

Option CommandLine::add_flag(const std::string& names, std::function<void(int)> given, const std::string& help) {
    const auto call = [given = std::move(given)](std::int64_t times) { given(static_cast<int>(times)); };
    return added(is_named_ ? app_->add_flag_function(names, call, help) : nullptr);
}

Option CommandLine::added(CLI::Option* option) const {
    if (option) option->group(group_);
    return Option(option);
}

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& help) {
    CLI::App* added = app_->add_subcommand(name, help);
    added->footer("");  // CLI11 takes over its parent's
    added->set_help_flag("-h,--help", "Print this help")->group("General");
    CommandLine command(added, *shared_);
    command.is_named_ =
        is_named_ && (shared_->every_command || std::ranges::find(shared_->words, name) != shared_->words.end());
    return command;
}

void CommandLine::require_subcommand() {
    if (is_named_) app_->require_subcommand(1);
}

std::string CommandLine::subcommand() const {
    const auto given = app_->get_subcommands();
    return given.empty() ? "" : given.front()->get_name();
}

void CommandLine::example(const std::string& command, const std::string& what) {
    shared_->examples[app_].push_back({command, what});
}

void CommandLine::footer(const std::string& text) {
    if (is_named_) app_->footer(text);
}

void CommandLine::check_parsed(std::function<Result<>()> check) {
    if (!is_named_) return;
    app_->parse_complete_callback([check = std::move(check)] {
        if (const auto right = check(); !right) throw CLI::ValidationError(right.error().what);
    });
}

void CommandLine::callback(std::function<void()> work) {
    if (is_named_) app_->callback(std::move(work));
}

Application::Application(const std::string& name, const std::string& description, const std::string& version,
                         std::vector<std::string> words)
    : app_(std::make_unique<CLI::App>(description)), version_(version) {
    auto& given = shared_.words = std::move(words);
    // "run" is what is done without a command's name, and may be said.
    if (!given.empty() && given[0] == "run") given.erase(given.begin());
    const bool help = !given.empty() && given[0] == "help";
    if (help && given.size() > 1 && given[1] == "run") given.erase(given.begin() + 1);
    shared_.every_command = help && given.size() > 1 && given[1].starts_with("--");
    app_->name(name);
    app_->set_help_flag("-h,--help", "Print this help")->group("General");
    app_->set_version_flag("-V,--version", version)->group("General");
    app_->require_subcommand(0, 1);
}

Application::~Application() = default;

CommandLine Application::command_line() { return CommandLine(app_.get(), shared_); }

std::vector<std::string> Application::take_measured_command() {
    auto& words = shared_.words;
    const CLI::App* active = app_.get();
    std::size_t at = 0;
    while (at < words.size() && words[at] != "--") {
        if (words[at].starts_with('-')) {
            const auto used = words_of_option(*active, words[at]);
            if (!used) return {};  // unknown: what follows it may be its value
            at += *used;
            continue;
        }
        const CLI::App* named = active == app_.get() ? subcommand_of(*app_, words[at]) : nullptr;
        if (words[at] == "help" || (named && !measures_command(named->get_name()))) {
            at = static_cast<std::size_t>(std::ranges::find(words, "--") - words.begin());
            break;
        }
        if (!named) break;
        active = named;
        ++at;
    }
    if (needs_dashes(active->get_name())) at = static_cast<std::size_t>(std::ranges::find(words, "--") - words.begin());
    if (at >= words.size()) return {};
    const bool dashes = words[at] == "--";
    if (!dashes && !can_be_run(words[at])) {
        at = static_cast<std::size_t>(std::ranges::find(words, "--") - words.begin());
        if (at == words.size()) return {};
    }
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<std::string> command(begin + (words[at] == "--" ? 1 : 0), words.end());
    words.erase(begin, words.end());
    return command;
}

Result<std::string> Application::asked_help() {
    auto& words = shared_.words;
    if (words.empty() || words[0] != "help") return "";
    if (words.size() == 1) return help_text(page_of(*app_, shared_), columns_of(STDOUT_FILENO));
    const std::string what = words[1];
    if (what == "--man") return man_page(page_of(*app_, shared_), version_);
    if (what.starts_with("--")) {
        std::string text = completion(page_of(*app_, shared_), what.substr(2));
        if (text.empty())
            return fail(ErrorCode::bad_usage, "help makes nothing called '" + what + "'",
                        "--man, --bash, --zsh or --fish; or a command's name");
        return text;
    }
    const CLI::App* command = app_.get();
    for (std::size_t i = 1; i < words.size(); ++i) {
        const CLI::App* further = subcommand_of(*command, words[i]);
        if (!further) {
            std::vector<std::string> known;
            for (const auto* one : command->get_subcommands({})) known.push_back(one->get_name());
            return fail(ErrorCode::bad_usage, "no command is called '" + words[i] + "'", suggest(words[i], known));
        }
        command = further;
    }
    return help_text(page_of(*command, shared_), columns_of(STDOUT_FILENO));
}

Result<Application::Parsed> Application::parse() {
    refuse_empty_values(*app_);
    // CLI11 and the standard library throw; nothing else in the project does.
    try {
        if (auto help = TRY(asked_help()); !help.empty()) return Parsed{std::move(help)};
        app_->parse(std::vector<std::string>(shared_.words.rbegin(), shared_.words.rend()));  // the last word first
    } catch (const CLI::CallForHelp&) {
        const CLI::App* command = app_.get();
        while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
        return Parsed{help_text(page_of(*command, shared_), columns_of(STDOUT_FILENO))};
    } catch (const CLI::Success& done) {
        std::ostringstream text;
        app_->exit(done, text, text);
        return Parsed{text.str()};
    } catch (const CLI::ParseError& error) {
        return tl::unexpected(usage_error(*app_, error));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::unavailable, "out of memory", "ask for less: --size, --points");
    } catch (const std::exception& error) {
        return fail(ErrorCode::system, std::string("internal error: ") + error.what(), "please report it");
    }
    return Parsed{};
}

}  // namespace tmaprobe::cli
