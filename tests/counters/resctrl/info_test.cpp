#include "counters/resctrl/info.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace tmaprobe::counters::resctrl {
namespace {

namespace fs = std::filesystem;

/// A folder that holds what resctrl shows, removed when the test ends.
class Tree {
  public:
    Tree() {
        std::string name = (fs::temp_directory_path() / "resctrl-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
        fs::create_directory(root_ / "info");
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { fs::remove_all(root_); }

    Tree& file(const fs::path& path, const std::string& text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
        return *this;
    }
    Tree& cache(const std::string& name, const std::string& mask, int least, const std::string& sparse) {
        file("info/" + name + "/cbm_mask", mask + "\n")
            .file("info/" + name + "/min_cbm_bits", std::to_string(least) + "\n");
        file("info/" + name + "/num_closids", "16\n");
        return sparse.empty() ? *this : file("info/" + name + "/sparse_masks", sparse + "\n");
    }
    Tree& bandwidth(int least, int step) {
        return file("info/MB/min_bandwidth", std::to_string(least) + "\n")
            .file("info/MB/bandwidth_gran", std::to_string(step) + "\n");
    }
    Info read() const {
        auto info = read_info(root_);
        EXPECT_TRUE(info) << info.error().what;
        return info.value_or(Info{});
    }
    const fs::path& root() const { return root_; }

  private:
    fs::path root_;
};

std::string schemata(const Info& info, const std::string& limit) {
    const auto parsed = parse_limit(limit);
    if (!parsed) return parsed.error().what;
    const auto text = schemata_for(info, *parsed);
    return text ? *text : text.error().what;
}

ErrorCode refusal(const Info& info, const std::string& limit) {
    const auto text = schemata_for(info, *parse_limit(limit));
    EXPECT_FALSE(text) << *text;
    return text ? ErrorCode::system : text.error().code;
}

TEST(ResctrlLimit, ReadsCacheAndBandwidth) {
    const auto both = parse_limit("l3=0x3,mb=20");
    ASSERT_TRUE(both);
    EXPECT_EQ(both->cache_mask, 3u);
    EXPECT_EQ(both->bandwidth, 20);
    EXPECT_EQ(parse_limit("l3=ff0")->cache_mask, 0xff0u);  // a bitmap is hexadecimal, as in schemata
    EXPECT_EQ(parse_limit("L3=0X7")->cache_mask, 7u);
    EXPECT_FALSE(parse_limit("MB=50")->cache_mask);
    EXPECT_EQ(parse_limit("l3=ffffffffffffffff")->cache_mask, ~std::uint64_t{0});
}

TEST(ResctrlLimit, RefusesWhatIsNone) {
    for (const char* text : {"", ",", "l3", "l3=", "l3=0x", "l3=xyz", "l3=-1", "l3=3 ", "l2=3", "mb=ten", "mb=0x10",
                             "mb=-5", "mb=20%", "l3=0", "mb=0", "l3=10000000000000000", "mb=99999999999999999999"}) {
        const auto limit = parse_limit(text);
        ASSERT_FALSE(limit) << text;
        EXPECT_EQ(limit.error().code, ErrorCode::bad_usage) << text;
        EXPECT_FALSE(limit.error().hint.empty()) << text;
    }
}

TEST(ResctrlInfo, IntelTwoSocketsPaddedValues) {
    Tree tree;
    tree.cache("L3", "7ff", 1, "0")
        .bandwidth(10, 10)
        .file("info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\n");
    tree.file("schemata", "    MB:0= 100;1= 100\n    L3:0=7ff;1=7ff\n");
    const Info info = tree.read();
    ASSERT_EQ(info.caches.size(), 1u);
    EXPECT_EQ(info.caches[0].mask, 0x7ffu);
    EXPECT_FALSE(info.code_data);
    ASSERT_TRUE(info.bandwidth);
    EXPECT_EQ(info.bandwidth->most, 100);
    EXPECT_TRUE(info.bandwidth->percent);
    EXPECT_EQ(info.monitors, (std::vector<std::string>{"llc_occupancy", "mbm_total_bytes"}));
    EXPECT_EQ(schemata(info, "l3=0x3,mb=20"), "MB:0=20;1=20\nL3:0=3;1=3\n");
    for (const char* limit : {"l3=800", "l3=5", "mb=101", "mb=5"})
        EXPECT_EQ(refusal(info, limit), ErrorCode::bad_usage) << limit;
}

TEST(ResctrlInfo, CodeAndDataHaveBitmapsOfTheirOwn) {
    Tree tree;
    tree.cache("L3CODE", "fffff", 2, "")
        .cache("L3DATA", "fffff", 2, "")
        .file("schemata", "L3DATA:0=fffff\nL3CODE:0=fffff\n");
    const Info info = tree.read();
    EXPECT_TRUE(info.code_data);
    EXPECT_EQ(schemata(info, "l3=f0"), "L3DATA:0=f0\nL3CODE:0=f0\n");
    EXPECT_EQ(refusal(info, "l3=1"), ErrorCode::bad_usage);  // two bits at least
    EXPECT_EQ(refusal(info, "mb=20"), ErrorCode::unavailable);
}

TEST(ResctrlInfo, AmdTakesAbsoluteBandwidth) {
    Tree tree;
    tree.cache("L3", "ffff", 1, "0").bandwidth(1, 1).file("schemata", "    MB:0=2048;1=2048\n    L3:0=ffff;1=ffff\n");
    const Info info = tree.read();
    ASSERT_TRUE(info.bandwidth);
    EXPECT_FALSE(info.bandwidth->percent);
    EXPECT_FALSE(info.bandwidth->unlimited);
    EXPECT_EQ(schemata(info, "mb=256"), "MB:0=256;1=256\n");
    EXPECT_EQ(refusal(info, "mb=2049"), ErrorCode::bad_usage);
    EXPECT_TRUE(info.monitors.empty());
}

TEST(ResctrlInfo, ALimitedDefaultGroupLeavesTheHardwareAsItIs) {
    Tree intel;
    intel.bandwidth(10, 10).file("info/MB/delay_linear", "1\n").file("schemata", "MB:0=50;1=50\n");
    EXPECT_TRUE(intel.read().bandwidth->percent);
    EXPECT_EQ(schemata(intel.read(), "mb=80"), "MB:0=80;1=80\n");
    EXPECT_EQ(refusal(intel.read(), "mb=101"), ErrorCode::bad_usage);
    Tree amd;
    amd.bandwidth(1, 1).file("info/MB/delay_linear", "0\n").file("schemata", "MB:0=64;1=64\n");
    EXPECT_FALSE(amd.read().bandwidth->percent);
    EXPECT_EQ(schemata(amd.read(), "mb=256"), "MB:0=256;1=256\n");
}

TEST(ResctrlInfo, MegabytesPerSecondHaveNoUpperEnd) {
    Tree tree;
    tree.bandwidth(10, 10).file("schemata", "    MB:0=4294967295;1=4294967295\n");
    const Info info = tree.read();
    ASSERT_TRUE(info.bandwidth);
    EXPECT_TRUE(info.bandwidth->unlimited);
    EXPECT_FALSE(info.bandwidth->percent);
    EXPECT_EQ(schemata(info, "mb=5000"), "MB:0=5000;1=5000\n");
    EXPECT_EQ(refusal(info, "l3=3"), ErrorCode::unavailable);
}

TEST(ResctrlInfo, SparseMasksMayHaveHoles) {
    Tree tree;
    tree.cache("L3", "ff", 1, "1").file("schemata", "L3:1=ff\n");
    EXPECT_EQ(schemata(tree.read(), "l3=0x11"), "L3:1=11\n");
}

TEST(ResctrlInfo, SaysWhatIsMissing) {
    const auto nowhere = read_info("/nonexistent/resctrl");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::unavailable);
    EXPECT_NE(nowhere.error().what.find("not mounted"), std::string::npos);
    EXPECT_NE(nowhere.error().hint.find("mount -t resctrl"), std::string::npos);
    EXPECT_EQ(read_info(Tree().root()).error().code, ErrorCode::no_permission);  // no schemata that may be written
}

TEST(ResctrlInfo, NonsenseInItsFilesIsSurvived) {
    Tree tree;
    tree.cache("L3", "zz", -3, "maybe").bandwidth(0, 0).file("schemata", ":\n=\nMB\nMB:\nL3:;;=\n\xff\n");
    const Info info = tree.read();
    EXPECT_FALSE(schemata_for(info, *parse_limit("l3=1")));
    static_cast<void>(schemata_for(info, *parse_limit("mb=1")));
}

}  // namespace
}  // namespace tmaprobe::counters::resctrl
