#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "base/suggest.h"

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
    return Option(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, int& value, const std::string& help) {
    return Option(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, double& value, const std::string& help) {
    return Option(is_named_ ? app_->add_option(names, value, help) : nullptr);
}

Option CommandLine::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
    return Option(is_named_ ? app_->add_option(names, values, help) : nullptr);
}

Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
    return Option(is_named_ ? app_->add_flag(names, value, help) : nullptr);
}

Option CommandLine::add_flag(const std::string& names, std::function<void(int)> given, const std::string& help) {
    const auto call = [given = std::move(given)](std::int64_t times) { given(static_cast<int>(times)); };
    return Option(is_named_ ? app_->add_flag_function(names, call, help) : nullptr);
}

CommandLine CommandLine::add_subcommand(const std::string& name, const std::string& help) {
    CommandLine command(app_->add_subcommand(name, help), words_);
    command.is_named_ = is_named_ && std::ranges::find(words_, name) != words_.end();
    return command;
}

void CommandLine::require_subcommand() {
    if (is_named_) app_->require_subcommand(1);
}

std::string CommandLine::subcommand() const {
    const auto given = app_->get_subcommands();
    return given.empty() ? "" : given.front()->get_name();
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
    : app_(std::make_unique<CLI::App>(description)), words_(std::move(words)) {
    app_->name(name);
    app_->set_version_flag("--version", version);
    app_->require_subcommand(0, 1);
}

Application::~Application() = default;

CommandLine Application::command_line() { return CommandLine(app_.get(), words_); }

Result<Application::Parsed> Application::parse() {
    refuse_empty_values(*app_);
    // CLI11 and the standard library throw; nothing else in the project does.
    try {
        app_->parse(std::vector<std::string>(words_.rbegin(), words_.rend()));  // the last word first
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
