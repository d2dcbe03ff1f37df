#include "experiments/call_paths.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "experiments/shares.h"
#include "symbols/call_stacks.h"

namespace tmaprobe::experiments {
namespace {

using counters::CallPaths;

/// A function on the way, or a line of one.
struct PathStep {
    std::string module, function, file;
    std::uint64_t line = 0, address = 0;

    auto operator<=>(const PathStep&) const = default;
};

struct PathNode {
    PathStep step;
    std::size_t caller = 0;
    WeightedSlots slots{};
    double with_callees = 0;
    std::map<PathStep, std::size_t> callees;
};

/// Functions that were called, and lines in them; the first node is what is around them all.
class PathTree {
  public:
    PathTree() : nodes(1) {}

    /// A function that calls itself is one.
    std::size_t child(std::size_t of, PathStep step) {
        if (of > 0 && nodes[of].step == step) return of;
        const auto [known, is_new] = nodes[of].callees.try_emplace(std::move(step), nodes.size());
        const std::size_t number = known->second;
        if (is_new) {
            PathNode node;
            node.step = known->first;
            node.caller = of;
            nodes.push_back(std::move(node));
        }
        return number;
    }

    /// The functions that an instruction is of, from the one that was called to the innermost inlined one.
    std::size_t functions(std::size_t of, const CodePoint& point) {
        const auto& located = point.located;
        if (located.frames.empty()) return child(of, {point.module, "", "", 0, located.begins});
        for (auto frame = located.frames.rbegin(); frame != located.frames.rend(); ++frame)
            of = child(of, {point.module, frame->function, "", 0, frame->function.empty() ? located.begins : 0});
        return of;
    }

    std::size_t line(std::size_t of, const CodePoint& point) {
        of = functions(of, point);
        if (point.located.frames.empty() || point.located.frames.front().line == 0) return of;
        const auto& frame = point.located.frames.front();
        return child(of, {point.module, frame.function, frame.file, frame.line, 0});
    }

    /// What is below `share` of all is a part of what it is in. A node comes after the one that it is in.
    void fold(double share) {
        for (PathNode& node : nodes) node.with_callees = total(node.slots);
        for (std::size_t i = nodes.size(); --i > 0;) nodes[nodes[i].caller].with_callees += nodes[i].with_callees;
        const double least = share * nodes.front().with_callees;
        for (std::size_t i = nodes.size(); --i > 0;) {
            if (nodes[i].with_callees >= least) continue;
            add(nodes[nodes[i].caller].slots, nodes[i].slots);
            nodes[i].slots = {};
            nodes[i].with_callees = 0;
        }
    }

    /// Slots of single nodes, as those of these and of all that they are in.
    PlacedSlots with_callers(const std::vector<std::pair<std::size_t, double>>& of_nodes) const {
        std::vector<double> sums(nodes.size(), 0);
        for (const auto& [node, slots] : of_nodes) sums[node] += slots;
        for (std::size_t i = sums.size(); --i > 0;) sums[nodes[i].caller] += sums[i];
        PlacedSlots placed;
        placed.all = sums.front();
        for (std::size_t i = 0; i < sums.size(); ++i)
            if (sums[i] > 0) placed.of_places.emplace_back(i, sums[i]);
        return placed;
    }

    std::vector<PathNode> nodes;
};

/// What a window has at one address, called in one way.
struct PathSlots {
    std::size_t node = 0;
    std::uint64_t address = 0;
    double slots = 0;
};

/// Slots of each address, whatever the calls.
std::map<std::uint64_t, double> by_address(const counters::InstructionSlots& slots) {
    std::map<std::uint64_t, double> sums;
    slots.for_each([&](std::uint64_t address, const counters::SlotsByCause& causes) {
        for (const std::uint64_t count : causes) sums[address] += static_cast<double>(count);
    });
    return sums;
}

/// What the model varies tells no calls: each address keeps the calls that it has without.
std::vector<std::pair<std::size_t, double>> varied(const std::vector<PathSlots>& window,
                                                   const counters::AttributedWindow& as_it_is,
                                                   const counters::VariedSlots& variation) {
    const auto before = by_address(as_it_is.slots), after = by_address(variation.slots);
    std::vector<std::pair<std::size_t, double>> of_nodes;
    for (const PathSlots& one : window) {
        const auto was = before.find(one.address), is = after.find(one.address);
        if (was != before.end() && is != after.end() && was->second > 0)
            of_nodes.emplace_back(one.node, one.slots * is->second / was->second);
    }
    return of_nodes;
}

std::vector<std::pair<std::size_t, double>> nodes_of(const std::vector<PathSlots>& window) {
    std::vector<std::pair<std::size_t, double>> of_nodes;
    for (const PathSlots& one : window) of_nodes.emplace_back(one.node, one.slots);
    return of_nodes;
}

/// Bounds as those of all other places.
Shares shares_of_nodes(const PathTree& tree, const counters::SlotAttribution& attribution,
                       const std::vector<std::vector<PathSlots>>& windows) {
    std::vector<PlacedSlots> placed;
    std::set<record::Variation> variations;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        placed.push_back(tree.with_callers(nodes_of(windows[i])));
        for (const auto& one : attribution.windows[i].variations) variations.insert(one.what);
    }
    std::vector<std::vector<PlacedSlots>> varied_windows;
    for (const record::Variation what : variations) {
        auto& all = varied_windows.emplace_back(placed);
        for (std::size_t i = 0; i < windows.size(); ++i)
            if (const auto* own = varied_slots(attribution.windows[i], what))
                all[i] = tree.with_callers(varied(windows[i], attribution.windows[i], *own));
    }
    return shares_of(tree.nodes.size(), placed, varied_windows, attribution.windows_differ);
}

/// Of each call of a window: the node that it is made in.
class WindowPaths {
  public:
    WindowPaths(PathTree& tree, const CallPaths& paths)
        : tree_(tree), paths_(paths), nodes_(paths.calls.size(), unknown) {}

