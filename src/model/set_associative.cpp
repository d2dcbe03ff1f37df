#include "model/set_associative.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tmaprobe::model {
namespace {

template <class Tag>
constexpr Tag nothing = static_cast<Tag>(~Tag{0});

/// Where in a set the tag is; the number of ways when it is not there, or nothing ever was.
template <class Tag>
std::size_t place_of(const Tag* set, std::size_t ways, Tag tag) {
    if (!set) return ways;
    constexpr std::size_t at_once = 64;
    if (*set == tag) return 0;
    // Of few, all are compared: where a loop ends that ends with the one that is looked for, no core foretells.
    if (ways > at_once) return static_cast<std::size_t>(std::find(set, set + ways, tag) - set);
    std::uint64_t found = 0;
    for (std::size_t way = 1; way < ways; ++way) found |= std::uint64_t{set[way] == tag} << way;
    return found ? static_cast<std::size_t>(std::countr_zero(found)) : ways;
}

}  // namespace

SetAssociative::SetAssociative(std::uint64_t entries, int ways, std::size_t makes_room_among)
    : among_(std::max<std::size_t>(1, makes_room_among)) {
    if (entries == 0) return;
    constexpr std::uint64_t many_sets = 4096;
    ways_ = ways <= 0 ? entries : std::min<std::uint64_t>(static_cast<std::uint64_t>(ways), entries);
    among_ = std::min(among_, ways_);
    sets_ = std::max<std::uint64_t>(1, entries / ways_);
    power_of_two_ = std::has_single_bit(sets_);
    shift_ = static_cast<unsigned>(std::countr_zero(sets_));
    short_tags_ = sets_ >= many_sets;
    if (short_tags_)
        small_ = SharedRows<std::uint32_t>(sets_, ways_, nothing<std::uint32_t>);
    else
        large_ = SharedRows<std::uint64_t>(sets_, ways_, nothing<std::uint64_t>);
}

void SetAssociative::prepare(std::uint64_t key) const {
    if (ways_ == 0) return;
    with_tag(*this, key, [&](const auto& rows, auto) { __builtin_prefetch(rows.look(set_of(key))); });
}

bool SetAssociative::find(std::uint64_t key) {
    if (ways_ == 0) return false;
    return with_tag(*this, key, [&](auto& rows, auto tag) {
        const std::size_t place = place_of(rows.look(set_of(key)), ways_, tag);
        if (place == ways_) return false;
        if (place > 0 && among_ < ways_) {
            auto* set = rows.change(set_of(key));
            std::rotate(set, set + place, set + place + 1);
        }
        return true;
    });
}

std::optional<std::size_t> SetAssociative::used_since(std::uint64_t key) const {
    if (ways_ == 0) return {};
    return with_tag(*this, key, [&](const auto& rows, auto tag) -> std::optional<std::size_t> {
        const std::size_t place = place_of(rows.look(set_of(key)), ways_, tag);
        return place < ways_ ? std::optional(place) : std::nullopt;
    });
}

std::size_t SetAssociative::place_to_make_room() {
    if (among_ == 1) return ways_ - 1;
    // Xorshift: the same choices in every run.
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return ways_ - among_ + random_ % among_;
}

std::optional<std::uint64_t> SetAssociative::insert(std::uint64_t key) {
    if (ways_ == 0) return {};
    return with_tag(*this, key, [&](auto& rows, auto tag) -> std::optional<std::uint64_t> {
        using Tag = decltype(tag);
        Tag* set = rows.change(set_of(key));
        Tag* last = set + ways_ - 1;
        Tag* out = *last == nothing<Tag> ? last : set + place_to_make_room();
        const Tag evicted = *out;
        std::copy_backward(set, out, out + 1);
        *set = tag;
        if (evicted == nothing<Tag>) return {};
        return std::uint64_t{evicted} * sets_ + set_of(key);
    });
}

void SetAssociative::erase(std::uint64_t key) {
    if (ways_ == 0) return;
    with_tag(*this, key, [&](auto& rows, auto tag) {
        using Tag = decltype(tag);
        const std::size_t place = place_of(std::as_const(rows).look(set_of(key)), ways_, tag);
        if (place == ways_) return;
        Tag* set = rows.change(set_of(key));
        std::copy(set + place + 1, set + ways_, set + place);
        set[ways_ - 1] = nothing<Tag>;
    });
}

}  // namespace tmaprobe::model
