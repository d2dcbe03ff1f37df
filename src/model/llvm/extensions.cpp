#include "model/llvm/extensions.h"

#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <unordered_map>

#include "events/instruction_sets.h"
#include "model/llvm/target.h"

namespace tmaprobe::model::core {
namespace {

using events::X86Prefix;

/// What comes first, but for prefixes of segments and sizes of addresses.
X86Prefix encoding_of(const std::array<std::uint8_t, 16>& bytes, std::size_t length) {
    std::size_t at = 0;
    const auto is_prefix = [](std::uint8_t byte) {
        return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65 ||
               byte == 0x67;
    };
    while (at < length && is_prefix(bytes[at])) ++at;
    if (at + 1 >= length) return X86Prefix::legacy;
    if (bytes[at] == 0x62) return X86Prefix::evex;
    if (bytes[at] == 0xc4 || bytes[at] == 0xc5) return X86Prefix::vex;
    // Below 8 it is a pop.
    return bytes[at] == 0x8f && (bytes[at + 1] & 0x1f) >= 8 ? X86Prefix::xop : X86Prefix::legacy;
}

class LlvmExtensions final : public Extensions {
  public:
    LlvmExtensions(std::unique_ptr<LlvmTarget> target, std::string triple, bool x86)
        : target_(std::move(target)), triple_(std::move(triple)), x86_(x86) {
        for (const auto& feature : target_->subtarget->getAllProcessorFeatures()) known_.insert(feature.Key);
    }

    Result<> take(const events::InstructionSets& sets) {
        for (const events::InstructionSet& set : sets.x86_64)
            if (x86_) rows_.push_back({set, std::regex(set.instructions, std::regex::optimize)});
        if (!x86_) arm_ = sets.aarch64;
        for (const Row& row : rows_) TRY(check(row.set.feature));
        for (const std::string& feature : arm_) TRY(check(feature));
        return {};
    }

    std::vector<std::string> needed(const std::array<std::uint8_t, 16>& bytes, std::uint8_t length) override {
        return x86_ ? needed_on_x86(bytes, length) : needed_on_arm(bytes, length);
    }

    bool has(const std::string& llvm_cpu, const std::string& feature) override {
        if (!target_->subtarget->isCPUStringValid(llvm_cpu) || !known_.contains(feature)) return true;
        auto& cpu = cpus_[llvm_cpu];
        if (!cpu) cpu = subtarget(llvm_cpu, "");
        return cpu->checkFeatures("+" + feature);
    }

  private:
    struct Row {
        events::InstructionSet set;
        std::regex names;
    };

    Result<> check(const std::string& feature) const {
        if (known_.contains(feature)) return {};
        return fail(ErrorCode::bad_input, "instruction-sets.json: LLVM knows no feature '" + feature + "'");
    }

    std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string& cpu, const std::string& features) const {
        std::string message;
        const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple_, message);
        return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(triple_, cpu, features));
    }

    bool decode(llvm::MCDisassembler& decoder, const std::array<std::uint8_t, 16>& bytes, std::size_t length,
                llvm::MCInst& out) const {
        std::uint64_t size = 0;
        llvm::ArrayRef<std::uint8_t> rest(bytes.data(), length);
        // LLVM gives some prefixes as instructions of their own: what is meant comes last.
        while (!rest.empty()) {
            if (decoder.getInstruction(out, size, rest, 0, llvm::nulls()) != llvm::MCDisassembler::Success || !size)
                return false;
            rest = rest.drop_front(std::min<std::size_t>(size, rest.size()));
        }
        return true;
    }

    std::vector<std::string> needed_on_x86(const std::array<std::uint8_t, 16>& bytes, std::uint8_t length) {
        llvm::MCInst instruction;
        if (!decode(*target_->disassembler, bytes, length, instruction)) return {};
        const X86Prefix encoding = encoding_of(bytes, length);
        const auto key = std::pair(instruction.getOpcode(), encoding);
        if (const auto found = by_opcode_.find(key); found != by_opcode_.end()) return found->second;
        const std::string name = target_->instructions->getName(instruction.getOpcode()).str();
        std::vector<std::string> features;
        for (const Row& row : rows_)
            if ((!row.set.encoding || *row.set.encoding == encoding) && std::regex_match(name, row.names) &&
                std::ranges::find(features, row.set.feature) == features.end())
                features.push_back(row.set.feature);
        return by_opcode_[key] = features;
    }

    /// The decoder refuses what it was not told of.
    std::vector<std::string> needed_on_arm(const std::array<std::uint8_t, 16>& bytes, std::uint8_t length) {
        if (decoders_.empty()) {
            add_decoder("");
            for (const std::string& feature : arm_) add_decoder(feature);
        }
        std::uint32_t word = 0;
        std::copy_n(bytes.begin(), sizeof word, reinterpret_cast<std::uint8_t*>(&word));
        const auto [known, is_new] = by_word_.try_emplace(word);
        for (const Decoder& decoder : decoders_) {
            llvm::MCInst instruction;
            if (!is_new || !decode(*decoder.decoder, bytes, length, instruction)) continue;
            if (!decoder.feature.empty()) known->second = {decoder.feature};
            break;
        }
        return known->second;
    }

    struct Decoder {
        std::string feature;
        std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
        std::unique_ptr<llvm::MCDisassembler> decoder;
    };

    void add_decoder(const std::string& feature) {
        std::string message;
        const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple_, message);
        Decoder one{feature, subtarget("generic", feature.empty() ? "" : "+" + feature), nullptr};
        one.decoder.reset(target->createMCDisassembler(*one.subtarget, *target_->context));
        decoders_.push_back(std::move(one));
    }

    std::unique_ptr<LlvmTarget> target_;
    std::string triple_;
    bool x86_;
    std::set<std::string> known_;
    std::vector<Row> rows_;
    std::vector<std::string> arm_;
    std::vector<Decoder> decoders_;
    std::map<std::pair<unsigned, X86Prefix>, std::vector<std::string>> by_opcode_;
    std::unordered_map<std::uint32_t, std::vector<std::string>> by_word_;
    std::map<std::string, std::unique_ptr<llvm::MCSubtargetInfo>> cpus_;
};

}  // namespace

Result<std::unique_ptr<Extensions>> make_extensions(const events::Library& library, const std::string& architecture) {
    const bool x86 = architecture == "x86_64";
    auto target = TRY(make_target(architecture, x86 ? "x86-64" : "neoverse-n1"));
    auto extensions = std::make_unique<LlvmExtensions>(std::move(target), architecture + "-unknown-linux-gnu", x86);
    TRY(extensions->take(TRY(events::read_instruction_sets(library))));
    return extensions;
}

}  // namespace tmaprobe::model::core
