# The libraries tmaprobe stands on. third_party/setup.sh installs them all.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_path(SPDLOG_INCLUDE spdlog/spdlog.h)
if(NOT SPDLOG_INCLUDE)
    message(FATAL_ERROR "spdlog is missing: run third_party/setup.sh")
endif()
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(hwloc REQUIRED hwloc)

# As much as the distribution has is linked statically, so that the one binary runs on another machine.
# Prefers libNAME.a over libNAME.so.
function(find_static_library variable name)
    find_library(${variable} NAMES lib${name}.a ${name} ${ARGN})
endfunction()

add_library(tmaprobe_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt_static.cpp)

find_static_library(HWLOC_LIBRARY hwloc)
add_library(libhwloc INTERFACE)
target_include_directories(libhwloc SYSTEM INTERFACE ${hwloc_INCLUDE_DIRS})
add_library(tmaprobe_no_udev STATIC ${CMAKE_SOURCE_DIR}/cmake/no_udev.c)
target_link_libraries(libhwloc INTERFACE ${HWLOC_LIBRARY} tmaprobe_no_udev m)

find_path(PFM_INCLUDE perfmon/pfmlib_perf_event.h)
find_static_library(PFM_LIBRARY pfm)
if(NOT PFM_LIBRARY OR NOT PFM_INCLUDE)
    message(FATAL_ERROR "libpfm4 is missing: run third_party/setup.sh")
endif()
add_library(libpfm4 INTERFACE)
target_include_directories(libpfm4 INTERFACE ${PFM_INCLUDE})
target_link_libraries(libpfm4 INTERFACE ${PFM_LIBRARY})

# Debian 12 has no libperf-dev; setup.sh builds it from the kernel source package into third_party/libperf.
find_path(PERF_INCLUDE perf/evlist.h HINTS ${CMAKE_SOURCE_DIR}/third_party/libperf/include)
find_library(PERF_LIBRARY NAMES perf HINTS ${CMAKE_SOURCE_DIR}/third_party/libperf/lib)
find_library(PERF_API_LIBRARY NAMES api HINTS ${CMAKE_SOURCE_DIR}/third_party/libperf/lib)
if(NOT PERF_LIBRARY OR NOT PERF_INCLUDE)
    message(FATAL_ERROR "libperf is missing: run third_party/setup.sh")
endif()
add_library(libperf INTERFACE)
target_include_directories(libperf SYSTEM INTERFACE ${PERF_INCLUDE})
target_link_libraries(libperf INTERFACE ${PERF_LIBRARY})
if(PERF_API_LIBRARY)
    target_link_libraries(libperf INTERFACE ${PERF_API_LIBRARY})
endif()
