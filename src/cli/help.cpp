#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/text.h"

namespace tmaprobe::cli {
namespace {

using report::pad_right;
using report::width_of;
using report::wrap;

/// "-l, --level N".
std::string spelling(const HelpOption& option) {
    // What has no short name stands where the others' long one does.
    const bool only_long = !option.is_argument && option.names.size() == 1 && option.names[0].starts_with("--");
    std::string text = only_long ? "    " : "";
    text += fmt::format("{}", fmt::join(option.names, ", "));
    return option.value.empty() ? text : text + " " + option.value;
}

/// "  left   right", the right one wrapped below itself; below the left one where that is too wide.
void add_entry(std::string& text, const std::string& left, const std::string& right, std::size_t column,
               std::size_t columns) {
    std::string start = "  " + left;
    if (width_of(start) + 2 > column) {
        text += start + "\n";
        start.clear();
    }
    for (const auto& line : wrap(right, columns > column + 10 ? columns - column : 10)) {
        text += pad_right(start, column) + line + "\n";
        start.clear();
    }
}

void add_paragraph(std::string& text, const std::string& paragraph, std::size_t columns) {
    for (const auto& line : wrap(paragraph, columns)) text += line + "\n";
}

/// A note keeps what it is indented by.
void add_note(std::string& text, const std::string& note, std::size_t columns) {
    const std::string indent(note.find_first_not_of(' '), ' ');
    for (const auto& line : wrap(note, columns - indent.size())) text += indent + line + "\n";
}

// man(7)

/// Text that troff takes as it is.
std::string troff(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\\')
            escaped += "\\e";
        else if (c == '-')
            escaped += "\\-";
        else if (c == '\'')
            escaped += "\\(aq";
        else if (c == '^')
            escaped += "\\(ha";
        else if (c == '~')
            escaped += "\\(ti";
        else
            escaped += c;
    }
    return !escaped.empty() && (escaped[0] == '.') ? "\\&" + escaped : escaped;
}

void add_man_options(std::string& text, const HelpPage& page) {
    for (const auto& group : page.groups) {
        text += ".SS " + troff(page.name + ": " + group.title) + "\n";
        for (const auto& option : group.options) {
            text += ".TP\n";
            std::string names;
            for (const auto& name : option.names)
                names += (names.empty() ? "" : ", ") + ("\\fB" + troff(name) + "\\fR");
            text += names + (option.value.empty() ? "" : " \\fI" + troff(option.value) + "\\fR") + "\n";
            text += troff(option.text) + "\n";
        }
    }
}

void add_man_command(std::string& text, const HelpPage& page) {
    text += ".SH " + troff(page.name) + "\n" + troff(page.description) + ".\n.PP\n\\fB" + troff(page.usage) + "\\fR\n";
    add_man_options(text, page);
    for (const auto& example : page.examples)
        text += ".PP\n" + troff(example.what) + ":\n.PP\n.nf\n.RS\n" + troff(example.command) + "\n.RE\n.fi\n";
    for (const auto& note : page.notes) text += ".PP\n" + troff(note) + "\n";
    for (const auto& command : page.commands) add_man_command(text, command);
}

// Completions

/// All options of a page that have a name with dashes.
std::vector<const HelpOption*> options_of(const HelpPage& page) {
    std::vector<const HelpOption*> options;
    for (const auto& group : page.groups)
        for (const auto& option : group.options)
            if (!option.is_argument) options.push_back(&option);
    return options;
}

std::string names_of(const HelpPage& page) {
    std::string names;
    for (const auto* option : options_of(page))
        for (const auto& name : option->names) names += (names.empty() ? "" : " ") + name;
    return names;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(' ') + 1); }

std::string command_names(const HelpPage& page) {
    std::string names;
    for (const auto& command : page.commands) names += (names.empty() ? "" : " ") + last_word(command.name);
    return names;
}

