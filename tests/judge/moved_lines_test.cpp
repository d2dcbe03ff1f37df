#include "judge/moved_lines.h"

#include <gmock/gmock.h>

namespace tmaprobe::judge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

record::CodePlace line(const std::string& function, std::uint64_t number, double share, double around = 0.01) {
    record::CodePlace line;
    line.function = function;
    line.file = "/src/keep.c";
    line.first_line = line.last_line = number;
    line.share = share;
    line.low = share - around;
    line.high = share + around;
    return line;
}

record::Where where(std::vector<record::CodePlace> lines) {
    record::Where where;
    where.lines = std::move(lines);
    return where;
}

TEST(MovedLines, AreThoseBeyondTheirBoundsTheMostMovedFirst) {
    const auto before = where({line("keep", 8, 0.85), line("keep", 9, 0.05), line("sum", 17, 0.08)});
    const auto after =
        where({line("keep", 8, 0.02), line("keep", 9, 0.50), line("sum", 17, 0.09), line("sum", 18, 0.1)});
    EXPECT_THAT(moved_lines(before, after), ElementsAre("keep.c:8 in keep: 85.0% of slots before, 2.0% after.",
                                                        "keep.c:9 in keep: 5.0% of slots before, 50.0% after.",
                                                        "keep.c:18 in sum: 0.0% of slots before, 10.0% after."));
    EXPECT_THAT(moved_lines(before, before), IsEmpty());
}

TEST(MovedLines, WithinTheirBoundsHaveNotMoved) {
    EXPECT_THAT(moved_lines(where({line("keep", 8, 0.5, 0.2)}), where({line("keep", 8, 0.3, 0.2)})), IsEmpty());
}

TEST(MovedLines, ThatAreInlinedInManyPlacesAreOne) {
    const auto before = where({line("twice", 3, 0.3), line("twice", 3, 0.3)});
    EXPECT_THAT(moved_lines(before, where({line("twice", 3, 0.2)})),
                ElementsAre("keep.c:3 in twice: 60.0% of slots before, 20.0% after."));
}

}  // namespace
}  // namespace tmaprobe::judge