    /// `point_of`: an address's; `caller_points`, `caller_addresses`: as CallTree has them.
    template <class PointOf>
    std::size_t node(std::uint32_t call, const PointOf& point_of, const std::vector<const CodePoint*>& caller_points,
                     const std::vector<std::uint64_t>& caller_addresses) {
        if (call >= nodes_.size()) return 0;
        if (nodes_[call] != unknown) return nodes_[call];
        const CallPaths::Call& one = paths_.calls[call];
        std::size_t found = 0;
        if (one.from != CallPaths::Call::none) {
            found = node(one.from, point_of, caller_points, caller_addresses);
            if (const CodePoint* const point = point_of(one.site)) found = tree_.functions(found, *point);
        } else if (one.returned <= caller_points.size() && came_back_as_told(one, caller_addresses)) {
            for (std::size_t i = caller_points.size(); i-- > one.returned;)
                if (caller_points[i]) found = tree_.functions(found, *caller_points[i]);
        }
        return nodes_[call] = found;
    }

  private:
    static constexpr std::size_t unknown = ~std::size_t{0};

    /// A thread that returned to another place than it was called from is on another stack by now.
    static bool came_back_as_told(const CallPaths::Call& call, const std::vector<std::uint64_t>& caller_addresses) {
        return call.returned == 0 || caller_addresses[call.returned - 1] + 1 == call.site;
    }

    PathTree& tree_;
    const CallPaths& paths_;
    std::vector<std::size_t> nodes_;
};

}  // namespace

CallTree::CallTree(const counters::SlotAttribution& attribution, CodePoints& points,
                   std::vector<record::Warning>& warnings)
    : attribution_(attribution), callers_(attribution.windows.size()), callers_at_(attribution.windows.size()) {
    std::vector<symbols::StackToWalk> stacks;
    std::vector<std::size_t> of_window;
    for (std::size_t i = 0; i < attribution.windows.size(); ++i) {
        const auto& window = attribution.windows[i];
        if (!window.stack) continue;
        stacks.push_back({*window.stack, &attribution.mappings[window.mappings]});
        of_window.push_back(i);
    }
    if (!stacks.empty()) {
        auto found = symbols::call_stacks(stacks);
        if (!found)
            warnings.push_back({"where_no_callers", "who called the functions cannot be told: " + found.error().what,
                                "call paths begin in the windows"});
        for (std::size_t i = 0; found && i < std::min(found->size(), of_window.size()); ++i)
            callers_at_[of_window[i]] = std::move((*found)[i]);
    }
    for (std::size_t i = 0; i < attribution.windows.size(); ++i) {
        const auto& window = attribution.windows[i];
        for (const std::uint64_t address : callers_at_[i])
            callers_[i].push_back(points.number(attribution, window, address));
        for (const auto& call : window.calls.calls)
            if (call.from != CallPaths::Call::none) points.number(attribution, window, call.site);
    }
}

std::vector<record::CallPlace> CallTree::places(const CodePoints& points) const {
    constexpr double least_share = 0.0005;
    PathTree tree;
    std::vector<std::vector<PathSlots>> windows;
    for (std::size_t i = 0; i < attribution_.windows.size(); ++i) {
        const auto& window = attribution_.windows[i];
        std::vector<const CodePoint*> callers;
        for (const std::size_t number : callers_[i]) callers.push_back(&points[number]);
        const auto point_of = [&](std::uint64_t address) {
            const auto number = points.find(attribution_, window, address);
            return number ? &points[*number] : nullptr;
        };
        WindowPaths paths(tree, window.calls);
        auto& of_window = windows.emplace_back();
        window.calls.for_each([&](std::uint32_t call, std::uint64_t address, const counters::SlotsByCause& slots) {
            std::size_t node = paths.node(call, point_of, callers, callers_at_[i]);
            if (const CodePoint* const point = point_of(address)) node = tree.line(node, *point);
            WeightedSlots weighted{};
            add(weighted, slots, window.weight);
            add(tree.nodes[node].slots, weighted);
            of_window.push_back({node, address, total(weighted)});
        });
    }
    const Shares shares = shares_of_nodes(tree, attribution_, windows);
    tree.fold(least_share);

    std::vector<record::CallPlace> places;
    const auto list = [&](const auto& self, std::size_t number, std::optional<std::uint64_t> caller) -> void {
        const PathNode& node = tree.nodes[number];
        if (number > 0 || total(node.slots) > 0) {
            const PathStep& step = node.step;
            places.push_back({caller, step.module, step.function, step.file, step.line, step.address,
                              by_name(node.slots), shares.base[number], shares.low[number], shares.high[number]});
            if (number > 0) caller = places.size() - 1;
        }
        std::vector<std::size_t> order;
        for (const auto& [step, callee] : node.callees)
            if (tree.nodes[callee].with_callees > 0) order.push_back(callee);
        std::ranges::stable_sort(order, std::greater{},
                                 [&](std::size_t callee) { return tree.nodes[callee].with_callees; });
        for (const std::size_t callee : order) self(self, callee, caller);
    };
    list(list, 0, std::nullopt);
    return places;
}

}  // namespace tmaprobe::experiments
