#pragma once

#include <vector>

#include "model/event_counter.h"

namespace tmaprobe::model {

using Column = std::vector<double>;  ///< a number for each window

double product(const Column& one, const Column& other);

/// What a window has so much of, and how much of that is in all that no window had.
struct Regressor {
    Column windows;
    double others = 0;
    EventCounts made_of{};  ///< how much of the events' regressors, where it is orthogonalized
};

/// What an instruction takes depends on the way that leads to it: of two halves of a loop's rounds, what they share may
/// be quick in one. By how often windows went which way they differ from what all instructions take on average; how
/// often the whole run went which way is known. (A regression estimate, orthogonalized from the most frequent on.)
/// The same holds for what happened to it.
class TakenOut {
  public:
    /// `apart`: by how much windows differ; what is taken out is taken out of it.
    explicit TakenOut(Column& apart) : apart_(apart), fitted_(apart.size()) {}

    /// Takes out what follows from events: one regressor for each.
    void take_out_events(std::vector<Regressor> events);
    /// Takes out what follows from the ways that windows went.
    void take_out_ways(std::vector<Regressor> ways);

    double cycles() const { return cycles_; }                 ///< in all that no window had
    const EventCounts& of_events() const { return events_; }  ///< cycles that each event takes
    /// What is left of each window stands for so many times itself; none: all for the same.
    Column raised() const;

  private:
    Regressor use(Regressor unit, double square);

    Column& apart_;
    Column fitted_;  ///< how much of what a window is like is fitted to itself
    Column raised_;
    double cycles_ = 0;
    EventCounts events_{};
    std::vector<Regressor> used_;
};

}  // namespace tmaprobe::model
