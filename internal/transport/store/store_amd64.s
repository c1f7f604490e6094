//go:build !race

#include "textflag.h"

// func moveString(dst, src unsafe.Pointer, n int)
TEXT ·moveString(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	CLD
	REP; MOVSB
	RET

// func Fetch(p unsafe.Pointer)
TEXT ·Fetch(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // PREFETCHW (AX)
	RET
