#include "counters/perf/sample_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tmaprobe::counters::perf {
namespace {

/// A record's bytes without its header, in the order of the ring; what is beyond its end reads as 0.
class Body {
  public:
    Body(std::span<const std::byte> data, std::uint64_t at, std::size_t bytes) : data_(data), at_(at), left_(bytes) {}

    template <class Number>
    Number next() {
        Number value{};
        if (left_ < sizeof value) {
            left_ = 0;
            return value;
        }
        std::byte bytes[sizeof value];
        for (std::byte& byte : bytes) byte = data_[at_++ % data_.size()];
        std::memcpy(&value, bytes, sizeof value);
        left_ -= sizeof value;
        return value;
    }
    void skip_to_last(std::size_t bytes) {
        if (left_ < bytes) return;
        at_ += left_ - bytes;
        left_ = bytes;
    }
    std::size_t left() const { return left_; }

  private:
    std::span<const std::byte> data_;
    std::uint64_t at_;
    std::size_t left_;
};

/// The members come in this order, whichever of them there are (perf_event_open(2)).
SampleRecord read_sample(Body body, std::uint64_t fields) {
    SampleRecord sample;
    if (fields & PERF_SAMPLE_IDENTIFIER) sample.event = body.next<std::uint64_t>();
    if (fields & PERF_SAMPLE_IP) sample.address = body.next<std::uint64_t>();
    if (fields & PERF_SAMPLE_TID) {
        sample.process = static_cast<pid_t>(body.next<std::uint32_t>());
        sample.thread = static_cast<pid_t>(body.next<std::uint32_t>());
    }
    if (fields & PERF_SAMPLE_PERIOD) sample.period = body.next<std::uint64_t>();
    if (fields & PERF_SAMPLE_WEIGHT_STRUCT) {
        perf_sample_weight weight{};
        weight.full = body.next<std::uint64_t>();
        sample.retire_latency = weight.var3_w;
    }
    return sample;
}

/// The event named is the one whose record found room again. With sample_id_all the id at the end is its parent's.
LostSamples read_lost(Body body, std::uint64_t fields) {
    LostSamples lost{body.next<std::uint64_t>(), body.next<std::uint64_t>()};
    if ((fields & PERF_SAMPLE_IDENTIFIER) && body.left() >= sizeof(std::uint64_t)) {
        body.skip_to_last(sizeof(std::uint64_t));
        lost.event = body.next<std::uint64_t>();
    }
    return lost;
}

}  // namespace

std::uint64_t readable_fields() {
    return PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT_STRUCT;
}

std::uint64_t parse_records(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                            std::uint64_t fields, RingRecords& records) {
    while (head - tail >= sizeof(perf_event_header) && head - tail <= data.size()) {
        const auto header = Body(data, tail, sizeof(perf_event_header)).next<perf_event_header>();
        if (header.size < sizeof header || header.size > head - tail) break;
        const Body body(data, tail + sizeof header, header.size - sizeof header);
        if (header.type == PERF_RECORD_SAMPLE)
            records.samples.push_back(read_sample(body, fields));
        else if (header.type == PERF_RECORD_LOST)
            records.lost.push_back(read_lost(body, fields));
        tail += header.size;
    }
    return tail;
}

std::size_t SampleRing::page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

Result<SampleRing> SampleRing::map(int event, std::size_t data_pages) {
    const std::size_t bytes = (1 + data_pages) * page_bytes();
    void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (mapping == MAP_FAILED) return fail_errno(errno, "cannot map an event's samples");
    return SampleRing(mapping, bytes);
}

SampleRing::SampleRing(SampleRing&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SampleRing& SampleRing::operator=(SampleRing&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

SampleRing::~SampleRing() {
    if (mapping_) ::munmap(mapping_, bytes_);
}

void SampleRing::drain(std::uint64_t fields, RingRecords& records) {
    auto& page = *static_cast<perf_event_mmap_page*>(mapping_);
    const std::span data(static_cast<const std::byte*>(mapping_) + page_bytes(), bytes_ - page_bytes());
    const std::uint64_t head = std::atomic_ref(page.data_head).load(std::memory_order_acquire);
    (void)parse_records(data, page.data_tail, head, fields, records);
    // Bytes that are no records are given up with the rest.
    std::atomic_ref(page.data_tail).store(head, std::memory_order_release);
}

}  // namespace tmaprobe::counters::perf
