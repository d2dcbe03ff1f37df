#pragma once

#include <cstdint>
#include <vector>

namespace tmaprobe::model {

/// How often lines of each area of memory were asked for: where a program goes to and fro in what it has, the lines met
/// again tell how many there are that it goes to. Of a few thousand areas, the latest.
class MetAreas {
  public:
    MetAreas() : areas_(count) {}

    /// A line that the second level does not hold was asked for, and was met before or not.
    void note(std::uint64_t line, bool met_before);

    /// How often a line of this one's area is asked for, on average, in the time in which the area has been met. From
    /// the share of questions for lines met before: were the lines drawn by chance among F, of N questions
    /// F (1 - exp(-N / F)) were for new ones. 0 where none was met again: a stream, or too short a look.
    double questions_per_line(std::uint64_t line) const;

    /// How long it takes to meet so many different lines, in times of what has been met so far: each area goes on as it
    /// was, and one that comes back to its lines has met them all at last.
    double time_of(std::uint64_t lines);

  private:
    void look();
    static constexpr std::size_t count = 4096;
    static constexpr std::uint64_t lines_of_area = 1024;
    struct Area {
        std::uint64_t number = 0, questions = 0, again = 0;
    };
    std::vector<Area> areas_;
    /// How many different lines are met in how long, as it was when last looked.
    struct Point {
        double times, lines;
    };
    std::vector<Point> growth_;
    std::uint64_t noted_ = 0, looked_ = 0;  ///< questions
};

/// N / F of MetAreas::questions_per_line() from the share of lines met again, 0 to 1.
double questions_per_line_from(double again);

}  // namespace tmaprobe::model
