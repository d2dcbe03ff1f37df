# The headers that much of a source file's compile time goes into, compiled once: that saves about a third of it.
# Where ccache keeps objects they are used only if asked for; a build without them notices an include that is missing.
if(CCACHE)
    option(TMAPROBE_PRECOMPILED "Compile headers that many files include once" OFF)
else()
    option(TMAPROBE_PRECOMPILED "Compile headers that many files include once" ON)
endif()
if(NOT TMAPROBE_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    function(tmaprobe_precompiled target)
    endfunction()
    return()
endif()
if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/ccache.sh ${CCACHE})
endif()

file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
set(precompiled_headers <algorithm> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
    <optional> <set> <string> <vector> <tl/expected.hpp> <fmt/format.h>)

function(tmaprobe_precompiled_headers name)
    add_library(tmaprobe_${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(tmaprobe_${name} PRIVATE tl::expected tmaprobe_fmt Threads::Threads ${ARGN})
    target_precompile_headers(tmaprobe_${name} PRIVATE ${precompiled_headers})
endfunction()

# The rooms' own warnings: -Wpedantic changes what the compiler predefines, and both must agree. So must the
# optimisation: g++ 12 for arm64 dies of headers that were precompiled with another.
foreach(name precompiled precompiled_quick)
    tmaprobe_precompiled_headers(${name})
    target_compile_options(tmaprobe_${name} PRIVATE ${TMAPROBE_WARNINGS})
endforeach()
target_compile_options(tmaprobe_precompiled_quick PRIVATE $<$<CONFIG:Release>:${TMAPROBE_QUICKLY}>)
if(TMAPROBE_TESTS)
    find_package(GTest REQUIRED)
    tmaprobe_precompiled_headers(precompiled_tests GTest::gmock GTest::gtest)
    target_precompile_headers(tmaprobe_precompiled_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    tmaprobe_compile_tests_cheaply(tmaprobe_precompiled_tests)
endif()

# The room's library, or its tests, use the precompiled headers.
function(tmaprobe_precompiled target)
    get_target_property(is_quick ${target} TMAPROBE_IS_QUICK)
    if(target MATCHES "^tmaprobe_tests")
        target_precompile_headers(${target} REUSE_FROM tmaprobe_precompiled_tests)
    elseif(is_quick)
        target_precompile_headers(${target} REUSE_FROM tmaprobe_precompiled_quick)
    else()
        target_precompile_headers(${target} REUSE_FROM tmaprobe_precompiled)
    endif()
    if(CCACHE)
        target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
endfunction()