/// The values of options, where they are a few words.
std::string bash_values(const HelpPage& page, const std::string& indent) {
    std::string text;
    for (const auto* option : options_of(page))
        if (!option->words.empty())
            text += fmt::format("{}{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", indent,
                                fmt::join(option->names, "|"), fmt::join(option->words, " "));
    return text;
}

std::string bash_completion(const HelpPage& program) {
    std::string cases, inner;
    for (const auto& command : program.commands) {
        cases += fmt::format("            {}) names='{}{}' ;;\n", last_word(command.name), names_of(command),
                             command.commands.empty() ? "" : " " + command_names(command));
        inner += bash_values(command, "        ");
    }
    return "# bash completion of tmaprobe, made by: tmaprobe help --bash\n"
           "_tmaprobe() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at command= names\n"
           "    for ((at = 1; at < COMP_CWORD; ++at)); do\n"
           "        case ${COMP_WORDS[at]} in\n"
           "            --) COMPREPLY=($(compgen -c -f -- \"$word\")); return ;;\n" +
           fmt::format("            {}) command=${{COMP_WORDS[at]}}; break ;;\n",
                       fmt::format("{}", fmt::join(
                                             [&] {
                                                 std::vector<std::string> names;
                                                 for (const auto& c : program.commands)
                                                     names.push_back(last_word(c.name));
                                                 return names;
                                             }(),
                                             "|"))) +
           "        esac\n"
           "    done\n"
           "    case $before in\n" +
           bash_values(program, "        ") + inner +
           "    esac\n"
           "    case $command in\n" +
           cases + fmt::format("            *) names='{} {}' ;;\n", names_of(program), command_names(program)) +
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$names\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
           "}\n"
           "complete -F _tmaprobe tmaprobe\n";
}

/// Text within single quotes of zsh's specifications.
std::string zsh_text(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\'')
            escaped += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            escaped += std::string("\\") + c;
        else
            escaped += c;
    }
    return escaped;
}

std::string zsh_specs(const HelpPage& page) {
    std::string text;
    for (const auto* option : options_of(page))
        for (const auto& name : option->names) {
            text += fmt::format("        '*{}[{}]", name, zsh_text(option->text));
            if (!option->value.empty())
                text += option->words.empty()
                            ? fmt::format(":{}:_files", zsh_text(option->value))
                            : fmt::format(":{}:({})", zsh_text(option->value), fmt::join(option->words, " "));
            text += "' \\\n";
        }
    return text;
}

std::string zsh_completion(const HelpPage& program) {
    std::string commands, cases;
    for (const auto& command : program.commands) {
        commands += fmt::format("        '{}:{}'\n", last_word(command.name), zsh_text(command.description));
        cases += fmt::format("        {})\n          _arguments \\\n{}        '*:file:_files' ;;\n",
                             last_word(command.name), zsh_specs(command));
    }
    return "#compdef tmaprobe\n# zsh completion of tmaprobe, made by: tmaprobe help --zsh\n"
           "_tmaprobe() {\n"
           "    local -a commands\n    commands=(\n" +
           commands +
           "    )\n"
           "    if (( CURRENT > 2 )) && (( ${commands[(I)$words[2]:*]} )); then\n"
           "        local command=$words[2]\n"
           "        shift words; (( CURRENT-- ))\n"
           "        case $command in\n" +
           cases +
           "        esac\n"
           "        return\n"
           "    fi\n"
           "    (( CURRENT == 2 )) && _describe command commands\n"
           "    _arguments \\\n" +
           zsh_specs(program) +
           "        '*::command:_normal'\n"
           "}\n"
           "_tmaprobe \"$@\"\n";
}

std::string fish_quoted(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return "'" + escaped + "'";
}

std::string fish_options(const HelpPage& page, const std::string& condition) {
    std::string text;
    for (const auto* option : options_of(page)) {
        text += "complete -c tmaprobe -n " + fish_quoted(condition);
        for (const auto& name : option->names)
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        if (!option->value.empty()) text += " -r";
        if (!option->words.empty()) text += " -f -a " + fish_quoted(fmt::format("{}", fmt::join(option->words, " ")));
        text += " -d " + fish_quoted(option->text) + "\n";
    }
    return text;
}

