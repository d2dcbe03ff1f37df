#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/terminal.h"
#include "report/text.h"
#include "report/where.h"

namespace tmaprobe::report {

enum class Ink { plain, bold, dim, green, yellow, red };

/// Collects lines for a terminal of a given width; the one place that writes escape sequences. Text from a
/// record must come through say(), which cleans it.
class Screen {
  public:
    explicit Screen(const TerminalStyle& style) : style_(style) {}

    const TerminalStyle& style() const { return style_; }
    std::size_t width() const { return static_cast<std::size_t>(style_.width < 40 ? 40 : style_.width); }
    bool ascii() const { return !style_.unicode; }

    std::string say(std::string_view text) const { return clean(text, ascii()); }
    std::string ink(Ink ink, const std::string& text) const;
    /// Ink by how large a share is: the larger, the warmer.
    static Ink heat(double share);
    /// One of two spellings, for terminals with and without Unicode.
    const char* either(const char* unicode, const char* plain) const { return ascii() ? plain : unicode; }

    void line(const std::string& text = {});
    /// "label   text", the text wrapped and indented below itself. The text is cleaned here.
    void entry(const std::string& label, std::string_view text, std::size_t indent = 9);
    /// Columns aligned by their widest cell: the first to the left, the others to the right. Cells are
    /// clean; those of the first row are headings. Where the width does not do, names lose their middle, then
    /// columns go to a block below.
    void table(const std::vector<std::vector<std::string>>& rows);

    std::string take() { return std::move(text_); }

  private:
    TerminalStyle style_;
    std::string text_;
};

/// Reasons that several rows share are said once, below the table: [1], [2], ...
class Footnotes {
  public:
    /// " [n]" for this reason; empty for none.
    std::string mark(const std::string& reason);
    void show(Screen& screen) const;

  private:
    std::vector<std::string> reasons_;
};

// The parts of a report, each for one kind of content. They add nothing when the record lacks it.

/// The top-down tree of one run: levels, bars, values, bounds, status, marked path.
/// What every CPU can say: instructions per cycle, mispredicted branches.
void show_basic_metrics(Screen& screen, const record::Run& run);
void show_tree(Screen& screen, const record::Record& record, const record::Run& run);
/// Rows that were left out because they are nothing, named so that nobody takes them for not looked at.
void show_left_out(Screen& screen, const std::string& why, const std::vector<std::string>& names);
/// The metrics outside the tree, address translation first.
void show_other_metrics(Screen& screen, const record::Run& run);
/// Where a second source was asked for: its values beside the first's.
void show_beside(Screen& screen, const record::Run& run);
/// The places in the code that take the slots, where they were asked for: sentences, a table, one function's code.
void show_where(Screen& screen, const record::Record& record, const record::Run& run);
/// What the program waits for in memory, and what huge pages could save.
void show_data(Screen& screen, const record::Where& where, const WhereView& view);
/// One time around a loop: its chain, ports and cycles.
void show_timeline(Screen& screen, const record::LoopTimeline& timeline);
/// What changes of the machine would win, where that was asked.
void show_what_if(Screen& screen, const record::Run& run);
/// What each region of the program takes.
void show_regions(Screen& screen, const record::Run& run);
/// Events with their raw counts and encodings, and the formulas.
void show_details(Screen& screen, const record::Run& run);
/// The counts themselves.
void show_events(Screen& screen, const record::Run& run);
/// Level 1 of the tree core by core, where whole CPUs were counted.
void show_cores(Screen& screen, const record::Run& run);
/// The runs of one kernel in several page modes as columns.
void show_page_modes(Screen& screen, const std::vector<record::Run>& runs);
/// What was swept, and the points that have no time.
void show_sweep_heading(Screen& screen, const record::Record& record);
/// Table, curve and knees of a sweep.
void show_sweep(Screen& screen, const record::Record& record);
/// Matrix, classes and CPI of a pairs record.
void show_pairs(Screen& screen, const record::Record& record);
/// Who was disturbed by whom.
void show_states_heading(Screen& screen, const record::Record& record);
/// The states of an interference record side by side.
void show_states(Screen& screen, const record::Record& record);
/// What resctrl's monitors say of one run.
void show_monitors(Screen& screen, const record::Run& run);
/// A time series as one line per metric.
void show_series(Screen& screen, const record::Run& run);

}  // namespace tmaprobe::report
