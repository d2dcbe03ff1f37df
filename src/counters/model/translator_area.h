#pragma once

#include <cstddef>

#include "counters/model/code_emitter.h"

// What lies where in the translator's area of the traced process, by offset: the slots and the table that CodeEmitter
// knows, the buffer of what was executed, the code.
namespace tmaprobe::counters::model::translator_area {

constexpr std::size_t table_bytes = CodeEmitter::lookup_entries * 16;
constexpr std::size_t buffer_offset = CodeEmitter::lookup_table + table_bytes;
constexpr std::size_t buffer_entries = 1 << 16;
constexpr std::size_t code_offset = buffer_offset + buffer_entries * 8;
constexpr std::size_t code_bytes = 4 << 20;
constexpr std::size_t area_bytes = code_offset + code_bytes;
constexpr std::size_t largest_block_code = 16384;

}  // namespace tmaprobe::counters::model::translator_area
