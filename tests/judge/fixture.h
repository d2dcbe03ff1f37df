// What the tests of this room share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "events/table.h"

namespace tmaprobe::judge {

/// The events and metrics of a target; the test fails without them.
inline events::Table table_of(const std::string& target) {
    auto table = events::load({}, target);
    EXPECT_TRUE(table) << table.error().what;
    return table.value_or(events::Table{});
}

}  // namespace tmaprobe::judge
