#include "events/instruction_sets.h"

#include "events/read_data_as.h"

namespace tmaprobe::json {

template <>
struct Description<events::InstructionSet> {
    using S = events::InstructionSet;
    static constexpr auto fields = std::make_tuple(
        field("feature", &S::feature), field("instructions", &S::instructions), optional("encoding", &S::encoding));
};
template <>
struct Description<events::InstructionSets> {
    using S = events::InstructionSets;
    static constexpr auto fields = std::make_tuple(field("x86_64", &S::x86_64), field("aarch64", &S::aarch64));
};

}  // namespace tmaprobe::json

namespace tmaprobe::events {

Result<InstructionSets> read_instruction_sets(const Library& library) {
    return read_data_as<InstructionSets>(library, "instruction-sets.json");
}

}  // namespace tmaprobe::events
