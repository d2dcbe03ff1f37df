include(Sources)

# One static library per room of src/, with the project's warnings.
set(TMAPROBE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # This g++ sees overlaps and overflows in std::string's own functions that are not there.
    list(APPEND TMAPROBE_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()

# What a build costs in processor time: most goes into optimising what no time is spent in when it runs, and into
# templates and inline functions that each file compiles again.
option(TMAPROBE_QUICK "Compile the rooms in which no time is spent with few optimisations" OFF)
option(TMAPROBE_UNITY "Compile several source files of a room at a time" OFF)
set(TMAPROBE_QUICKLY -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(TMAPROBE_QUICKLY -Og)  # two thirds of the processor time of -O1
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
        # A file needs up to 0.7 GB either way: what g++ saves by looking for garbage before that is a sixth of its time.
        add_compile_options("SHELL:--param ggc-min-heapsize=524288")
    endif()
endif()
set(TMAPROBE_HOT_ROOMS base events metrics counters trace model_core)

function(tmaprobe_build_cheaply target room)
    # Half of a file's time goes into templates that its neighbours have too; more files than these compile for over 30 s.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${TMAPROBE_UNITY} UNITY_BUILD_BATCH_SIZE 16)
    if(TMAPROBE_QUICK AND NOT room IN_LIST TMAPROBE_HOT_ROOMS)
        set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 20)
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${TMAPROBE_QUICKLY}>)
        set_target_properties(${target} PROPERTIES TMAPROBE_IS_QUICK ON)
    endif()
endfunction()

# The tests' own code is compiled once and runs once; optimising it took two fifths of the processor time that it costs.
function(tmaprobe_compile_tests_cheaply target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${TMAPROBE_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    if(TMAPROBE_QUICK)
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${TMAPROBE_QUICKLY}>)
    endif()
endfunction()

if(TMAPROBE_QUICK)
    # Most of it is the log's library, which is silent unless it is asked for.
    set_source_files_properties(src/base/log.cpp PROPERTIES COMPILE_OPTIONS ${TMAPROBE_QUICKLY} SKIP_PRECOMPILE_HEADERS ON)
endif()
set(TMAPROBE_SIMULATING "/model/(core/|branch_history|branch_predictor|call_follower|core_error|direction_predictor|executed_runs|first_guesses|in_flight|line_channel|loop_times|memory_system|met_areas|own_addresses|page_frames|region_prefetcher|set_associative|slot_tally|speed_up|window_facts|window_simulator)")
set(TMAPROBE_NEEDS_LLVM "/model/(llvm/|model_source|simulation|command_simulation|copy_entries|entry_wishes|copy_windows|sampled_windows[.]|region_entries|region_sums|spinning|sum_of_windows|trace_code|trace_extensions|trace_file|trace_simulation|trace_writer|what_if_simulation|gate_simulation|model_stamp|followed_run|followed_regions|followed_entries|layout_simulators|repeatable_simulation|window_follower)")

set(TMAPROBE_SYMBOLS_OVER_LLVM "/symbols/llvm/(debug_files|disassembly|segments)[.]")

function(tmaprobe_library name)
    set(sources ${TMAPROBE_SOURCES_${name}})
    if(name STREQUAL "model")
        # What simulates is a library of its own, and what needs LLVM is added by Model.cmake, if it is there.
        list(FILTER sources EXCLUDE REGEX ${TMAPROBE_SIMULATING})
        list(FILTER sources EXCLUDE REGEX ${TMAPROBE_NEEDS_LLVM})
    endif()
    if(name STREQUAL "symbols")
        list(FILTER sources EXCLUDE REGEX ${TMAPROBE_SYMBOLS_OVER_LLVM})  # the same
    endif()
    # Its machine code is copied into other programs.
    set_source_files_properties(src/trace/sha_routine.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "-O2;-mgeneral-regs-only;-fno-sanitize=all;-fno-stack-protector;-fno-jump-tables;-fcf-protection=none;-fno-profile-arcs;-fno-test-coverage")
    add_library(tmaprobe_${name} STATIC ${sources})
    set_property(GLOBAL APPEND PROPERTY tmaprobe_rooms tmaprobe_${name})
    target_compile_features(tmaprobe_${name} PUBLIC cxx_std_20)
    target_include_directories(tmaprobe_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
    target_compile_options(tmaprobe_${name} PRIVATE ${TMAPROBE_WARNINGS})
    target_compile_definitions(tmaprobe_${name} PRIVATE TMAPROBE_VERSION="${PROJECT_VERSION}")
    target_link_libraries(tmaprobe_${name} PUBLIC tl::expected tmaprobe_fmt Threads::Threads)
endfunction()

function(tmaprobe_room name)
    cmake_parse_arguments(ROOM "" "" "USES;LINKS" ${ARGN})
    tmaprobe_library(${name})
    tmaprobe_build_cheaply(tmaprobe_${name} ${name})
    list(TRANSFORM ROOM_USES PREPEND tmaprobe_)
    target_link_libraries(tmaprobe_${name} PUBLIC ${ROOM_USES} ${ROOM_LINKS})
endfunction()

# kernels/ is beside src/; a variant's file is compiled for the plain architecture and switches its
# instruction set on per function (target attributes), so that nothing else in it can use it.
function(tmaprobe_kernels)
    tmaprobe_library(kernels)
    # Where a loop lies in its cache lines is worth some percent, and is not to depend on what was linked before it.
    target_compile_options(tmaprobe_kernels PRIVATE -O3 -fno-lto -falign-functions=64
                           -Wno-ignored-attributes)  # vectors are template arguments: the same type by another name
    # g++ then keeps the order in which the rounds of SHA-256 are written: measured, 3 to 7% faster.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set_source_files_properties(kernels/sha256/avx2.cpp PROPERTIES COMPILE_OPTIONS -fno-tree-ter)
        set_source_files_properties(kernels/sha256/ssse3.cpp PROPERTIES COMPILE_OPTIONS -fno-schedule-insns2)
        set_source_files_properties(kernels/sha256/portable.cpp PROPERTIES COMPILE_OPTIONS -fno-tree-ter)
    endif()
    target_link_libraries(tmaprobe_kernels PUBLIC tmaprobe_base tmaprobe_machine tmaprobe_memory)
endfunction()
