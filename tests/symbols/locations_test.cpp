#include "symbols/locations.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "base/file.h"
#include "process/mappings.h"

namespace tmaprobe::symbols {
namespace {

namespace fs = std::filesystem;

// Line 2 is inlined into line 5; hidden() is in no table of exported symbols.
constexpr const char* source = R"(
static inline __attribute__((always_inline)) unsigned twice(unsigned x) { return x * 2654435761u; }

__attribute__((noinline)) static unsigned hidden(unsigned x) {
    return twice(x);
}
unsigned visible(unsigned x) {
    return hidden(x) + 1;
}
unsigned (*address_of_hidden(void))(unsigned) { return hidden; }
#ifdef TURNED
__asm__(".text\n.globl turned\n.type turned, @function\n"
        "turned: mov $9, %ecx\n jmp 2f\n 1: nop\n 2: dec %ecx\n jne 1b\n ret\n"
        "jecxz 1b\n jmp 1b\n");
#endif
)";

/// A shared object in a folder of its own, loaded here so that its addresses are known.
class Built {
  public:
    explicit Built(const std::string& options, const std::string& then = {}) {
        std::string pattern = (fs::temp_directory_path() / "tmaprobe_symbols_XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        std::ofstream(folder_ / "s.c") << source;
        const std::string command = "cd " + folder_.string() + " && cc -shared -fPIC -O1 -Wl,--build-id " + options +
                                    " -o s.so s.c" + (then.empty() ? "" : " && " + then);
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
        handle_ = ::dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(handle_, nullptr) << ::dlerror();
    }
    ~Built() {
        if (handle_) ::dlclose(handle_);
        fs::remove_all(folder_);
    }
    const fs::path& folder() const { return folder_; }
    std::string path() const { return (folder_ / "s.so").string(); }

    std::uint64_t offset_of(const void* address) const {
        const auto here = reinterpret_cast<std::uint64_t>(address);
        for (const auto& mapping : process::code_mappings_of(::getpid()))
            if (here >= mapping.begin && here < mapping.end) return here - mapping.begin + mapping.offset;
        ADD_FAILURE() << "not mapped";
        return 0;
    }
    std::uint64_t offset_of_symbol(const char* name) const { return offset_of(::dlsym(handle_, name)); }
    std::uint64_t visible() const { return offset_of_symbol("visible"); }
    std::uint64_t hidden() const {
        const auto give = reinterpret_cast<const void* (*)()>(::dlsym(handle_, "address_of_hidden"));
        return offset_of(give());
    }

  private:
    fs::path folder_;
    void* handle_ = nullptr;
};

/// The instruction of hidden() that comes from twice(), if there is one.
std::optional<Location> inlined_in_hidden(const Built& built) {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t at = built.hidden(); at < built.hidden() + 8; ++at) offsets.push_back(at);
    const auto located = locate(built.path(), offsets);
    if (!located) return std::nullopt;
    for (const Location& location : *located)
        if (location.frames.size() == 2) return location;
    return std::nullopt;
}

void expect_all_known(const Built& built) {
    const auto inlined = inlined_in_hidden(built);
    ASSERT_TRUE(inlined);
    EXPECT_EQ(inlined->frames[0].function, "twice");
    EXPECT_EQ(inlined->frames[0].line, 2u);
    EXPECT_EQ(inlined->frames[1].function, "hidden");
    EXPECT_EQ(inlined->frames[1].line, 5u);
    EXPECT_EQ(fs::path(inlined->frames[0].file).filename(), "s.c");
    const auto located = locate(built.path(), {built.visible()});
    ASSERT_TRUE(located.has_value()) << located.error().what;
    ASSERT_EQ(located->front().frames.size(), 1u);
    EXPECT_EQ(located->front().frames[0].function, "visible");
    EXPECT_GE(located->front().frames[0].line, 7u);
    EXPECT_LE(located->front().frames[0].line, 8u);
    EXPECT_FALSE(located->front().instruction.empty());
}

TEST(Locations, InlinedFunctionsAreShownInThoseThatWereCalled) { expect_all_known(Built("-g")); }

TEST(Locations, CallsNameTheAddressThatTheyGoTo) {
    const Built built("-g");
    std::vector<std::uint64_t> offsets{built.hidden()};
    for (std::uint64_t at = built.visible(); at < built.visible() + 32; ++at) offsets.push_back(at);
    const auto located = locate(built.path(), offsets);
    ASSERT_TRUE(located.has_value()) << located.error().what;
    std::ostringstream target;
    target << "0x" << std::hex << located->front().address;
    EXPECT_TRUE(std::any_of(located->begin() + 1, located->end(), [&](const Location& location) {
        const bool calls = location.instruction.starts_with("call") || location.instruction.starts_with("bl");
        return calls && location.instruction.ends_with(target.str());
    })) << target.str();
}

TEST(Locations, DebugInformationMayBeInDwarf4OrCompressed) {
    expect_all_known(Built("-gdwarf-4"));
    expect_all_known(Built("-g -gz=zlib"));
}

TEST(Locations, DebugInformationMayBeSplitOff) { expect_all_known(Built("-g -gsplit-dwarf")); }

TEST(Locations, DebugInformationIsFoundByItsLink) {
    expect_all_known(Built("-g",
                           "objcopy --only-keep-debug s.so s.debug && strip s.so && "
                           "objcopy --add-gnu-debuglink=s.debug s.so"));
}

TEST(Locations, DebugInformationIsFoundByItsBuildId) {
    if (::access("/usr/lib/debug", W_OK) != 0) GTEST_SKIP() << "/usr/lib/debug is not for this user to write";
    const Built built(
        "-g",
        "objcopy --only-keep-debug s.so s.debug && strip s.so && "
        "readelf -n s.so | sed -n 's/.*Build ID: \\(..\\)\\(.*\\)/\\1 \\2/p' > id && read first rest < id && "
        "echo /usr/lib/debug/.build-id/$first/$rest.debug > where && "
        "mkdir -p /usr/lib/debug/.build-id/$first && cp s.debug $(cat where)");
    expect_all_known(built);
    // The folder of its own goes with it, one that others use stays.
    EXPECT_EQ(std::system(("cd " + built.folder().string() +
                           " && rm $(cat where) && "
                           "(rmdir $(dirname $(cat where)) 2> /dev/null || true)")
                              .c_str()),
              0);
    EXPECT_FALSE(inlined_in_hidden(built)) << "and nowhere else";
}

/// A variable of the environment, until the end of a test.
class Environment {
  public:
    Environment(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        ::setenv(name, value.c_str(), 1);
    }
    ~Environment() {
        if (before_)
            ::setenv(name_, before_->c_str(), 1);
        else
            ::unsetenv(name_);
    }

