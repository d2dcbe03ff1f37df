#pragma once

#include <functional>

namespace tmaprobe::timing {

/// How a core foretells indirect branches (calls through pointers, jump tables) that do not always go to the same
/// place.
enum class IndirectPrediction : unsigned char {
    not_known,
    by_history,     ///< by what came before them, as cores of today do
    by_last_target  ///< each to where it went last: so are cores set by some hosts, against attacks on the predictor
};

/// Nanoseconds of a call through a pointer, the fastest of many: always of one function, or of two in turn.
struct IndirectCalls {
    double same_ns = 0, in_turn_ns = 0;
};

/// Some 0.2 ms of the calling thread.
IndirectCalls time_indirect_calls();

/// In turn is a history of two, which every such predictor knows: two in turn then take as long as one, and not the
/// half dozen nanoseconds of a misprediction more. Not known where the times lie between, or there are none.
IndirectPrediction judge_indirect_calls(const IndirectCalls& calls);

/// Both, some times over: known where one try is enough to tell, since nothing that disturbs makes calls faster.
IndirectPrediction indirect_prediction(const std::function<IndirectCalls()>& time = time_indirect_calls);

}  // namespace tmaprobe::timing
