#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/modelled_cpu.h"
#include "model/window_simulator.h"

namespace tmaprobe::model {

/// A window of one entry of a region, with what it stands for.
struct EntryWindow {
    std::uint32_t region = 0;
    std::uint32_t entry = 0;  ///< the same for all windows of one entry
    double instructions = 0;  ///< of the entry, that it stands for
    double entries = 1;       ///< that the entry stands for
    WindowFacts facts;
};

/// Where the windows of an entry lie. The first one begins with its first instruction and stands for itself alone, so
/// that a cold start weighs no more than it lasts. What follows is divided into stretches, each a quarter as long as
/// all before it, or one window, in which a window lies by chance and stands for the whole stretch.
class EntryPlaces {
  public:
    EntryPlaces(std::size_t window_instructions, std::uint64_t seed);

    /// One more instruction of the entry was executed. True: a window is complete with it.
    bool step();
    /// It is one of a window.
    bool is_in_window() const { return executed_ >= window_begin_ && executed_ < window_begin_ + window_; }
    /// The entry is over. How many instructions there are of a window that was begun.
    std::size_t cut_short() const { return is_in_window() ? executed_ - window_begin_ : 0; }
    std::uint64_t executed() const { return executed_; }
    /// The instructions that each of so many windows stands for, in order; together all that was executed.
    std::vector<double> stand_for(std::size_t windows) const;

    static constexpr std::size_t shortest_window = 100;  ///< instructions; what has fewer is no window

  private:
    std::uint64_t stretch_end(std::size_t stretch) const;
    void place_window();

    std::uint64_t window_, seed_, executed_ = 0, window_begin_ = 0;
    std::size_t stretch_ = 0;
};

/// Each entry as one moment: its windows as often as they are in what they stand for. Moments stand for the time that
/// they take on the target, all of them together for `native_ns`, unless that is 0.
std::vector<WindowFacts> moments_of(const std::vector<EntryWindow>& windows, std::uint32_t region, double native_ns,
                                    const ModelledCpu& cpu);

/// How many simulated instructions, each of which stands for the same number of others, would say as much of the
/// region.
double like_so_many_instructions(const std::vector<EntryWindow>& windows, std::uint32_t region);

/// Of windows of the whole command: the time that they stand for in a region, and the instructions that they have of
/// it.
struct SeenInRegion {
    double native_ns = 0, instructions = 0;
};
/// For how much time the entries are to stand beside windows of the whole command: both know the whole region, so
/// that each counts as what it has of it. 0: for their own.
double time_of_entries(const SeenInRegion& whole, const std::vector<EntryWindow>& windows, std::uint32_t region);

/// Appends the windows of the region, with the times that they stand for, to those of the whole command. All windows of
/// entries are of this region.
void append_entries(std::vector<EntryWindow>& entries, const SeenInRegion& whole, const ModelledCpu& cpu,
                    std::vector<WindowFacts>& windows);

}  // namespace tmaprobe::model
