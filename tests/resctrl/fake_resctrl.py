#!/usr/bin/env python3
"""A file system that behaves like resctrl, for tests on machines that have none.

    fake_resctrl.py FLAVOUR MOUNTPOINT

FLAVOUR: intel, intel-cdp, intel-mbps (mount option mba_MBps), amd, arm. It validates schemata as the kernel does, says why in
info/last_cmd_status, holds a limited number of groups, gives a removed group's tasks back to the default
group, and its monitors move: a group with tasks gains occupancy and bandwidth at every read, within its
bitmap and its bandwidth limit. Behaviour as in the kernel's Documentation/filesystems/resctrl.rst.
"""

import errno
import os
import stat
import sys

from fusepy import FUSE, FuseOSError, Operations

L3 = {"mask": 0x7FF, "min": 1, "sparse": 0}
FLAVOURS = {
    "intel": {"caches": {"L3": L3}, "mb": {"min": 10, "gran": 10, "default": 100}, "closids": 4,
              "monitors": ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"], "domains": [0, 1]},
    "intel-cdp": {"caches": {"L3CODE": L3, "L3DATA": L3}, "mb": None, "closids": 4, "monitors": [], "domains": [0]},
    "intel-mbps": {"caches": {"L3": L3}, "mb": {"min": 10, "gran": 10, "default": 4294967295}, "closids": 4,
                   "monitors": ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"], "domains": [0]},
    "amd": {"caches": {"L3": {"mask": 0xFFFF, "min": 1, "sparse": 1}}, "mb": {"min": 1, "gran": 1, "default": 2048},
            "closids": 16, "monitors": ["llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"], "domains": [0]},
    "arm": {"caches": {"L3": {"mask": 0xFF, "min": 1, "sparse": 1}}, "mb": {"min": 5, "gran": 5, "default": 100},
            "closids": 3, "monitors": ["llc_occupancy"], "domains": [1]},
}
LINE_BYTES_PER_BIT = 1 << 20
BYTES_PER_READ = 10_000_000


class Refused(Exception):
    """A command that the kernel would refuse: errno and the text of last_cmd_status."""

    def __init__(self, error, status):
        super().__init__(status)
        self.error, self.status = error, status


class Group:
    """A control group, or a monitoring group of the default one, whose own limits mean nothing."""

    def __init__(self, flavour):
        self.masks = {name: {d: c["mask"] for d in flavour["domains"]} for name, c in flavour["caches"].items()}
        self.mb = {d: flavour["mb"]["default"] for d in flavour["domains"]} if flavour["mb"] else {}
        self.tasks = []
        self.moved = 0


class Resctrl(Operations):
    def __init__(self, name):
        self.flavour = FLAVOURS[name]
        self.groups = {"": Group(self.flavour)}
        self.watchers = {}  # monitoring groups of the default group
        self.status = "ok"

    # What the kernel does with a command.
    def schemata(self, group):
        lines = []
        if group.mb:
            lines.append("    MB:" + ";".join(f"{d}={v:4d}" for d, v in group.mb.items()))
        for name, masks in group.masks.items():
            lines.append(f"    {name}:" + ";".join(f"{d}={v:x}" for d, v in masks.items()))
        return "\n".join(lines) + "\n"

    def set_schemata(self, group, text):
        if not text.endswith("\n"):
            raise Refused(errno.EINVAL, "no newline")
        for line in text.splitlines():
            name, _, domains = line.strip().partition(":")
            if name not in group.masks and not (name == "MB" and group.mb):
                raise Refused(errno.EINVAL, f"Unknown or unsupported resource name '{name}'")
            for domain in domains.split(";"):
                number, _, value = domain.partition("=")
                self.set_one(group, name, int(number), value.strip())

    def set_one(self, group, name, domain, value):
        if domain not in self.flavour["domains"]:
            raise Refused(errno.EINVAL, f"Unknown domain {domain}")
        if name == "MB":
            control = self.flavour["mb"]
            if not control["min"] <= int(value) <= control["default"]:
                raise Refused(errno.EINVAL, f"MB value {value} out of range [{control['min']},{control['default']}]")
            group.mb[domain] = -(-int(value) // control["gran"]) * control["gran"]
            return
        cache, mask = self.flavour["caches"][name], int(value, 16)
        if mask == 0 or mask & ~cache["mask"]:
            raise Refused(errno.EINVAL, f"Mask out of range")
        low = mask >> ((mask & -mask).bit_length() - 1)
        if low & (low + 1) and not cache["sparse"]:
            raise Refused(errno.EINVAL, f"The mask {mask:x} has non-consecutive 1-bits")
        if bin(mask).count("1") < cache["min"]:
            raise Refused(errno.EINVAL, f"Need at least {cache['min']} bits in the mask")
        group.masks[name][domain] = mask

    def add_task(self, group, text):
        pid = int(text)
        if not os.path.exists(f"/proc/{pid}"):
            raise Refused(errno.ESRCH, f"No task {pid}")
        watching = group in self.watchers.values()
        if watching and any(pid in other.tasks for name, other in self.groups.items() if name):
            raise Refused(errno.EINVAL, "Can't move task to different control group")
        for other in [*self.groups.values(), *self.watchers.values()]:
            if pid in other.tasks:
                other.tasks.remove(pid)
        group.tasks.append(pid)

    def monitor(self, group, name):
        group.tasks = [pid for pid in group.tasks if os.path.exists(f"/proc/{pid}")]
        if group.tasks:
            share = min(group.mb.values()) / self.flavour["mb"]["default"] if group.mb else 1
            group.moved += int(BYTES_PER_READ * share)
        if name == "llc_occupancy":
            bits = max((bin(m).count("1") for masks in group.masks.values() for m in masks.values()), default=0)
            return min(group.moved, bits * LINE_BYTES_PER_BIT)
        return group.moved

    # The tree.
    def folder(self, path):
        """Content of a folder: name -> text, or None for a folder; None when there is no such folder."""
        parts = [p for p in path.split("/") if p]
        if parts and parts[0] in self.groups:
            return self.group_folder(self.groups[parts[0]], parts[1:])
        if self.flavour["monitors"] and parts[:1] == ["mon_groups"]:
            if len(parts) == 1:
                return {name: None for name in self.watchers}
            watcher = self.watchers.get(parts[1])
            content = watcher and self.group_folder(watcher, parts[2:])
            return content and {name: value for name, value in content.items() if name not in ("schemata", "mode", "size", "mon_groups")}
        if not parts:
            content = self.group_folder(self.groups[""], [])
            return content | {"info": None} | {name: None for name in self.groups if name}
        if parts[0] == "info":
            return self.info_folder(parts[1:])
        return self.group_folder(self.groups[""], parts)

    def group_folder(self, group, parts):
        monitors = self.flavour["monitors"]
        if not parts:
            content = {"schemata": self.schemata(group), "tasks": "".join(f"{t}\n" for t in group.tasks),
                       "cpus": "0\n", "mode": "shareable\n", "size": ""}
            return content | ({"mon_data": None, "mon_groups": None} if monitors else {})
        if parts == ["mon_data"] and monitors:
            return {f"mon_L3_{d:02d}": None for d in self.flavour["domains"]}
        if len(parts) == 2 and parts[0] == "mon_data" and monitors:
            return {m: lambda m=m: f"{self.monitor(group, m)}\n" for m in monitors}
        return {} if parts == ["mon_groups"] and monitors else None

    def info_folder(self, parts):
        flavour = self.flavour
        if not parts:
            names = {name: None for name in flavour["caches"]} | ({"MB": None} if flavour["mb"] else {})
            return names | ({"L3_MON": None} if flavour["monitors"] else {}) | {"last_cmd_status": self.status + "\n"}
        if len(parts) == 1 and parts[0] in flavour["caches"]:
            cache = flavour["caches"][parts[0]]
            return {"cbm_mask": f"{cache['mask']:x}\n", "min_cbm_bits": f"{cache['min']}\n",
                    "num_closids": f"{flavour['closids']}\n", "sparse_masks": f"{cache['sparse']}\n",
                    "shareable_bits": "0\n"}
        if parts == ["MB"] and flavour["mb"]:
            return {"min_bandwidth": f"{flavour['mb']['min']}\n", "bandwidth_gran": f"{flavour['mb']['gran']}\n",
                    "num_closids": f"{flavour['closids']}\n", "delay_linear": f"{int(flavour['mb']['default'] != 2048)}\n"}
        if parts == ["L3_MON"] and flavour["monitors"]:
            return {"mon_features": "".join(m + "\n" for m in flavour["monitors"]), "num_rmids": "32\n"}
        return None

    def text(self, path):
        folder = self.folder(os.path.dirname(path))
        value = (folder or {}).get(os.path.basename(path))
        return value() if callable(value) else value

    # FUSE's calls.
    def getattr(self, path, fh=None):
        folder = self.folder(path)
        parent = self.folder(os.path.dirname(path)) or {}
        if folder is not None and (path == "/" or os.path.basename(path) in parent):
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if parent.get(os.path.basename(path)) is None:
            raise FuseOSError(errno.ENOENT)
        writable = os.path.basename(path) in ("schemata", "tasks", "cpus")
        return {"st_mode": stat.S_IFREG | (0o644 if writable else 0o444), "st_nlink": 1, "st_size": 0}

    def readdir(self, path, fh):
        return [".", ".."] + list(self.folder(path) or {})

    def read(self, path, size, offset, fh):
        return self.text(path).encode()[offset:offset + size]

    def truncate(self, path, length, fh=None):
        pass

    def command(self, action):
        try:
            action()
            self.status = "ok"
        except Refused as refused:
            self.status = refused.status
            raise FuseOSError(refused.error)
        except ValueError:
            self.status = "syntax"
            raise FuseOSError(errno.EINVAL)

    def write(self, path, data, offset, fh):
        parts = [p for p in path.split("/") if p]
        group = self.watchers[parts[1]] if parts[0] == "mon_groups" else self.groups[parts[0] if len(parts) == 2 else ""]
        act = {"schemata": self.set_schemata, "tasks": self.add_task}.get(parts[-1])
        if not act:
            raise FuseOSError(errno.EPERM)
        self.command(lambda: act(group, data.decode()))
        return len(data)

    def mkdir(self, path, mode):
        name = path.strip("/")
        if name.startswith("mon_groups/") and self.flavour["monitors"]:
            self.watchers[name.removeprefix("mon_groups/")] = Group(self.flavour)
            return
        if "/" in name:
            raise FuseOSError(errno.EPERM)

        def make():
            if len(self.groups) >= self.flavour["closids"]:
                raise Refused(errno.ENOSPC, "Out of CLOSIDs")
            self.groups[name] = Group(self.flavour)
        self.command(make)

    def rmdir(self, path):
        name = path.strip("/")
        if name.removeprefix("mon_groups/") in self.watchers:
            self.groups[""].tasks += self.watchers.pop(name.removeprefix("mon_groups/")).tasks
            return
        if name not in self.groups or not name:
            raise FuseOSError(errno.EPERM)
        self.groups[""].tasks += self.groups.pop(name).tasks


if __name__ == "__main__":
    FUSE(Resctrl(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True, direct_io=True,
         attr_timeout=0, entry_timeout=0)
