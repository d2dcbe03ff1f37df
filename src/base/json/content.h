#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"

namespace tmaprobe::json {

/// Part of Content::text.
struct Slice {
    std::uint32_t begin = 0, length = 0;
};

/// One value as a document keeps it.
struct Item {
    using Kind = Value::Kind;
    Kind kind = Kind::null;
    std::uint32_t next = 0;  ///< index behind this value and all that is in it
    Slice key;
    union {
        bool boolean;
        std::uint64_t count;
        std::int64_t negative;
        double number;
        Slice text;
        std::uint32_t children;
    };
    Item() : count(0) {}
};

/// What a document owns.
struct Content {
    std::vector<Item> items;
    std::string text;  ///< of all keys and texts, one behind the other

    std::string_view view(Slice slice) const { return {text.data() + slice.begin, slice.length}; }
};

}  // namespace tmaprobe::json
