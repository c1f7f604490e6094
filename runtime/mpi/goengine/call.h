/* What the library in C and this one give each other: go.h of the library has the same. */
#ifndef SG_GO_CALL
#define SG_GO_CALL
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What a rank wants of the engine. */
struct sg_go_call {
	int operation, root; /* mpi.Operation */
	void *dst;
	const void *src;
	size_t dst_bytes, src_bytes;
	size_t element;
	const int *counts; /* of elements, by block of src, or NULL */
	int blocks, own;   /* how many counts there are, and which is that of dst */
	const size_t *dst_lengths, *src_lengths; /* of blocks that have lengths of their own, in bytes; or NULL */
	int dst_blocks, src_blocks, counted;     /* how many there are; whether blocks have lengths of their own */
	int commutes;                            /* fold does */
	int kernel;        /* of kernels.go; 0: fold */
	void (*fold)(void *with, void *dst, const void *left, const void *right, size_t bytes);
	void *with;
};

/* An operation that has been started. When it has ended, the engine puts it before others that have. */
struct sg_go_note {
	uintptr_t next;
	uint64_t token; /* no other has it */
	int err;
};
#endif
