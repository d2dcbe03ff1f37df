#include "model/llvm/schedule.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace tmaprobe::model::core {
namespace {

/// Registers whose every width is one unit.
bool is_whole_general(llvm::StringRef name, bool x86) {
    unsigned number = 0;
    if (x86) {
        static constexpr const char* names[] = {"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI"};
        if (std::find(std::begin(names), std::end(names), name) != std::end(names)) return true;
        return name.consume_front("R") && !name.getAsInteger(10, number);
    }
    return name == "FP" || name == "LR" || name == "SP" || (name.consume_front("X") && !name.getAsInteger(10, number));
}

bool is_whole_vector(llvm::StringRef name, bool x86) {
    unsigned number = 0;
    return (name.consume_front(x86 ? "ZMM" : "Z")) && !name.getAsInteger(10, number);
}

/// Modes and the like, which programs hardly ever change, and what is always zero.
bool carries_nothing(llvm::StringRef name) {
    static constexpr const char* names[] = {"MXCSR", "FPCW", "FPCR", "FPSR",    "SSP",     "DF", "RIP", "EIP",
                                            "IP",    "EIZ",  "RIZ",  "XZR",     "WZR",     "CS", "DS",  "ES",
                                            "FS",    "GS",   "SS",   "FS_BASE", "GS_BASE", "VG", "FFR"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// "SPRPort00", "SPRPort01" are "p00", "p01"; "Zn4ALU0", "Zn4Load" are "ALU0", "Load".
std::vector<std::string> without_common_beginning(std::vector<std::string> names) {
    if (names.size() < 2) return names;
    std::size_t common = names[0].size();
    for (const std::string& name : names) {
        std::size_t same = 0;
        while (same < std::min({common, name.size() - 1, names[0].size()}) && name[same] == names[0][same]) ++same;
        common = same;
    }
    for (std::string& name : names) {
        name.erase(0, common);
        if (std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(name.begin(), 'p');
    }
    return names;
}

}  // namespace

Schedule::Schedule(const LlvmTarget& target, const CoreParameters& parameters)
    : target_(target), model_(target.subtarget->getSchedModel()) {
    number_ports(parameters.units);
    number_units(parameters.architecture == "x86_64");
    if (parameters.scheduler) schedulers_ = {{~std::uint64_t{0}, parameters.scheduler, false}};
    divide(parameters.schedulers);
}

void Schedule::divide(const std::vector<events::PortScheduler>& schedulers) {
    for (const events::PortScheduler& scheduler : schedulers) {
        std::uint64_t ports = 0;
        for (const std::string& port : scheduler.ports) ports |= ports_of(port);
        if (schedulers_.size() == most_pools) return;
        divided_ |= static_cast<std::uint16_t>(1u << schedulers_.size());
        schedulers_.push_back({ports, scheduler.entries, scheduler.takes_one});
    }
}

std::vector<std::uint64_t> Schedule::groups(bool single) const {
    std::vector<std::uint64_t> groups;
    if (single) {
        for (std::size_t port = 0; port < port_names_.size(); ++port) groups.push_back(std::uint64_t{1} << port);
        return groups;
    }
    for (std::size_t i = 0; i < schedulers_.size(); ++i)
        if (divided_ >> i & 1) groups.push_back(schedulers_[i].ports);
    return groups;
}

void Schedule::number_ports(const std::vector<std::string>& units) {
    const unsigned kinds = model_.getNumProcResourceKinds();
    ports_.assign(kinds, 0);
    unsigned next = 0;
    for (unsigned i = 1; i < kinds; ++i) {
        const llvm::MCProcResourceDesc& resource = *model_.getProcResource(i);
        if (resource.SubUnitsIdxBegin) continue;
        for (unsigned unit = 0; unit < resource.NumUnits && next < most_ports; ++unit) {
            ports_[i] |= std::uint64_t{1} << next++;
            port_names_.push_back(resource.Name + (resource.NumUnits > 1 ? std::to_string(unit) : ""));
        }
    }
    port_names_ = without_common_beginning(std::move(port_names_));
    first_unit_ = port_names_.size();
    for (const std::string& unit : units)
        if (port_names_.size() < most_ports) port_names_.push_back(unit);
    for (unsigned i = 1; i < kinds; ++i) {
        const llvm::MCProcResourceDesc& resource = *model_.getProcResource(i);
        if (!resource.SubUnitsIdxBegin) continue;
        for (unsigned unit = 0; unit < resource.NumUnits; ++unit) ports_[i] |= ports_[resource.SubUnitsIdxBegin[unit]];
    }
    unsigned load_queue = 0, store_queue = 0;
    if (model_.hasExtraProcessorInfo()) {
        load_queue = model_.getExtraProcessorInfo().LoadQueueID;
        store_queue = model_.getExtraProcessorInfo().StoreQueueID;
    }
    for (unsigned i = 1; i < kinds; ++i) {
        const int entries = model_.getProcResource(i)->BufferSize;
        if (entries > 1 && i != load_queue && i != store_queue && schedulers_.size() < most_pools)
            schedulers_.push_back({ports_[i], static_cast<unsigned>(entries), false});
    }
}

void Schedule::number_units(bool x86) {
    const llvm::MCRegisterInfo& registers = *target_.registers;
    const unsigned count = registers.getNumRegs();
    constexpr Unit none = 0xffff;
    std::vector<Unit> of_register_unit(registers.getNumRegUnits(), none);
    units_.resize(count);
    general_.assign(count, false);
    vector_.assign(count, false);
    Unit next = 0;
    const auto whole = [&](unsigned id, std::vector<bool>& kind) {
        for (const auto unit : registers.regunits(id)) of_register_unit[unit] = next;
        for (llvm::MCSubRegIterator part(id, &registers, true); part.isValid(); ++part) kind[*part] = true;
        ++next;
    };
    for (unsigned id = 1; id < count; ++id) {
        const llvm::StringRef name = registers.getName(id);
        if (is_whole_general(name, x86)) whole(id, general_);
    }
    general_units_ = next;
    for (unsigned id = 1; id < count; ++id)
        if (is_whole_vector(registers.getName(id), x86)) whole(id, vector_);
    carry_ = next++;
    other_flags_ = next++;
    for (unsigned id = 1; id < count; ++id) {
        const llvm::StringRef name = registers.getName(id);
        if (carries_nothing(name)) continue;
        if (name == (x86 ? "RSP" : "SP")) stack_pointer_ = id;
        if (name == (x86 ? "RBP" : "FP")) frame_pointer_ = id;
        if (name == "EFLAGS" || name == "NZCV") {
            units_[id] = {carry_, other_flags_};
            continue;
        }
        for (const auto unit : registers.regunits(id)) {
            Unit& own = of_register_unit[unit];
            if (own == none && next < most_units) own = next++;
            if (own != none && std::find(units_[id].begin(), units_[id].end(), own) == units_[id].end())
                units_[id].push_back(own);
        }
    }
}

std::uint64_t Schedule::ports_of(const std::string& resource) const {
    if (const std::size_t plus = resource.find('+'); plus != std::string::npos) {
        const std::uint64_t one = ports_of(resource.substr(0, plus)), others = ports_of(resource.substr(plus + 1));
        return one && others ? one | others : 0;
    }
    for (std::size_t unit = first_unit_; unit < port_names_.size(); ++unit)
        if (port_names_[unit] == resource) return std::uint64_t{1} << unit;
    // LLVM's names begin with its short name of the core, which cores of one family differ in.
    for (unsigned i = 1; i < model_.getNumProcResourceKinds(); ++i)
        if (llvm::StringRef(model_.getProcResource(i)->Name).ends_with(resource)) return ports_[i];
    return 0;
}

std::uint16_t Schedule::pools_of(std::uint64_t ports) const {
    if (is_unit(ports)) return 0;
    std::uint16_t pools = 0;
    for (std::size_t i = 0; i < schedulers_.size(); ++i)
        if ((divided_ >> i & 1) && (ports & schedulers_[i].ports)) pools |= static_cast<std::uint16_t>(1u << i);
    if (pools) return pools;
    // The narrowest.
    const Scheduler* best = nullptr;
    for (const Scheduler& scheduler : schedulers_)
        if ((ports & ~scheduler.ports) == 0 && (!best || std::popcount(scheduler.ports) < std::popcount(best->ports)))
            best = &scheduler;
    return best ? static_cast<std::uint16_t>(1u << (best - schedulers_.data())) : std::uint16_t{0};
}

std::optional<Scheduled> Schedule::of(const llvm::MCInst& code) const {
    const llvm::MCSubtargetInfo& subtarget = *target_.subtarget;
    unsigned number = target_.instructions->get(code.getOpcode()).getSchedClass();
    const llvm::MCSchedClassDesc* description = model_.getSchedClassDesc(number);
    while (description->isVariant()) {
        number = subtarget.resolveVariantSchedClass(number, &code, target_.instructions.get(), model_.getProcessorID());
        if (!number) return std::nullopt;
        description = model_.getSchedClassDesc(number);
    }
    if (!description->isValid()) return std::nullopt;
    Scheduled out;
    out.description = description;
    out.micro_ops = description->NumMicroOps;
    constexpr int unknown_latency = 100;
    const int latency = llvm::MCSchedModel::computeInstrLatency(subtarget, *description);
    out.latency = static_cast<unsigned>(latency < 0 ? unknown_latency : latency);

    // LLVM counts the use of a port again for each group around it, of the same ports too: what is left is each entry's
    // own.
    struct Entry {
        std::uint64_t ports;
        int cycles;
        bool group;
    };
    std::vector<Entry> entries;
    for (const auto* entry = subtarget.getWriteProcResBegin(description);
         entry != subtarget.getWriteProcResEnd(description); ++entry) {
        const int cycles = static_cast<int>(entry->ReleaseAtCycle) - static_cast<int>(entry->AcquireAtCycle);
        const bool group = model_.getProcResource(entry->ProcResourceIdx)->SubUnitsIdxBegin != nullptr;
        if (cycles > 0 && ports_[entry->ProcResourceIdx])
            entries.push_back({ports_[entry->ProcResourceIdx], cycles, group});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return std::popcount(a.ports) < std::popcount(b.ports); });
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].cycles <= 0) continue;
        for (std::size_t j = i + 1; j < entries.size(); ++j)
            if (entries[j].group && (entries[i].ports & ~entries[j].ports) == 0) entries[j].cycles -= entries[i].cycles;
        out.ports.push_back(
            {entries[i].ports, static_cast<std::uint8_t>(std::min(entries[i].cycles, 255)), Part::operation, 0});
    }
    return out;
}

