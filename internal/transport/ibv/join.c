//go:build verbs && linux && cgo

#include "ibv.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

// On InfiniBand, the subnet manager creates and joins a group; the system's connection manager asks
// it. On Ethernet, the connection manager makes the interface let the group in, and tells switches.

struct sg_member {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct sockaddr_storage group;
	int joined;
};

// name_group sets s to the name of the group: on InfiniBand its whole identifier, on Ethernet the
// IPv4 address at its end.
static void name_group(const struct sg_port *p, const union ibv_gid *group, struct sockaddr_storage *s)
{
	memset(s, 0, sizeof *s);
	if (p->attr.link_layer == IBV_LINK_LAYER_ETHERNET) {
		struct sockaddr_in *in = (struct sockaddr_in *)s;

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, &group->raw[12], sizeof in->sin_addr);
	} else {
		struct sockaddr_ib *ib = (struct sockaddr_ib *)s;

		ib->sib_family = AF_IB;
		ib->sib_pkey = htons(0xFFFF);
		memcpy(&ib->sib_addr, group, sizeof ib->sib_addr);
	}
}

// bind_member binds the membership to the port that has an IPv4 address.
static int bind_member(const struct sg_port *p, struct sg_member *m, const uint8_t local[4])
{
	struct sockaddr_in at = {.sin_family = AF_INET};

	memcpy(&at.sin_addr, local, sizeof at.sin_addr);
	m->events = rdma_create_event_channel();
	if (!m->events || rdma_create_id(m->events, &m->id, NULL, RDMA_PS_UDP) || rdma_bind_addr(m->id, (struct sockaddr *)&at))
		return errno;
	if (!m->id->verbs || m->id->port_num != p->number ||
	    strcmp(ibv_get_device_name(m->id->verbs->device), ibv_get_device_name(p->context->device)))
		return EADDRNOTAVAIL;
	return 0;
}

int sg_joined(struct sg_port *p, struct sg_member *m, int patience, struct ibv_ah_attr *path, uint32_t *key)
{
	struct pollfd fd = {.fd = m->events->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	int n, err = 0;

	do
		n = poll(&fd, 1, patience);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? errno : EAGAIN;
	if (rdma_get_cm_event(m->events, &event))
		return errno;
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		*path = event->param.ud.ah_attr;
		path->grh.sgid_index = p->gid.gid_index; // by which other ranks know the port
		*key = event->param.ud.qkey;
	} else {
		err = event->status < 0 ? -event->status : EIO;
	}
	rdma_ack_cm_event(event);
	return err;
}

int sg_join(struct sg_port *p, struct sg_member **to, const uint8_t local[4], const union ibv_gid *group)
{
	struct sg_member *m = *to = calloc(1, sizeof *m);
	int err;

	if (!m)
		return ENOMEM;
	err = bind_member(p, m, local);
	if (err)
		return err;
	name_group(p, group, &m->group);
	if (rdma_join_multicast(m->id, (struct sockaddr *)&m->group, NULL))
		return errno;
	m->joined = 1;
	return 0;
}

void sg_leave(struct sg_member **of)
{
	struct sg_member *m = *of;

	if (!m)
		return;
	if (m->joined)
		rdma_leave_multicast(m->id, (struct sockaddr *)&m->group);
	if (m->id)
		rdma_destroy_id(m->id);
	if (m->events)
		rdma_destroy_event_channel(m->events);
	free(m);
	*of = NULL;
}
