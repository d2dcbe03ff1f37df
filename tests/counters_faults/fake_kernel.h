#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tmaprobe::test {

/// What a read of a fake counter gives: a full record, an error, or fewer bytes than asked.
struct FakeCount {
    std::uint64_t value = 0, enabled = 0, running = 0;
    int error = 0;
    int bytes = 24;  ///< that one read gives; 0 = end of file
};

/// A kernel for perf events only. Everything else goes to the real one. While one exists, every
/// perf_event_open is answered here; descriptors are real ones (so that leaks show), without counters.
class FakeKernel {
  public:
    FakeKernel();
    FakeKernel(const FakeKernel&) = delete;
    FakeKernel& operator=(const FakeKernel&) = delete;
    ~FakeKernel();

    /// The n-th call (from 0) of this kind fails with this errno: "open", "ioctl", "read", "mmap", "fork",
    /// "pipe2", "socketpair", "signalfd".
    void fail(const std::string& call, int nth, int error);
    /// Every open of an event with this config fails with this errno.
    void fail_config(std::uint64_t config, int error) { failing_configs[config] = error; }
    /// What reads of an event with this config give, one after the other; the last is repeated.
    void script(std::uint64_t config, std::vector<FakeCount> counts) { scripts[config] = std::move(counts); }
    /// Events that count in virtual machines are refused, as a host with a mediated vPMU does.
    bool lends_counters = false;
    /// Groups larger than this are refused with EINVAL.
    std::size_t largest_group = 100;

    int calls(const std::string& call) const;

    // Used by the wrapped calls.
    std::optional<int> failure_of(const std::string& call);
    long open_event(const void* attributes, int group);
    bool is_counter(int descriptor) const;
    long read_counter(int descriptor, void* to, unsigned long bytes);
    void forget(int descriptor) { counters.erase(descriptor); }

  private:
    struct Counter {
        std::uint64_t config = 0;
        std::size_t reads = 0;
        int leader = -1;
        std::size_t members = 1;
        std::vector<unsigned char> pending;  ///< rest of a record that was read in parts
    };
    std::map<int, Counter> counters;
    std::map<std::string, std::map<int, int>> failures;
    std::map<std::string, int> made;
    std::map<std::uint64_t, int> failing_configs;
    std::map<std::uint64_t, std::vector<FakeCount>> scripts;
};

}  // namespace tmaprobe::test
