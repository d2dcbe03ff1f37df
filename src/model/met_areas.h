#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/set_associative.h"

namespace tmaprobe::model {

/// How often lines of each area of memory were asked for in a moment: where a program goes to and fro in what it has,
/// the lines met again tell how many there are that it goes to. Of a few thousand areas, the latest.
class MetAreas {
  public:
    explicit MetAreas(std::uint64_t lines_of_second_level) : second_level_(lines_of_second_level) {}
    /// What was met before is of another moment, whose areas the program may have done with.
    void begin_moment() { *this = MetAreas(second_level_); }

    /// A line that the second level does not hold was asked for.
    void note(std::uint64_t line);

    /// How often a line of this one's area is asked for, on average, in the time in which the area has been met: from
    /// the share of questions for lines met before. Of N questions for lines drawn by chance among F that the second
    /// level does not hold, F (1 - exp(-N / F)) are for new ones. It holds the latest lines, of each area in proportion
    /// to its questions, and so the first questions for so many lines, and their lines, do not count. 0 where none was
    /// met again: a stream, or too short a look. An area is 64 KiB; where too few of its lines were met again to tell,
    /// the MiB around it.
    double questions_per_line(std::uint64_t line) const;

    /// How long it takes to meet so many different lines, in times of what has been met so far: each area goes on as it
    /// was, and one that comes back to its lines has met them all at last.
    double time_of(std::uint64_t lines);

    /// Different lines of the moment.
    std::uint64_t lines_met() const { return lines_met_; }

  private:
    struct Area {
        std::uint64_t number = 0, questions = 0, again = 0;
    };
    /// Areas of one size, by their number's last bits.
    struct Areas {
        Areas(std::uint64_t lines_of_each, std::size_t count) : lines(lines_of_each), places(count) {}
        void note(std::uint64_t line, bool again);
        /// Null where the area is not among the latest.
        const Area* of(std::uint64_t line) const;
        std::uint64_t lines;
        std::vector<Area> places;
    };
    /// What an area's questions are drawn from.
    struct Drawn {
        double held = 0;    ///< lines, by the second level
        double others = 0;  ///< lines
    };
    /// Nothing where it cannot be told.
    std::optional<Drawn> drawn_from(const Area& small, const Area* large) const;
    void look();
    static constexpr std::uint64_t lines_remembered = 1 << 18;
    Areas small_{1 << 10, 4096}, large_{1 << 14, 512};
    SetAssociative lines_{lines_remembered, 16};  ///< met
    /// How many different lines are met in how long, as it was when last looked.
    struct Point {
        double times, lines;
    };
    std::vector<Point> growth_;
    std::uint64_t noted_ = 0, looked_ = 0;  ///< questions
    std::uint64_t lines_met_ = 0;
    std::uint64_t second_level_;  ///< lines that it holds
};

/// N / F of MetAreas::questions_per_line() from the share of lines met again, 0 to 1.
double questions_per_line_from(double again);

}  // namespace tmaprobe::model
