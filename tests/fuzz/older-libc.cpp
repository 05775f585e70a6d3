// What the fuzzer's addon calls and the libraries of Debian 12 do not have yet; see older-libc.ts.
#include <cstdlib>
#include <ios>

// Newer libraries open the standard streams by themselves.
static std::ios_base::Init streams;

extern "C" {
long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
void _ZSt21ios_base_library_initv() {}
}
