#include "model/executed_runs.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/hash.h"

namespace tmaprobe::model {
namespace {

using counters::ExecutedRun;

struct HashOfRun {
    std::size_t operator()(const ExecutedRun& run) const {
        return (((run.begin * golden_factor) ^ run.last) * golden_factor ^ run.next) * golden_factor >> 7;
    }
};

/// Follows a thread from run to run, and from calls to their returns.
class Following {
  public:
    explicit Following(const trace::Trace& trace) : trace_(trace) {}

    std::unordered_set<ExecutedRun, HashOfRun> runs() {
        for (std::size_t step = 0; step + 1 < trace_.steps.size(); ++step)
            leave(instruction(step), instruction(step + 1).address);
        if (!trace_.steps.empty()) end(instruction(trace_.steps.size() - 1), 0);
        for (const Call& call : calls_) runs_.insert(call.run);
        return std::move(runs_);
    }

  private:
    /// A call that has not returned, and the run that it ends.
    struct Call {
        ExecutedRun run;
        std::uint64_t returns_to = 0;
    };

    const trace::StaticInstruction& instruction(std::size_t step) const {
        return trace_.instructions[trace_.steps[step].instruction];
    }

    void leave(const trace::StaticInstruction& from, std::uint64_t next) {
        if (!begin_) begin_ = from.address;
        const std::uint64_t after = from.address + from.length;
        if (from.returns) return came_back(from, next);
        // A call of what comes next asks for its own address and does not return.
        if (from.call && next != after) {
            calls_.push_back({{begin_, from.address, 0}, after});
            begin_ = 0;
            return;
        }
        const bool goes_on = next == after || next == from.address;  // or repeats itself, as string instructions do
        if (!from.branch && goes_on) return;
        // What no branch leads to is another piece of the thread: a signal's handler, or a part that was left out.
        const bool jumps = from.branch && (from.indirect || next == after || next == from.target);
        end(from, jumps ? next : 0);
    }

    void came_back(const trace::StaticInstruction& from, std::uint64_t next) {
        end(from, 0);
        const auto call =
            std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& one) { return one.returns_to == next; });
        if (call == calls_.rend()) {
            give_up(calls_.begin());
            return;
        }
        call->run.next = next;
        runs_.insert(call->run);
        give_up(call.base());
        calls_.pop_back();
    }

    /// Of the calls from here on nobody will see the return.
    void give_up(std::vector<Call>::iterator first) {
        for (auto call = first; call != calls_.end(); ++call) runs_.insert(call->run);
        calls_.erase(first, calls_.end());
    }

    void end(const trace::StaticInstruction& last, std::uint64_t next) {
        runs_.insert({begin_ ? begin_ : last.address, last.address, next});
        begin_ = 0;
    }

    const trace::Trace& trace_;
    std::unordered_set<ExecutedRun, HashOfRun> runs_;
    std::vector<Call> calls_;
    std::uint64_t begin_ = 0;  ///< of the run that goes on; 0: none
};

}  // namespace

counters::ExecutedRuns executed_runs(const trace::Trace& trace, const OwnAddresses& addresses) {
    std::vector<ExecutedRun> sorted;
    for (const ExecutedRun& run : Following(trace).runs())
        sorted.push_back({addresses.real_code(run.begin), addresses.real_code(run.last),
                          run.next ? addresses.real_code(run.next) : 0});
    std::ranges::sort(sorted);
    counters::ExecutedRuns runs;
    for (const ExecutedRun& run : sorted) runs.add(run);
    return runs;
}

}  // namespace tmaprobe::model
