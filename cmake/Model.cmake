# The model's core stands on LLVM's MC libraries; without them the tool still builds and says
# what it lacks (src/model/model.cpp).
set(TMAPROBE_HAVE_MODEL OFF)
if(TMAPROBE_MODEL)
    find_program(LLVM_CONFIG NAMES llvm-config-19)
    if(LLVM_CONFIG)
        set(TMAPROBE_HAVE_MODEL ON)
    else()
        message(STATUS "LLVM 19 is missing: building without the model source (third_party/setup.sh installs it)")
    endif()
endif()

if(TMAPROBE_HAVE_MODEL)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        set(llvm_target aarch64)
    else()
        set(llvm_target x86)
    endif()
    execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs mcdisassembler ${llvm_target}info ${llvm_target}desc
                            ${llvm_target}disassembler
                    OUTPUT_VARIABLE llvm_libraries OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE llvm_libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
    # A cross build asks this machine's llvm-config which libraries, and takes those of the target from here.
    set(TMAPROBE_LLVM_LIBDIR "${llvm_libdir}" CACHE PATH "Folder of LLVM 19's static libraries")
    execute_process(COMMAND ${LLVM_CONFIG} --link-static --system-libs OUTPUT_VARIABLE llvm_system OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${LLVM_CONFIG} --has-rtti OUTPUT_VARIABLE llvm_has_rtti OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(llvm_libraries UNIX_COMMAND "${llvm_libraries}")
    separate_arguments(llvm_system UNIX_COMMAND "${llvm_system}")
    # Named by LLVM for its solver and its Windows manifests, which nothing here uses.
    list(FILTER llvm_system EXCLUDE REGEX "z3|xml2")

    set(model_sources ${TMAPROBE_SOURCES_model})
    list(FILTER model_sources INCLUDE REGEX "src/model/(core|llvm)/")
    add_library(tmaprobe_model_core STATIC ${model_sources})
    target_include_directories(tmaprobe_model_core PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_include_directories(tmaprobe_model_core SYSTEM PRIVATE ${llvm_include})
    target_compile_options(tmaprobe_model_core PRIVATE -Wall -Wextra $<$<STREQUAL:${llvm_has_rtti},NO>:-fno-rtti>)
    tmaprobe_build_cheaply(tmaprobe_model_core model_core)
    target_link_libraries(tmaprobe_model_core PUBLIC tmaprobe_base tmaprobe_trace PRIVATE -L${TMAPROBE_LLVM_LIBDIR} ${llvm_libraries} ${llvm_system})
    target_sources(tmaprobe_model PRIVATE ${CMAKE_SOURCE_DIR}/src/model/model_source.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/simulation.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/command_simulation.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/sampled_windows.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/sum_of_windows.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/window_simulator.cpp
                                          ${CMAKE_SOURCE_DIR}/src/model/slot_tally.cpp)
    target_link_libraries(tmaprobe_model PUBLIC tmaprobe_model_core)

    # Symbols are read with its DWARF libraries.
    execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs symbolize mcdisassembler ${llvm_target}info
                            ${llvm_target}desc ${llvm_target}disassembler
                    OUTPUT_VARIABLE llvm_symbol_libraries OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(llvm_symbol_libraries UNIX_COMMAND "${llvm_symbol_libraries}")
    target_sources(tmaprobe_symbols PRIVATE ${CMAKE_SOURCE_DIR}/src/symbols/llvm/disassembly.cpp)
    set(symbol_sources ${CMAKE_SOURCE_DIR}/src/symbols/llvm/disassembly.cpp
                       ${CMAKE_SOURCE_DIR}/src/symbols/llvm/read_symbols.cpp)
    target_include_directories(tmaprobe_symbols SYSTEM PRIVATE ${llvm_include})
    # LLVM's headers stand for themselves: the project's strictest warnings are not for them.
    set_source_files_properties(${symbol_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "-Wno-shadow;-Wno-conversion;-Wno-pedantic;$<$<STREQUAL:${llvm_has_rtti},NO>:-fno-rtti>")
    target_link_libraries(tmaprobe_symbols PRIVATE -L${TMAPROBE_LLVM_LIBDIR} ${llvm_symbol_libraries} ${llvm_system})
endif()
target_compile_definitions(tmaprobe_symbols PRIVATE TMAPROBE_HAVE_SYMBOLIZER=$<BOOL:${TMAPROBE_HAVE_MODEL}>)
target_compile_definitions(tmaprobe_model PRIVATE TMAPROBE_HAVE_MODEL=$<BOOL:${TMAPROBE_HAVE_MODEL}>)
