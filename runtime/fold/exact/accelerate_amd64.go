package exact

import "golang.org/x/sys/cpu"

//go:generate go run -C ../internal/asm . -exact -out ../../exact/rows_amd64.s -stubs ../../exact/rows_amd64.go -pkg exact

// fast says whether addRows works here.
var fast = cpu.X86.HasAVX2
