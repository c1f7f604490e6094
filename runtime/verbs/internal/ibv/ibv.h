// What of libibverbs is needed, in calls that do much at a time. Calls return 0, or the
// system's number of an error.

#ifndef SCHEDGEN_IBV_H
#define SCHEDGEN_IBV_H

#include <infiniband/verbs.h>
#include <stdint.h>

// A port with all that belongs to one rank. pairs, handles and grams are by rank; one handle
// and one number more are those of the group.
struct sg_port {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *gram;
	struct ibv_qp **pairs;
	struct ibv_ah **handles;
	uint32_t *grams; // numbers of the unreliable queue pairs
	int size;
	int attached;
	uint32_t key; // of datagrams
	uint32_t inlined;
	union ibv_gid group;
	struct ibv_port_attr attr;
	struct ibv_gid_entry gid;
	uint8_t number;
};

// What rdma.Work is.
struct sg_work {
	uint64_t id, remote, at;
	uint32_t length, key;
	uint16_t to;
	uint8_t op, flags;
	uint32_t immediate;
};

// What rdma.Completion is.
struct sg_completion {
	uint64_t id;
	uint32_t length, status, source, immediate, has_immediate, unused;
};

// How many works, and of what kind, a port has at a time.
struct sg_layout {
	int rank, size, sends, receives, gram_sends, gram_receives;
};

// How a port is reached.
struct sg_address {
	union ibv_gid gid;
	uint16_t lid;
	uint8_t mtu; // as enum ibv_mtu
};

// want is the identifier by which the port is to be known, NULL for any.
int sg_open(struct sg_port *p, struct ibv_device *device, int port, const union ibv_gid *want);
int sg_create(struct sg_port *p, const struct sg_layout *l);
int sg_register(struct sg_port *p, void *memory, size_t length);
int sg_connect(struct sg_port *p, int rank, const struct sg_address *to, uint32_t number);
int sg_reach(struct sg_port *p, int rank, const struct sg_address *to, uint32_t gram);
int sg_attach(struct sg_port *p, const union ibv_gid *group, uint32_t key);
void sg_disconnect(struct sg_port *p, int rank);
int sg_post(struct sg_port *p, const struct sg_work *w, int n, int *err);
int sg_poll(struct sg_port *p, struct sg_completion *c, int n);
int sg_arm(struct sg_port *p);
int sg_drain(struct sg_port *p);
void sg_close(struct sg_port *p);

#endif
