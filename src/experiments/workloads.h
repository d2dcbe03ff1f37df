#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "counters/workload.h"
#include "kernels/kernel.h"

namespace tmaprobe::experiments {

/// A built-in kernel as a source measures it: a region of code in this process.
class KernelWorkload final : public counters::Workload {
  public:
    explicit KernelWorkload(std::unique_ptr<kernels::Kernel> kernel) : kernel_(std::move(kernel)) {}
    void prepare() override { kernel_->prepare(); }
    void restart() override { kernel_->restart(); }
    void run(std::uint64_t iterations) override { kernel_->run(iterations); }
    double operations_per_iteration() const override { return kernel_->per_iteration().operations; }
    std::vector<pid_t> threads() const override { return kernel_->threads(); }
    const kernels::Kernel& kernel() const { return *kernel_; }

  private:
    std::unique_ptr<kernels::Kernel> kernel_;
};

/// The user's command: started by the source, which counts the process and its children. Without argv (for
/// a process or CPUs that are counted as they are) it only waits.
class CommandWorkload final : public counters::Workload {
  public:
    explicit CommandWorkload(std::vector<std::string> argv);
    std::vector<std::string> command() const override { return argv_; }
    /// A file on standard input is read from the same place by each run.
    void prepare() override;
    void run(std::uint64_t) override {}
    bool only_waits() const override { return argv_.empty(); }

  private:
    std::vector<std::string> argv_;
    std::optional<off_t> input_start_;  ///< where standard input stood, if it is a file
};

/// Errors: unavailable when no such program can be started (not found, not executable), before anything
/// is measured.
Result<> check_command(const std::vector<std::string>& argv);

}  // namespace tmaprobe::experiments