  private:
    const char* name_;
    std::optional<std::string> before_;
};

TEST(Locations, DebugInformationIsFetchedOnlyIfTheUserNamesServers) {
    const Built built("-g", "objcopy --only-keep-debug s.so s.debug && strip s.so");
    const std::string folder = built.folder().string();
    std::ofstream(folder + "/debuginfod-find")
        << "#!/bin/sh\necho \"$*\" >> " << folder << "/asked\necho " << folder << "/s.debug\n";
    fs::permissions(folder + "/debuginfod-find", fs::perms::owner_all);
    const Environment path("PATH", folder + ":" + std::getenv("PATH"));
    {
        const Environment nobody("DEBUGINFOD_URLS", "");
        EXPECT_FALSE(inlined_in_hidden(built));
        EXPECT_FALSE(fs::exists(folder + "/asked"));
    }
    const Environment servers("DEBUGINFOD_URLS", "http://localhost:1");
    expect_all_known(built);
    std::ifstream asked(folder + "/asked");
    std::string line;
    ASSERT_TRUE(std::getline(asked, line));
    EXPECT_THAT(line, testing::MatchesRegex("debuginfo [0-9a-f]{40}"));
    fs::remove(folder + "/asked");
    const Built whole("-g");
    expect_all_known(whole);
    EXPECT_FALSE(fs::exists(folder + "/asked")) << "who has all of it asks nobody";
}

TEST(Locations, DebugInformationMayBePackedApart) {
    const char* pack = "llvm-dwp -e s.so -o s.so.dwp > /dev/null 2>&1 || dwp -e s.so -o s.so.dwp > /dev/null 2>&1";
    if (std::system("command -v llvm-dwp dwp > /dev/null") != 0) GTEST_SKIP() << "neither llvm-dwp nor dwp is there";
    expect_all_known(Built("-gdwarf-4 -gsplit-dwarf", std::string("(") + pack + ") && rm -f *.dwo"));
}

TEST(Locations, WithoutItsSplitOffPartAFunctionKeepsItsName) {
    const Built built("-g -gsplit-dwarf", "rm -f *.dwo");
    const auto located = locate(built.path(), {built.visible(), built.hidden()});
    ASSERT_TRUE(located.has_value()) << located.error().what;
    for (const std::size_t at : {0, 1}) ASSERT_FALSE(located->at(at).frames.empty());
    EXPECT_EQ(located->at(0).frames.back().function, "visible");
    EXPECT_EQ(located->at(1).frames.back().function, "hidden");
}

TEST(Locations, AStrippedFileHasExportedNamesAndFunctionStarts) {
    const Built built("-fasynchronous-unwind-tables", "strip s.so");
    const auto located = locate(built.path(), {built.visible(), built.hidden()});
    ASSERT_TRUE(located.has_value()) << located.error().what;
    const Location& visible = located->at(0);
    const Location& hidden = located->at(1);
    ASSERT_EQ(visible.frames.size(), 1u);
    EXPECT_EQ(visible.frames[0].function, "visible");
    EXPECT_EQ(visible.frames[0].line, 0u);
    EXPECT_EQ(visible.begins, visible.address);
    for (const Frame& frame : hidden.frames) EXPECT_NE(frame.function, "hidden");
    EXPECT_EQ(hidden.begins, hidden.address) << "from the tables for unwinding";
    EXPECT_FALSE(hidden.instruction.empty());
}

#if defined(__x86_64__)
TEST(Locations, LoopsAreEnteredWhereCodeThatDidNotRunLeads) {
    // 0: mov $9, %ecx; 5: jmp to 8; 7: nop; 8: dec %ecx; 10: jne to 7; 12: ret; 13: jecxz to 7; 16: jmp to 7.
    const Built built("-DTURNED");
    const std::uint64_t turned = built.offset_of_symbol("turned");
    const auto entries_of = [&](const std::vector<std::uint64_t>& functions,
                                const std::vector<ExecutedCode>& executed) {
        return entries(built.path(), functions, executed).value_or(std::vector<std::uint64_t>{0});
    };
    EXPECT_THAT(entries_of({turned}, {{turned + 7, turned + 10}}), testing::ElementsAre(turned + 8));
    EXPECT_THAT(entries_of({turned}, {{turned, turned + 5}, {turned + 7, turned + 10}}), testing::ElementsAre(turned))
        << "not through what was executed";
    EXPECT_THAT(entries_of({turned + 13}, {{turned + 8, turned + 8}}), testing::ElementsAre(turned + 8))
        << "behind a branch back";
    EXPECT_THAT(entries_of({turned, 1ull << 40}, {}), testing::IsEmpty());
    EXPECT_FALSE(entries("/nonexistent", {0}, {}).has_value());
}
#endif

TEST(Locations, OfNoFileOrNoElfFileAreRefused) {
    EXPECT_FALSE(locate("/nonexistent", {0}).has_value());
    EXPECT_FALSE(locate(__FILE__, {0}).has_value());
}

TEST(Locations, AnOffsetThatIsNotLoadedIsNowhere) {
    const auto located = locate("/proc/self/exe", {~0ull, 1ull << 40});
    ASSERT_TRUE(located.has_value()) << located.error().what;
    ASSERT_EQ(located->size(), 2u);
    for (const auto& location : *located) EXPECT_TRUE(location.frames.empty());
}

/// Of each part of the debug information by itself. Functions have their names from the symbols all the same, or the
/// answer is an error that says so.
TEST(Locations, BrokenDebugInformationCostsNoNames) {
    const Built built("-g", "cp s.so whole.so");
    std::mt19937 random(2);
    int answers = 0, errors = 0;
    for (const std::string section : {"info", "abbrev", "line", "str", "line_str", "aranges"}) {
        const std::string commands = "cd " + built.folder().string() + " && objcopy --dump-section .debug_" + section +
                                     "=part whole.so /dev/null 2> /dev/null";
        if (std::system(commands.c_str()) != 0) continue;  // not every compiler writes each
        const auto good = read_file((built.folder() / "part").string());
        ASSERT_TRUE(good.has_value());
        for (int time = 0; time < 5; ++time) {
            std::string broken = *good;
            for (std::size_t i = 0; i < broken.size() / 8 + 1; ++i)
                broken[random() % broken.size()] = static_cast<char>(random());
            ASSERT_TRUE(write_file((built.folder() / "part").string(), broken).has_value());
            const std::string update = "cd " + built.folder().string() + " && objcopy --update-section .debug_" +
                                       section + "=part whole.so broken.so 2> /dev/null";
            ASSERT_EQ(std::system(update.c_str()), 0) << update;
            const auto located = locate((built.folder() / "broken.so").string(), {built.visible(), built.hidden()}, 20);
            if (!located) {
                ++errors;
                EXPECT_THAT(located.error().what, testing::HasSubstr("cannot be read"));
                continue;
            }
            ++answers;
            ASSERT_EQ(located->size(), 2u);
            for (const Location& location : *located) EXPECT_FALSE(location.instruction.empty());
            ASSERT_FALSE(located->at(0).frames.empty()) << section;
            EXPECT_EQ(located->at(0).frames.back().function, "visible") << section;
        }
    }
    EXPECT_GT(answers, errors);
}

/// Bytes of the file changed at random: an answer of the right size, or an error, and this process goes on.
TEST(Locations, BrokenFilesCostTheAnswerAtMost) {
    const Built built("-g");
    const auto good = read_file(built.path());
    ASSERT_TRUE(good.has_value());
    std::mt19937 random(1);
    int answers = 0;
    constexpr int files = 60;
    for (int file = 0; file < files; ++file) {
        std::string broken = *good;
        for (int i = 0; i < 200; ++i) broken[random() % broken.size()] = static_cast<char>(random());
        if (file % 3 == 0) broken.resize(random() % broken.size());
        // Most are damaged behind a whole header, so that they are read at all.
        if (file % 2) broken.replace(0, std::min<std::size_t>(broken.size(), 0x400), *good, 0, 0x400);
        const std::string path = built.path() + ".broken";
        std::ofstream(path, std::ios::binary) << broken;
        const auto located = locate(path, {built.visible(), built.hidden()}, 20);
        if (!located) continue;
        ++answers;
        EXPECT_EQ(located->size(), 2u);
    }
    EXPECT_GT(answers, 0);
    EXPECT_LT(answers, files);
}

#if defined(__x86_64__)
TEST(Locations, OfTheVdsoHaveNames) {
    const auto* vdso = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (!vdso) GTEST_SKIP() << "no vDSO here";
    void* handle = ::dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    const void* function = handle ? ::dlsym(handle, "__vdso_clock_gettime") : nullptr;
    if (!function) GTEST_SKIP() << "its functions cannot be found here";
    const auto located = locate_in_vdso({static_cast<std::uint64_t>(static_cast<const char*>(function) - vdso)});
    ASSERT_TRUE(located.has_value()) << located.error().what;
    ASSERT_FALSE(located->front().frames.empty());
    EXPECT_NE(located->front().frames.back().function.find("clock_gettime"), std::string::npos);
}
#endif

}  // namespace
}  // namespace tmaprobe::symbols
