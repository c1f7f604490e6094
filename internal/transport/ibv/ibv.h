// The parts of libibverbs that package ibv needs, in calls that do much at a time. Calls return 0,
// or an error number of the system.

#ifndef SCHEDGEN_IBV_H
#define SCHEDGEN_IBV_H

#include <infiniband/verbs.h>
#include <stdint.h>

// The greatest number of groups besides the group of all ranks, as rdma.MostGroups.
enum { sg_most_groups = 256 };

// A group besides the group of all ranks.
struct sg_group {
	union ibv_gid gid;
	struct sg_member *member; // by the connection manager; NULL: none
	struct ibv_ah_attr path;
	struct ibv_ah *handle; // address of the group; when the group is left it stays until its number is used again
	int attached;
};

// A port with everything that belongs to one rank. pairs, handles and grams are indexed by rank,
// and NULL or 0 where there is none; handles and grams have one more element, for the group.
struct sg_port {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *gram;
	struct ibv_qp **pairs;
	struct ibv_ah **handles;
	uint32_t *grams; // numbers of the unreliable queue pairs
	int size;
	int attached;
	int sends, receives; // of each reliable queue pair
	int works; // that may complete
	int most; // number of completions that there is room for
	uint32_t key; // of datagrams
	uint32_t inlined;
	union ibv_gid group;
	struct sg_member *member; // of the group, by the connection manager; NULL: none
	struct ibv_ah_attr path; // path of a member to the group
	uint32_t managed_key; // key of the group's datagrams, for a member
	struct sg_group further[sg_most_groups];
	struct ibv_port_attr attr;
	struct ibv_gid_entry gid;
	uint8_t number;
};

// The layout of rdma.Work.
struct sg_work {
	uint64_t id, remote, at;
	uint32_t length, local, key;
	uint16_t to;
	uint8_t op, flags;
	uint32_t immediate, unused;
};

// The layout of rdma.Completion.
struct sg_completion {
	uint64_t id;
	uint32_t length, status, source, immediate;
};

// How many works of each kind a port has at a time.
struct sg_layout {
	int size, sends, receives, gram_sends, gram_receives;
};

// The address of a port.
struct sg_address {
	union ibv_gid gid;
	uint16_t lid;
	uint8_t mtu; // as enum ibv_mtu
};

// want is the identifier by which the port is to be known, or NULL for any.
int sg_open(struct sg_port *p, struct ibv_device *device, int port, const union ibv_gid *want);
int sg_create(struct sg_port *p, const struct sg_layout *l);
struct ibv_mr *sg_register(struct sg_port *p, void *memory, size_t length);

// sg_pair creates the queue pair for a rank.
int sg_pair(struct sg_port *p, int rank);
int sg_connect(struct sg_port *p, int rank, const struct sg_address *to, uint32_t number);
int sg_reach(struct sg_port *p, int rank, const struct sg_address *to, uint32_t gram);

// sg_join makes the connection manager begin to join a group, for the port whose interface has an
// IPv4 address. sg_joined waits for the end of the join, for patience milliseconds at most. It
// returns EAGAIN if the join has not ended, and otherwise sets the path to the group and the
// group's key. sg_leave undoes sg_join. In all of them *m is NULL if there is no membership.
int sg_join(struct sg_port *p, struct sg_member **m, const uint8_t local[4], const union ibv_gid *group);
int sg_joined(struct sg_port *p, struct sg_member *m, int patience, struct ibv_ah_attr *path, uint32_t *key);
void sg_leave(struct sg_member **m);

// sg_attach makes the unreliable queue pair ready, and attaches it to the group, unless that is
// NULL.
int sg_attach(struct sg_port *p, const union ibv_gid *group, uint32_t key);

// sg_attach_group attaches that queue pair to a further group. If the connection manager joins
// groups, the group must have a member. sg_leave_group undoes this, except for the handle.
int sg_attach_group(struct sg_port *p, struct sg_group *g);
void sg_leave_group(struct sg_port *p, struct sg_group *g);
void sg_disconnect(struct sg_port *p, int rank);

// sg_exchange posts n works, and then takes at most m completions. posted and done are their
// numbers; err says why the next work was refused. It returns 0 unless completions can no longer be
// taken.
struct sg_exchanged {
	int posted, done, err;
};
int sg_exchange(struct sg_port *p, const struct sg_work *w, int n, struct sg_completion *c, int m, struct sg_exchanged *e);
int sg_arm(struct sg_port *p);
int sg_drain(struct sg_port *p);

// These free everything: first what uses memory, then, when the memory is no longer registered, the
// rest. Failures have no consequences.
void sg_close_pairs(struct sg_port *p);
void sg_close(struct sg_port *p);

#endif
