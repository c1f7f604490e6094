// What of libibverbs is needed, in calls that do much at a time. Calls return 0, or the
// system's number of an error.

#ifndef SCHEDGEN_IBV_H
#define SCHEDGEN_IBV_H

#include <infiniband/verbs.h>
#include <stdint.h>

// The largest number of groups beside that of all ranks, as rdma.MostGroups.
enum { sg_most_groups = 256 };

// A group beside that of all ranks.
struct sg_group {
	union ibv_gid gid;
	struct sg_member *member; // by the connection manager; NULL: none
	struct ibv_ah_attr path;
	struct ibv_ah *handle; // where it is; it stays when the group is left, until its number is used again
	int attached;
};

// A port with all that belongs to one rank. pairs, handles and grams are by rank, NULL where there
// is none; one handle and one number more are those of the group.
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
	int most; // completions that there is room for
	uint32_t key; // of datagrams
	uint32_t inlined;
	union ibv_gid group;
	struct sg_member *member; // of the group, by the connection manager; NULL: none
	struct ibv_ah_attr path; // to the group, of a member
	uint32_t managed_key; // of the group's datagrams, likewise
	struct sg_group further[sg_most_groups];
	struct ibv_port_attr attr;
	struct ibv_gid_entry gid;
	uint8_t number;
};

// What rdma.Work is.
struct sg_work {
	uint64_t id, remote, at;
	uint32_t length, local, key;
	uint16_t to;
	uint8_t op, flags;
	uint32_t immediate, unused;
};

// What rdma.Completion is.
struct sg_completion {
	uint64_t id;
	uint32_t length, status, source, immediate;
};

// How many works, and of what kind, a port has at a time.
struct sg_layout {
	int size, sends, receives, gram_sends, gram_receives;
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
struct ibv_mr *sg_register(struct sg_port *p, void *memory, size_t length);

// sg_pair makes the queue pair for a rank.
int sg_pair(struct sg_port *p, int rank);
int sg_connect(struct sg_port *p, int rank, const struct sg_address *to, uint32_t number);
int sg_reach(struct sg_port *p, int rank, const struct sg_address *to, uint32_t gram);

// sg_join has the connection manager begin to join a group, for the port whose interface has an IPv4
// address. sg_joined waits for that, at most so many milliseconds, and then returns EAGAIN; it says by which
// path the group is reached, and which key it has. sg_leave gives that back. In all of them *m is NULL where
// there is nothing.
int sg_join(struct sg_port *p, struct sg_member **m, const uint8_t local[4], const union ibv_gid *group);
int sg_joined(struct sg_port *p, struct sg_member *m, int patience, struct ibv_ah_attr *path, uint32_t *key);
void sg_leave(struct sg_member **m);

// sg_attach makes the unreliable queue pair ready, and attaches it to the group, if that is not NULL.
int sg_attach(struct sg_port *p, const union ibv_gid *group, uint32_t key);

// sg_attach_group attaches that queue pair to a further group, of which a member is there if the connection manager
// joins groups. sg_leave_group gives that back, but for the handle.
int sg_attach_group(struct sg_port *p, struct sg_group *g);
void sg_leave_group(struct sg_port *p, struct sg_group *g);
void sg_disconnect(struct sg_port *p, int rank);

// sg_exchange posts n works, and then takes at most m completions. posted and done say how many
// it were; err is why the next work was refused. It returns 0 unless no completions can be taken.
struct sg_exchanged {
	int posted, done, err;
};
int sg_exchange(struct sg_port *p, const struct sg_work *w, int n, struct sg_completion *c, int m, struct sg_exchanged *e);
int sg_arm(struct sg_port *p);
int sg_drain(struct sg_port *p);

// These give back what there is: first what uses memory, then, when that is not registered any
// more, all else. Nothing can be done about what fails.
void sg_close_pairs(struct sg_port *p);
void sg_close(struct sg_port *p);

#endif
