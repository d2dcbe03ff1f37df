#include "trace/target_table.h"

#include "trace/code_emitter.h"

namespace tmaprobe::trace {

bool TargetTable::is_free(std::uint64_t place, std::uint64_t address) const {
    const auto taken = pairs_.find(place);
    return taken == pairs_.end() || taken->second.address == address;
}

std::vector<TargetTable::Pair> TargetTable::enter(std::uint64_t address, std::uint64_t code) {
    constexpr std::size_t most_moves = 12;
    const std::uint64_t first = CodeEmitter::first_place(address);
    Pair pair{is_free(first, address) ? first : CodeEmitter::second_place(address), address, code};
    std::vector<Pair> written;
    while (written.size() <= most_moves) {
        const auto taken = pairs_.find(pair.place);
        const std::optional<Pair> moved = taken != pairs_.end() && taken->second.address != pair.address
                                              ? std::optional(taken->second)
                                              : std::nullopt;
        pairs_[pair.place] = pair;
        written.push_back(pair);
        if (!moved) break;
        pair = *moved;
        const std::uint64_t other = CodeEmitter::first_place(pair.address);
        pair.place = other == moved->place ? CodeEmitter::second_place(pair.address) : other;
    }
    return written;
}

std::optional<std::uint64_t> TargetTable::find(std::uint64_t address) const {
    for (const std::uint64_t place : {CodeEmitter::first_place(address), CodeEmitter::second_place(address)})
        if (const auto pair = pairs_.find(place); pair != pairs_.end() && pair->second.address == address)
            return pair->second.code;
    return std::nullopt;
}

std::vector<TargetTable::Pair> TargetTable::pairs() const {
    std::vector<Pair> pairs;
    for (const auto& [place, pair] : pairs_) pairs.push_back(pair);
    return pairs;
}

}  // namespace tmaprobe::trace
