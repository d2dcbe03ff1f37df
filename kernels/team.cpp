#include "kernels/team.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace tmaprobe::kernels {
namespace {

/// Burns the CPU until the condition holds, but offers it to others when that takes long: two members may
/// have been put on one CPU.
template <class Condition>
void spin_until(const Condition& holds) {
    for (int spins = 0; !holds(); ++spins) {
        if (spins < 20'000) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            ::sched_yield();
        }
    }
}

}  // namespace

/// What the members of one process share. Each run has a number; members sleep until it changes.
struct Team::Shared {
    struct Member {
        Shared* shared = nullptr;
        std::size_t index = 0;
        pthread_t thread{};
        std::atomic<pid_t> id{0};
    };

    explicit Shared(std::size_t count) : members(count) {}

    /// Returns when all members of this run are here.
    void begin_together() {
        const std::uint64_t all = number.load() * members.size();
        arrived.fetch_add(1);
        spin_until([&] { return arrived.load() >= all; });
    }

    static void* main(void* argument) {
        auto& member = *static_cast<Member*>(argument);
        Shared& shared = *member.shared;
        member.id.store(::gettid());
        for (std::uint64_t seen = 0;;) {
            shared.number.wait(seen);
            seen = shared.number.load();
            if (shared.stop.load()) return nullptr;
            shared.begin_together();
            (*shared.work)(member.index);
            shared.done.fetch_add(1);
        }
    }

    std::vector<Member> members;  ///< member 0 is the caller and has no thread here
    const Work* work = nullptr;
    std::atomic<std::uint64_t> number{0};   ///< of the run
    std::atomic<std::uint64_t> arrived{0};  ///< members that ever arrived at a beginning
    std::atomic<std::uint64_t> done{0};     ///< members but the caller that ever finished
    std::atomic<bool> stop{false};
};

Result<std::unique_ptr<Team>> Team::start(const std::vector<int>& cpus) {
    std::unique_ptr<Team> team(new Team(cpus.empty() ? std::vector<int>{-1} : cpus));
    TRY(team->start_members());
    return team;
}

Result<> Team::start_members() {
    shared_ = std::make_unique<Shared>(cpus_.size());
    process_ = ::getpid();
    for (std::size_t index = 1; index < cpus_.size(); ++index) {
        Shared::Member& member = shared_->members[index];
        member.shared = shared_.get();
        member.index = index;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(cpus_[index]) + 1);
        const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus_[index]) + 1);
        CPU_ZERO_S(bytes, set);
        CPU_SET_S(static_cast<std::size_t>(cpus_[index]), bytes, set);
        pthread_attr_setaffinity_np(&attributes, bytes, set);
        const int error = pthread_create(&member.thread, &attributes, Shared::main, &member);
        pthread_attr_destroy(&attributes);
        CPU_FREE(set);
        if (error == 0) continue;
        member.index = 0;  // has no thread: not to be joined
        if (error == EINVAL)
            return fail(ErrorCode::bad_usage, fmt::format("no thread can run on CPU {}", cpus_[index]),
                        "it does not exist, is offline, or is outside this process's cpuset (see taskset -p $$)");
        return fail_errno(error, fmt::format("a thread for CPU {} cannot be started", cpus_[index]));
    }
    for (std::size_t index = 1; index < cpus_.size(); ++index)
        spin_until([&] { return shared_->members[index].id.load() != 0; });
    return {};
}

Team::Team(std::vector<int> cpus) : cpus_(std::move(cpus)) {}

Team::~Team() {
    if (!shared_) return;
    if (process_ != ::getpid()) {  // a forked child has no members; their stacks went with them
        static_cast<void>(shared_.release());
        return;
    }
    shared_->stop.store(true);
    shared_->number.fetch_add(1);
    shared_->number.notify_all();
    for (Shared::Member& member : shared_->members)
        if (member.index != 0) pthread_join(member.thread, nullptr);
}

void Team::run(const Work& work) {
    if (cpus_.size() == 1) return work(0);
    if (process_ != ::getpid()) {
        static_cast<void>(shared_.release());
        if (!start_members()) return;
    }
    Shared& shared = *shared_;
    shared.work = &work;
    const std::uint64_t all_done = shared.done.load() + cpus_.size() - 1;
    shared.number.fetch_add(1);
    shared.number.notify_all();
    shared.begin_together();
    work(0);
    spin_until([&] { return shared.done.load() == all_done; });
}

std::vector<pid_t> Team::thread_ids() const {
    std::vector<pid_t> ids;
    for (std::size_t index = 1; index < cpus_.size(); ++index) ids.push_back(shared_->members[index].id.load());
    return ids;
}

}  // namespace tmaprobe::kernels
