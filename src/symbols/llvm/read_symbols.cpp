#include "symbols/llvm/read_symbols.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#if TMAPROBE_HAVE_SYMBOLIZER
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugFrame.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>
#include <llvm/Object/ELFObjectFile.h>

#include "symbols/llvm/debug_files.h"
#include "symbols/llvm/disassembly.h"
#include "symbols/llvm/segments.h"
#endif

namespace tmaprobe::symbols {

#if !TMAPROBE_HAVE_SYMBOLIZER

Result<std::vector<Location>> read_symbols(const std::string&, const std::vector<std::uint64_t>&) {
    return fail(ErrorCode::unavailable, "this build cannot read symbols: LLVM 19 was missing when it was configured",
                "run third_party/setup.sh and build again");
}
Result<std::vector<Location>> read_symbols_of_image(const std::string&, const std::vector<std::uint64_t>&) {
    return read_symbols({}, {});
}

Result<std::vector<Variable>> read_variables(const std::string&, const std::vector<std::uint64_t>&) {
    return pass_on(read_symbols({}, {}));
}

Result<std::vector<std::uint64_t>> read_entries(const std::string&, const std::vector<std::uint64_t>&,
                                                const std::vector<ExecutedCode>&) {
    return pass_on(read_symbols({}, {}));
}

#else
namespace {

using llvm::symbolize::LLVMSymbolizer;
using Object = llvm::object::ELFObjectFileBase;

struct Stretch {
    std::uint64_t begin = 0, end = 0;
};

/// What unwinding tables call a function, which stripped programs keep.
std::vector<Stretch> functions_of_unwinding(const Object& object) {
    std::vector<Stretch> functions;
    const auto context = llvm::DWARFContext::create(object);
    auto frames = context->getEHFrame();
    if (!frames) {
        llvm::consumeError(frames.takeError());
        return functions;
    }
    for (const auto& entry : (*frames)->entries())
        if (const auto* one = llvm::dyn_cast<llvm::dwarf::FDE>(&entry))
            functions.push_back({one->getInitialLocation(), one->getInitialLocation() + one->getAddressRange()});
    std::ranges::sort(functions, {}, &Stretch::begin);
    return functions;
}

std::string known(const std::string& text) { return text == llvm::DILineInfo::BadString ? "" : text; }

class Reader {
  public:
    Reader(const Object& object, std::string path) : object_(object), path_(std::move(path)) {
        LLVMSymbolizer::Options options;
        options.PrintFunctions = llvm::DILineInfoSpecifier::FunctionNameKind::LinkageName;
        symbolizer_ = std::make_unique<LLVMSymbolizer>(options);
        symbolizer_->setBuildIDFetcher(std::make_unique<DebugFiles>(object));
    }

    std::vector<Location> read(const std::vector<std::uint64_t>& offsets) {
        const auto segments = segments_of(object_);
        const Disassembly disassembly(object_.getArch());
        const llvm::StringRef bytes = object_.getData();
        std::vector<Location> locations;
        for (const std::uint64_t offset : offsets) {
            Location& location = locations.emplace_back();
            const auto segment = std::ranges::find_if(
                segments, [&](const Segment& one) { return offset - one.offset < one.bytes && offset >= one.offset; });
            if (segment == segments.end()) continue;
            location.address = segment->address + (offset - segment->offset);
            if (offset < bytes.size()) location.instruction = disassembly.text(bytes.substr(offset), location.address);
            look_up(location);
        }
        return locations;
    }

    std::vector<Variable> variables(const std::vector<std::uint64_t>& addresses) {
        const auto segments = segments_of(object_);
        // The first page in memory is the one that the first segment begins in.
        constexpr std::uint64_t page = 4096;
        const std::uint64_t first = segments.empty() ? 0 : segments.front().address / page * page;
        std::vector<Variable> variables;
        for (const std::uint64_t relative : addresses) {
            Variable& variable = variables.emplace_back();
            const std::uint64_t address = first + relative;
            auto found = symbolizer_->symbolizeData(path_, {address, llvm::object::SectionedAddress::UndefSection});
            if (!found) {
                llvm::consumeError(found.takeError());
                continue;
            }
            if (known(found->Name).empty() || address - found->Start >= found->Size) continue;
            variable = {found->Name, known(found->DeclFile), static_cast<unsigned>(found->DeclLine), found->Start,
                        found->Size};
        }
        return variables;
    }

