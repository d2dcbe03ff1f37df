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

# What executes instructions on the modelled CPU: all of a simulation's time is spent here.
set(simulating_sources ${TMAPROBE_SOURCES_model})
list(FILTER simulating_sources INCLUDE REGEX ${TMAPROBE_SIMULATING})
add_library(tmaprobe_model_core STATIC ${simulating_sources})
target_compile_options(tmaprobe_model_core PRIVATE ${TMAPROBE_WARNINGS})
tmaprobe_build_cheaply(tmaprobe_model_core model_core)
target_link_libraries(tmaprobe_model_core PUBLIC tmaprobe_counters tmaprobe_trace)
target_link_libraries(tmaprobe_model PUBLIC tmaprobe_model_core)

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

    set(llvm_sources ${TMAPROBE_SOURCES_model})
    list(FILTER llvm_sources INCLUDE REGEX "/model/llvm/")
    add_library(tmaprobe_model_llvm STATIC ${llvm_sources})
    target_include_directories(tmaprobe_model_llvm PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_include_directories(tmaprobe_model_llvm SYSTEM PRIVATE ${llvm_include})
    target_compile_options(tmaprobe_model_llvm PRIVATE -Wall -Wextra $<$<STREQUAL:${llvm_has_rtti},NO>:-fno-rtti>)
    tmaprobe_build_cheaply(tmaprobe_model_llvm model_llvm)
    target_link_libraries(tmaprobe_model_llvm PUBLIC tmaprobe_model_core PRIVATE -L${TMAPROBE_LLVM_LIBDIR} ${llvm_libraries} ${llvm_system})
    set(sources_over_llvm ${TMAPROBE_SOURCES_model})
    list(FILTER sources_over_llvm INCLUDE REGEX ${TMAPROBE_NEEDS_LLVM})
    list(FILTER sources_over_llvm EXCLUDE REGEX "/model/llvm/")
    list(TRANSFORM sources_over_llvm PREPEND ${CMAKE_SOURCE_DIR}/)
    target_sources(tmaprobe_model PRIVATE ${sources_over_llvm})
    target_link_libraries(tmaprobe_model PUBLIC tmaprobe_model_llvm)

    # Symbols are read with its DWARF libraries.
    execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs symbolize mcdisassembler ${llvm_target}info
                            ${llvm_target}desc ${llvm_target}disassembler
                    OUTPUT_VARIABLE llvm_symbol_libraries OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(llvm_symbol_libraries UNIX_COMMAND "${llvm_symbol_libraries}")
    set(symbol_sources ${TMAPROBE_SOURCES_symbols})
    list(FILTER symbol_sources INCLUDE REGEX "/symbols/llvm/.*[.]cpp$")
    list(TRANSFORM symbol_sources PREPEND ${CMAKE_SOURCE_DIR}/)
    set(symbol_sources_over_llvm ${symbol_sources})
    list(FILTER symbol_sources_over_llvm INCLUDE REGEX ${TMAPROBE_SYMBOLS_OVER_LLVM})
    target_sources(tmaprobe_symbols PRIVATE ${symbol_sources_over_llvm})
    target_include_directories(tmaprobe_symbols SYSTEM PRIVATE ${llvm_include})
    # LLVM's headers stand for themselves: the project's strictest warnings are not for them.
    set_source_files_properties(${symbol_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "-Wno-shadow;-Wno-conversion;-Wno-pedantic;$<$<STREQUAL:${llvm_has_rtti},NO>:-fno-rtti>")
    target_link_libraries(tmaprobe_symbols PRIVATE -L${TMAPROBE_LLVM_LIBDIR} ${llvm_symbol_libraries} ${llvm_system})
endif()
target_compile_definitions(tmaprobe_symbols PRIVATE TMAPROBE_HAVE_SYMBOLIZER=$<BOOL:${TMAPROBE_HAVE_MODEL}>)
target_compile_definitions(tmaprobe_model PRIVATE TMAPROBE_HAVE_MODEL=$<BOOL:${TMAPROBE_HAVE_MODEL}>)