unsigned Schedule::latency(const Scheduled& facts, unsigned definition) const {
    if (definition >= facts.description->NumWriteLatencyEntries) return facts.latency;
    const int cycles = target_.subtarget->getWriteLatencyEntry(facts.description, definition)->Cycles;
    return cycles < 0 ? facts.latency : static_cast<unsigned>(cycles);
}

std::optional<unsigned> Schedule::plain_latency(unsigned opcode) const {
    const llvm::MCSchedClassDesc* description =
        model_.getSchedClassDesc(target_.instructions->get(opcode).getSchedClass());
    if (!description->isValid() || description->isVariant()) return std::nullopt;
    const int latency = llvm::MCSchedModel::computeInstrLatency(*target_.subtarget, *description);
    return latency < 0 ? std::nullopt : std::optional(static_cast<unsigned>(latency));
}

int Schedule::advance(const Scheduled& facts, unsigned use) const {
    return target_.subtarget->getReadAdvanceCycles(facts.description, use, 0);
}

CoreParameters Schedule::completed(CoreParameters parameters) const {
    if (model_.hasExtraProcessorInfo()) {
        const llvm::MCExtraProcessorInfo& info = model_.getExtraProcessorInfo();
        const auto entries = [&](unsigned resource) {
            return resource ? static_cast<unsigned>(std::max(0, model_.getProcResource(resource)->BufferSize)) : 0u;
        };
        if (!parameters.retire_width) parameters.retire_width = info.MaxRetirePerCycle;
        if (!parameters.load_buffer) parameters.load_buffer = entries(info.LoadQueueID);
        if (!parameters.store_buffer) parameters.store_buffer = entries(info.StoreQueueID);
        // LLVM's first file is the one without limits. Which of the next is of general registers, those say that it
        // holds.
        constexpr unsigned architectural = 32;
        for (unsigned file = 1; file < info.NumRegisterFiles; ++file) {
            const llvm::MCRegisterFileDesc& description = info.RegisterFiles[file];
            const unsigned all = description.NumPhysRegs;
            const unsigned to_rename = all > 2 * architectural ? all - architectural : 0;
            for (unsigned i = 0; i < description.NumRegisterCostEntries; ++i) {
                const auto& held = info.RegisterCostTable[description.RegisterCostEntryIdx + i];
                const auto& of_class = target_.registers->getRegClass(held.RegisterClassID);
                if (of_class.getNumRegs() == 0) continue;
                const unsigned first = of_class.getRegister(0);
                if (general_[first] && !parameters.general_registers) parameters.general_registers = to_rename;
                if (vector_[first] && !parameters.vector_registers) parameters.vector_registers = to_rename;
                if (general_[first] && held.AllowMoveElimination) parameters.eliminates_general_moves = true;
                if (vector_[first] && held.AllowMoveElimination) parameters.eliminates_vector_moves = true;
            }
        }
    }
    if (!parameters.reorder_buffer)
        parameters.reorder_buffer = std::max(32u, static_cast<unsigned>(model_.MicroOpBufferSize));
    if (!parameters.slot_width) parameters.slot_width = model_.IssueWidth;
    if (!parameters.retire_width) parameters.retire_width = parameters.slot_width;
    return parameters;
}

}  // namespace tmaprobe::model::core