  private:
    void look_up(Location& location) {
        const llvm::object::SectionedAddress address{location.address, llvm::object::SectionedAddress::UndefSection};
        auto found = path_.empty() ? symbolizer_->symbolizeInlinedCode(object_, address)
                                   : symbolizer_->symbolizeInlinedCode(path_, address);
        if (!found) {
            llvm::consumeError(found.takeError());
        } else {
            for (std::uint32_t i = 0; i < found->getNumberOfFrames(); ++i) {
                const auto& frame = found->getFrame(i);
                location.frames.push_back({known(frame.FunctionName), known(frame.FileName), frame.Line});
            }
            const bool nothing = std::ranges::all_of(
                location.frames, [](const Frame& frame) { return frame.function.empty() && frame.line == 0; });
            if (nothing) location.frames.clear();
            if (!nothing) location.begins = found->getFrame(found->getNumberOfFrames() - 1).StartAddress.value_or(0);
        }
        if (location.begins == 0) location.begins = begins_by_unwinding(location.address);
    }

    std::uint64_t begins_by_unwinding(std::uint64_t address) {
        if (!unwinding_) unwinding_ = functions_of_unwinding(object_);
        const auto after = std::ranges::upper_bound(*unwinding_, address, {}, &Stretch::begin);
        if (after == unwinding_->begin()) return 0;
        const Stretch& last = *(after - 1);
        return address < last.end ? last.begin : 0;
    }

    const Object& object_;
    std::string path_;
    std::unique_ptr<LLVMSymbolizer> symbolizer_;
    std::optional<std::vector<Stretch>> unwinding_;
};

/// Walks code that was not executed until it meets code that was.
class Walk {
  public:
    Walk(const Object& object, const std::vector<ExecutedCode>& executed)
        : bytes_(object.getData()), disassembly_(object.getArch()), executed_(executed) {}

    std::vector<std::uint64_t> from(const std::vector<std::uint64_t>& functions) {
        waiting_ = functions;
        while (!waiting_.empty() && walked_.size() < most_instructions) {
            const std::uint64_t begin = waiting_.back();
            waiting_.pop_back();
            step(begin);
        }
        return {entries_.begin(), entries_.end()};
    }

  private:
    /// Distances are the same in the file as in memory, as long as a way stays in its segment.
    void step(std::uint64_t offset) {
        if (offset >= bytes_.size() || !walked_.insert(offset).second) return;
        if (was_executed(offset)) {
            entries_.insert(offset);
            return;
        }
        const auto ways = disassembly_.ways(bytes_.substr(offset), offset);
        if (!ways) return;
        if (ways->target) waiting_.push_back(*ways->target);
        if (ways->goes_on) waiting_.push_back(offset + ways->size);
    }

    bool was_executed(std::uint64_t offset) const {
        const auto after = std::ranges::upper_bound(executed_, offset, {}, &ExecutedCode::begin);
        return after != executed_.begin() && offset <= (after - 1)->last;
    }

    static constexpr std::size_t most_instructions = 2'000'000;

    llvm::StringRef bytes_;
    Disassembly disassembly_;
    const std::vector<ExecutedCode>& executed_;
    std::vector<std::uint64_t> waiting_;
    std::unordered_set<std::uint64_t> walked_;
    std::set<std::uint64_t> entries_;
};

/// `read` is called with the opened ELF file.
template <class T, class Read>
auto with(llvm::Expected<T> opened, const Read& read) -> Result<decltype(read(std::declval<const Object&>()))> {
    if (!opened) return fail(ErrorCode::unavailable, llvm::toString(opened.takeError()));
    const llvm::object::Binary* binary = nullptr;
    if constexpr (requires { opened->getBinary(); })
        binary = opened->getBinary();
    else
        binary = opened->get();
    const auto* object = llvm::dyn_cast<Object>(binary);
    if (!object) return fail(ErrorCode::unavailable, "it is no ELF file");
    return read(*object);
}

}  // namespace

Result<std::vector<Location>> read_symbols(const std::string& path, const std::vector<std::uint64_t>& offsets) {
    return with(llvm::object::createBinary(path),
                [&](const Object& object) { return Reader(object, path).read(offsets); });
}

Result<std::vector<Location>> read_symbols_of_image(const std::string& image,
                                                    const std::vector<std::uint64_t>& offsets) {
    const auto buffer = llvm::MemoryBuffer::getMemBuffer(image, "", false);
    return with(llvm::object::createBinary(buffer->getMemBufferRef()),
                [&](const Object& object) { return Reader(object, "").read(offsets); });
}

Result<std::vector<Variable>> read_variables(const std::string& path, const std::vector<std::uint64_t>& addresses) {
    return with(llvm::object::createBinary(path),
                [&](const Object& object) { return Reader(object, path).variables(addresses); });
}

Result<std::vector<std::uint64_t>> read_entries(const std::string& path, const std::vector<std::uint64_t>& functions,
                                                const std::vector<ExecutedCode>& executed) {
    return with(llvm::object::createBinary(path),
                [&](const Object& object) { return Walk(object, executed).from(functions); });
}

#endif

}  // namespace tmaprobe::symbols
