#pragma once

#include <llvm/Object/BuildID.h>
#include <llvm/Object/ELFObjectFile.h>

#include <optional>
#include <string>

namespace tmaprobe::symbols {

/// Finds debug information by build id: below /usr/lib/debug, and where the user's DEBUGINFOD_URLS names servers, by
/// elfutils' `debuginfod-find`, if that is installed; its cache, time limits and proxies are the user's settings of it.
class DebugFiles final : public llvm::object::BuildIDFetcher {
  public:
    /// Servers are asked only where the object lacks debug information of its own.
    explicit DebugFiles(const llvm::object::ELFObjectFileBase& object);
    std::optional<std::string> fetch(llvm::object::BuildIDRef id) const override;

  private:
    bool asks_servers_;
};

}  // namespace tmaprobe::symbols
