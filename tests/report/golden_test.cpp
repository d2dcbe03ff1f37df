// Every record of tests/report/records, and every one that the tool itself wrote (tests/record/written), as each kind
// of text, against tests/report/golden. After a change that is meant, TMAPROBE_UPDATE_GOLDEN=1 writes what comes out
// now; read the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "record/json/file.h"
#include "report/terminal.h"
#include "report/text.h"

namespace tmaprobe::report {
namespace {

const std::filesystem::path folder = TMAPROBE_SOURCE_DIR "/tests/report",
                            written = TMAPROBE_SOURCE_DIR "/tests/record/written";
constexpr std::string_view written_prefix = "written_";

std::vector<std::string> record_names() {
    std::vector<std::string> names;
    const auto add = [&](const std::filesystem::path& from, std::string_view prefix) {
        for (const auto& entry : std::filesystem::directory_iterator(from))
            if (entry.path().extension() == ".json")
                names.push_back(std::string(prefix) + entry.path().stem().string());
    };
    add(folder / "records", "");
    add(written, written_prefix);
    std::sort(names.begin(), names.end());
    return names;
}

record::Record load(const std::string& name) {
    const bool by_the_tool = name.starts_with(written_prefix);
    const auto path =
        by_the_tool ? written / (name.substr(written_prefix.size()) + ".json") : folder / "records" / (name + ".json");
    auto records = record::read_records(path);
    EXPECT_TRUE(records) << records.error().what;
    return records ? std::move(records->front()) : record::Record{};
}

void expect_golden(const std::string& name, const std::string& text) {
    const auto path = folder / "golden" / name;
    if (std::getenv("TMAPROBE_UPDATE_GOLDEN")) ASSERT_TRUE(write_file(path, text));
    const auto expected = read_file(path);
    ASSERT_TRUE(expected) << expected.error().what;
    EXPECT_EQ(text, *expected) << path;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, Terminal) {
    TerminalStyle style;
    expect_golden(GetParam() + ".txt", render_terminal(load(GetParam()), style));
}

TEST_P(Golden, VerboseAscii) {
    TerminalStyle style;
    style.unicode = false;
    style.verbose = true;
    const std::string text = render_terminal(load(GetParam()), style);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= 32 && c < 127); }));
    expect_golden(GetParam() + ".ascii.txt", text);
}

/// What is drawn (trees, tables, plots) fits; only a command to be copied, or one word, may be longer.
void expect_fit(const std::string& text, std::size_t columns) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto words = wrap(line, columns);
        const bool one_word =
            std::ranges::any_of(words, [&](const auto& part) { return width_of(part) > columns - 9; });
        const bool command = line.starts_with("         perf record -e ");
        EXPECT_TRUE(width_of(line) <= columns || one_word || command) << line;
    }
}

TEST_P(Golden, FitsEightyAndFortyColumns) {
    const auto record = load(GetParam());
    for (const int columns : {80, 40}) {
        TerminalStyle style;
        style.width = columns;
        expect_fit(render_terminal(record, style), static_cast<std::size_t>(columns));
    }
}

/// Who reads two lines has what was measured and the answer, with all that makes it less than measured.
TEST_P(Golden, TheVerdictComesFirstAndTheProvenanceLast) {
    const std::string text = render_terminal(load(GetParam()), {});
    const auto verdict = text.find("Verdict  "), source = text.find("\nSource   "), table = text.find("\n\n");
    ASSERT_NE(verdict, std::string::npos) << text;
    ASSERT_NE(source, std::string::npos) << text;
    EXPECT_LT(verdict, table);
    EXPECT_GT(source, table);
}

TEST_P(Golden, ColourChangesNoCharacter) {
    TerminalStyle coloured;
    coloured.colour = true;
    const auto record = load(GetParam());
    std::string text = render_terminal(record, coloured);
    for (auto at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
        const auto end = text.find('m', at);
        ASSERT_NE(end, std::string::npos);
        EXPECT_EQ(text.substr(at, end - at).find_first_not_of("\x1b[0123456789"), std::string::npos);
        text.erase(at, end - at + 1);
    }
    EXPECT_EQ(text, render_terminal(record, {}));
}

INSTANTIATE_TEST_SUITE_P(Records, Golden, ::testing::ValuesIn(record_names()),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace tmaprobe::report
