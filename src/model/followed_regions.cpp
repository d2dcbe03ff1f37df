#include "model/followed_regions.h"

namespace tmaprobe::model {

Result<std::unique_ptr<FollowedRegions>> FollowedRegions::prepare(const RegionWish& wish) {
    std::unique_ptr<FollowedRegions> regions(new FollowedRegions);
    if (wish.marks) {
        regions->page_.emplace(TRY(process::RegionPage::create()));
        regions->page_->leave_out_times();
    }
    regions->functions_ = watched_functions(wish);
    for (const FunctionRegion& function : wish.functions) regions->function_names_.push_back(function.name);
    return regions;
}

std::unique_ptr<process::EnvironmentVariable> FollowedRegions::variable() const {
    if (!page_) return nullptr;
    return std::make_unique<process::EnvironmentVariable>(process::RegionPage::variable, page_->path());
}

void FollowedRegions::started_as(pid_t process) {
    if (any()) watch_.emplace(paths_, page_ ? &*page_ : nullptr, functions_, trace::Identity{process, process}, seen_);
}

void FollowedRegions::look(const trace::TracedProcess& process) {
    if (watch_) watch_->look(process);
}

void FollowedRegions::look_for_marks(const trace::TracedProcess& process) {
    if (watch_) watch_->look_for_marks(process);
}

bool FollowedRegions::is_own(const trace::StaticInstruction& instruction, trace::Step& step) {
    return !watch_ || !watch_->watches() || watch_->is_own(instruction, step);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> FollowedRegions::code_of_marks() const {
    return page_ ? page_->code_of_marks() : std::vector<std::pair<std::uint64_t, std::uint64_t>>();
}

bool FollowedRegions::is_called(std::uint32_t region, const std::string& name) const {
    const auto all = names();
    const auto found = all.find(region);
    return found != all.end() && found->second == name;
}

std::map<std::uint32_t, std::string> FollowedRegions::names() const {
    std::map<std::uint32_t, std::string> names;
    std::uint32_t number = 0;
    if (page_)
        for (std::string& name : page_->names()) names[number++] = std::move(name);
    number = trace::first_function_region;
    for (const std::string& name : function_names_) names[number++] = name;
    return names;
}

}  // namespace tmaprobe::model
