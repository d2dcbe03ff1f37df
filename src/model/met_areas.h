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

  private:
    static constexpr std::size_t count = 4096;
    static constexpr std::uint64_t lines_of_area = 1024;
    struct Area {
        std::uint64_t number = 0, questions = 0, again = 0;
    };
    std::vector<Area> areas_;
};

/// N / F of MetAreas::questions_per_line() from the share of lines met again, 0 to 1.
double questions_per_line_from(double again);

}  // namespace tmaprobe::model
