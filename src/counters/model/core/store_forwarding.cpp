#include "counters/model/core/store_forwarding.h"

#include <algorithm>

namespace tmaprobe::counters::model::core {
namespace {

constexpr std::uint64_t place_bytes = 8;
constexpr unsigned no_operand = 1000;  // beyond any operand that a scheduling model speaks of

bool is_unused_by_programs(llvm::StringRef name, bool x86) {
    unsigned number = 0;
    for (const char* prefix : {"CR", "DR", "ZAQ"}) {
        llvm::StringRef digits = name;
        if (digits.consume_front(prefix) && !digits.getAsInteger(10, number)) return x86 == (prefix[0] != 'Z');
    }
    return false;
}

}  // namespace

StoreForwarding::StoreForwarding(const Target& target, const CoreParameters& parameters) : parameters_(parameters) {
    const bool x86 = parameters.architecture == "x86_64";
    for (unsigned id = 1; id < target.registers->getNumRegs(); ++id)
        if (is_unused_by_programs(target.registers->getName(id), x86)) carriers_.push_back(id);
    places_.assign(carriers_.size(), 0);
}

unsigned StoreForwarding::carrier_of(std::uint64_t place) const {
    const auto found = std::find(places_.begin(), places_.end(), place);
    return found == places_.end() ? 0 : carriers_[static_cast<std::size_t>(found - places_.begin())];
}

unsigned StoreForwarding::new_carrier(std::uint64_t place) {
    if (const unsigned known = carrier_of(place)) return known;
    places_[next_] = place;
    const unsigned carrier = carriers_[next_];
    next_ = (next_ + 1) % carriers_.size();
    return carrier;
}

void StoreForwarding::connect(Dynamic& dynamic) {
    const StaticInstruction& what = dynamic.owner.what;
    if (carriers_.empty() || what.string || what.prefetch) return;
    const unsigned forward = parameters_.store_forward_cycles, load = parameters_.load_cycles;
    if (const unsigned carrier = dynamic.step.load ? carrier_of(dynamic.step.load / place_bytes) : 0) {
        dynamic.wait_for(carrier, no_operand);
        if (forward < load && !what.locked) dynamic.hasten(load - forward, load);
    }
    if (!dynamic.step.store) return;
    // The load at the other end takes its own time; what is left is the way through the store buffer.
    const unsigned on_the_way = forward > load && !what.locked ? forward - load : 0;
    const unsigned own = dynamic.step.load ? dynamic.description.MaxLatency : 1;
    dynamic.announce(new_carrier(dynamic.step.store / place_bytes), own + on_the_way);
}

}  // namespace tmaprobe::counters::model::core
