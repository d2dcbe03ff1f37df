// A recursive parser of JSON over a text made here.
#include <string>

#include "common.h"

struct Parser {
    const char* at;
    std::uint64_t sum = 0;
    void space() {
        while (*at == ' ' || *at == '\n') ++at;
    }
    void value() {
        space();
        if (*at == '{' || *at == '[') {
            const bool object = *at == '{';
            ++at;
            for (space(); *at != '}' && *at != ']'; space()) {
                if (object) {
                    string();
                    space();
                    ++at;
                }
                value();
                space();
                if (*at == ',') ++at;
            }
            ++at;
        } else if (*at == '"') {
            string();
        } else {
            std::uint64_t number = 0;
            if (*at == '-') ++at;
            while ((*at >= '0' && *at <= '9') || *at == '.') {
                if (*at != '.') number = number * 10 + static_cast<std::uint64_t>(*at - '0');
                ++at;
            }
            sum += number;
        }
    }
    void string() {
        ++at;
        while (*at != '"') {
            if (*at == '\\') ++at;
            sum += static_cast<unsigned char>(*at++);
        }
        ++at;
    }
};

int main() {
    std::uint64_t state = 1, sum = 0;
    std::string text = "[";
    for (int i = 0; i < 60000; ++i) {
        text += "{\"name\": \"";
        for (std::uint64_t n = 3 + next_random(state) % 12; n; --n)
            text += static_cast<char>('a' + next_random(state) % 26);
        text += "\", \"id\": " + std::to_string(next_random(state) % 100000) + ", \"values\": [";
        for (std::uint64_t n = next_random(state) % 6; n; --n)
            text += std::to_string(next_random(state) % 1000) + ".5, ";
        text += "1]},\n";
    }
    text += "0]";
    for (int i = 0; i < 60; ++i) {
        Parser parser{text.c_str()};
        parser.value();
        sum += parser.sum;
    }
    return answer(sum);
}
