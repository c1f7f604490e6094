package exact

import "golang.org/x/sys/cpu"

//go:generate go run -C ../internal/asm . -exact -out ../../exact/kernels_amd64.s -stubs ../../exact/kernels_amd64.go -pkg exact

// fast reports whether this processor can run the assembly.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA
