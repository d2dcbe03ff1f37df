#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tmaprobe::cli {

std::string rough_time(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", std::max(1.0, seconds));
    const auto minutes = static_cast<long>(std::lround(seconds / 60));
    if (minutes < 100) return fmt::format("{} min", minutes);
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string ProgressText::update(const experiments::Progress& progress, double seconds) {
    constexpr double enough = 0.1;  // of the way: a pace over less says little
    left_.reset();
    const double done = std::clamp(progress.done, 0.0, 1.0);
    if (progress.of == experiments::ProgressOf::whole && done >= enough && done < 1)
        left_ = progress.seconds_left.value_or(seconds * (1 - done) / done);
    std::string text;
    if (progress.of == experiments::ProgressOf::whole)
        text = fmt::format("{:2.0f}%  {}", std::min(99.0, std::floor(100 * done)), progress.stage);
    else
        text = progress.stage;
    if (!progress.estimate.empty()) text += "  " + progress.estimate;
    if (left_) text += "  about " + rough_time(*left_) + " left";
    return text;
}

}  // namespace tmaprobe::cli
