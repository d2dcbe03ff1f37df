#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace tmaprobe::counters::perf {

/// One sample of the kernel's (PERF_RECORD_SAMPLE); what was not asked for by the event's sample_type is 0.
struct SampleRecord {
    std::uint64_t event = 0;           ///< id of the event (PERF_SAMPLE_IDENTIFIER), the parent's of an inherited one
    std::uint64_t address = 0;         ///< of the instruction (PERF_SAMPLE_IP)
    pid_t process = 0, thread = 0;     ///< (PERF_SAMPLE_TID)
    std::uint64_t period = 0;          ///< events since the last sample (PERF_SAMPLE_PERIOD)
    std::uint16_t retire_latency = 0;  ///< cycles: var3_w of PERF_SAMPLE_WEIGHT_STRUCT, where the CPU has it
};

/// Samples for which there was no room (PERF_RECORD_LOST).
struct LostSamples {
    std::uint64_t event = 0;  ///< id of the event that the kernel blames
    std::uint64_t count = 0;
};

/// What a ring held.
struct RingRecords {
    std::vector<SampleRecord> samples;
    std::vector<LostSamples> lost;
};

/// The PERF_SAMPLE_* that can be read; an event must ask for no others.
std::uint64_t readable_fields();

/// Appends the records from `tail` to `head`, both ever growing positions of which the place in `data` is the rest by
/// its size. Returns where the next one begins: `head`, or before it where the bytes are no records. `fields`: the
/// events' sample_type, the same for all events of a ring; `sample_id_all` is set in all or in none.
std::uint64_t parse_records(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                            std::uint64_t fields, RingRecords& records);

/// The memory that the kernel writes an event's samples into, mapped. It lives no longer than the event's descriptor is
/// of use, but may be unmapped after it was closed.
class SampleRing {
  public:
    /// `data_pages`: a power of two. Errors: errno of mmap (EPERM: more locked memory than this user may have).
    static Result<SampleRing> map(int event, std::size_t data_pages);
    SampleRing(SampleRing&& other) noexcept;
    SampleRing& operator=(SampleRing&& other) noexcept;
    ~SampleRing();

    /// Appends what has come since the last call, and gives its room back to the kernel.
    void drain(std::uint64_t fields, RingRecords& records);

    static std::size_t page_bytes();

  private:
    SampleRing(void* mapping, std::size_t bytes) : mapping_(mapping), bytes_(bytes) {}
    void* mapping_ = nullptr;
    std::size_t bytes_ = 0;  ///< with the page that describes it
};

}  // namespace tmaprobe::counters::perf
