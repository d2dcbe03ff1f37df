#include "model/region_wish.h"

#include <utility>

namespace tmaprobe::model {

std::vector<trace::RegionFunction> watched_functions(const RegionWish& wish) {
    std::vector<trace::RegionFunction> all;
    for (std::size_t i = 0; i < wish.functions.size(); ++i)
        for (trace::RegionFunction place : wish.functions[i].places) {
            place.region = trace::first_function_region + static_cast<std::uint32_t>(i);
            all.push_back(std::move(place));
        }
    return all;
}

}  // namespace tmaprobe::model