std::string fish_completion(const HelpPage& program) {
    std::string text = "# fish completion of tmaprobe, made by: tmaprobe help --fish\n";
    for (const auto& command : program.commands)
        text += fmt::format("complete -c tmaprobe -n __fish_use_subcommand -a {} -d {}\n", last_word(command.name),
                            fish_quoted(command.description));
    text += fish_options(program, "__fish_use_subcommand");
    for (const auto& command : program.commands)
        text += fish_options(command, "__fish_seen_subcommand_from " + last_word(command.name));
    return text;
}

}  // namespace

std::string help_text(const HelpPage& page, int wanted_columns) {
    const auto columns = static_cast<std::size_t>(std::clamp(wanted_columns, 40, 100));
    std::string text;
    add_paragraph(text, page.description + ".", columns);
    text += "\nUsage: " + page.usage + "\n";
    if (!page.examples.empty()) text += page.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const auto& example : page.examples) {
        text += "  " + example.command + "\n";
        for (const auto& line : wrap(example.what, columns - 6)) text += "      " + line + "\n";
    }
    const std::size_t names = columns >= 70 ? 16 : 6;
    if (!page.commands.empty()) text += "\nCommands (tmaprobe help COMMAND says more):\n";
    for (const auto& command : page.commands)
        add_entry(text, last_word(command.name), command.description, names, columns);
    const std::size_t column = columns >= 70 ? 28 : 8;
    for (const auto& group : page.groups) {
        text += "\n" + group.title + ":\n";
        for (const auto& option : group.options) add_entry(text, spelling(option), option.text, column, columns);
    }
    if (!page.notes.empty()) text += "\n";
    for (const auto& note : page.notes) add_note(text, note, columns);
    return text;
}

std::string man_page(const HelpPage& program, const std::string& version) {
    std::string text = ".TH TMAPROBE 1 \"\" \"" + troff(version) + "\" \"User Commands\"\n.SH NAME\ntmaprobe \\- " +
                       troff("where a CPU's pipeline slots go, and what pages and TLBs cost") + "\n.SH SYNOPSIS\n\\fB" +
                       troff(program.usage) + "\\fR\n.SH DESCRIPTION\n" + troff(program.description) +
                       ".\n.SH COMMANDS\n";
    for (const auto& command : program.commands)
        text += ".TP\n\\fB" + troff(last_word(command.name)) + "\\fR\n" + troff(command.description) + ".\n";
    text += ".SH OPTIONS\n";
    add_man_options(text, program);
    text += ".SH EXAMPLES\n";
    for (const auto& example : program.examples)
        text += ".PP\n" + troff(example.what) + ":\n.PP\n.nf\n.RS\n" + troff(example.command) + "\n.RE\n.fi\n";
    for (const auto& command : program.commands) add_man_command(text, command);
    text += ".SH NOTES\n";
    for (const auto& note : program.notes) text += ".PP\n" + troff(note) + "\n";
    return text +
           ".SH ENVIRONMENT\n.TP\n\\fBTMAPROBE_LOG\\fR\nLevel of the log on standard error, as by \\fB\\-v\\fR.\n.TP\n"
           "\\fBNO_COLOR\\fR\nNo colours, also on a terminal.\n.TP\n\\fBCOLUMNS\\fR\nWidth of the report where it does "
           "not go to a terminal.\n.TP\n\\fBLC_ALL\\fR, \\fBLC_CTYPE\\fR, \\fBLANG\\fR\nWhether the report may have "
           "characters beyond ASCII.\n.SH SEE ALSO\n\\fBperf\\fR(1), \\fBperf_event_open\\fR(2)\n";
}

std::string completion(const HelpPage& program, const std::string& shell) {
    if (shell == "bash") return bash_completion(program);
    if (shell == "zsh") return zsh_completion(program);
    if (shell == "fish") return fish_completion(program);
    return {};
}

}  // namespace tmaprobe::cli
