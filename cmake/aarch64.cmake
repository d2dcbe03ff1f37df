# Cross-building for arm64 from x86-64, with the libraries that third_party/arm64.sh fetched. Programs, tests included,
# run under user-mode emulation:
#   cmake -S . -B build/arm64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

if(DEFINED ENV{TMAPROBE_GUESTS_CACHE})
    set(cache $ENV{TMAPROBE_GUESTS_CACHE})
elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(cache $ENV{XDG_CACHE_HOME}/tmaprobe-guests)
else()
    set(cache $ENV{HOME}/.cache/tmaprobe-guests)
endif()
set(arm64_libraries ${cache}/arm64/dev)
set(arm64_library_folders ${arm64_libraries}/usr/lib/aarch64-linux-gnu:${arm64_libraries}/lib/aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH ${arm64_libraries} /usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${arm64_libraries}/usr/lib/aarch64-linux-gnu/pkgconfig:${arm64_libraries}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${arm64_libraries})

# The cross compiler searches its own multiarch folder only.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${arm64_libraries}/usr/include/aarch64-linux-gnu")
set(CMAKE_C_FLAGS_INIT "${CMAKE_CXX_FLAGS_INIT}")
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,-rpath-link,${arm64_library_folders} -L${arm64_libraries}/usr/lib/aarch64-linux-gnu -L${arm64_libraries}/lib/aarch64-linux-gnu")
set(PERF_INCLUDE ${arm64_libraries}/libperf/include CACHE PATH "")
set(PERF_LIBRARY ${arm64_libraries}/libperf/lib/libperf.a CACHE FILEPATH "")
set(PERF_API_LIBRARY ${arm64_libraries}/libperf/lib/libapi.a CACHE FILEPATH "")
set(TMAPROBE_MODEL OFF CACHE BOOL "")

set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${arm64_library_folders})
