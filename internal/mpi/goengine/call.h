/*
 * The structures that the library in C and this library exchange. The library's go.h has the same.
 */
#ifndef SG_GO_CALL
#define SG_GO_CALL
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* A collective operation of one rank. */
struct sg_go_call {
	int operation, root; /* operation is an mpi.Operation */
	void *dst;
	const void *src;
	size_t dst_bytes, src_bytes;
	size_t element;
	const int *counts; /* elements of each block of src, or NULL */
	int blocks, own;   /* the number of counts, and the elements of dst */
	const size_t *dst_lengths, *src_lengths; /* bytes of each block, or NULL */
	int dst_blocks, src_blocks, counted;     /* numbers of blocks; whether blocks have lengths */
	int commutes;                            /* whether fold commutes */
	int kernel;        /* a kernel of kernels.go, or 0: use fold */
	void (*fold)(void *with, void *dst, const void *left, const void *right, size_t bytes);
	void *with;
};

/*
 * An operation that has been started. When it ends, the engine prepends its note to a list of
 * notes.
 */
struct sg_go_note {
	uintptr_t next;
	uint64_t token; /* unique */
	int err;
};

/* Functions of the program that answer questions and learn results. */
typedef void (*sg_go_answering)(int origin, const void *question, size_t bytes, void *values, void *with);
typedef void (*sg_go_learning)(int origin, const void *question, size_t bytes, const void *values, void *with);
#endif
