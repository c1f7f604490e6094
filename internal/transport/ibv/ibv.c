//go:build verbs && linux && cgo

#include "ibv.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { op_write, op_write_immediate, op_send_gram, op_send_group, op_receive, op_receive_gram };
enum { flag_signal = 1, flag_inline = 2 };
enum { everybody = 0xFFFF, multicast_pair = 0xFFFFFF };
enum { chain = 32 };

// How long the adapter waits for a confirmation before it sends a packet again: 4.096 µs times 2 to
// this power, a quarter of a second. After this number of attempts the packet fails. Seven would
// mean forever for Soft-RoCE, whose completer interprets it so.
enum { retry_time = 16, retries = 6 };

// A receiver always has a buffer, so this should not happen. Seven means forever here.
enum { unready_retries = 7 };

enum { most_inline = 128, far = 64, near = 1 }; // far, near: how many routers are passed

// choose_gid finds the identifier by which the port is known: on Ethernet an IPv4 address of RoCE
// version 2, on InfiniBand the first identifier.
static int choose_gid(struct sg_port *p, const union ibv_gid *want)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
	int ethernet = p->attr.link_layer == IBV_LINK_LAYER_ETHERNET;

	for (int i = 0; i < p->attr.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(p->context, p->number, i, &p->gid, 0))
			continue; // there is none of this number
		if (want && memcmp(want, &p->gid.gid, sizeof *want))
			continue;
		if (!ethernet || p->gid.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(p->gid.gid.raw, mapped, sizeof mapped))
			return 0;
	}
	return EADDRNOTAVAIL;
}

int sg_open(struct sg_port *p, struct ibv_device *device, int port, const union ibv_gid *want)
{
	struct ibv_device_attr attr;
	int err;

	p->context = ibv_open_device(device);
	if (!p->context)
		return errno ? errno : EIO;
	err = ibv_query_device(p->context, &attr);
	if (err)
		return err;
	if (port < 1 || port > attr.phys_port_cnt)
		return ENXIO;
	p->number = port;
	err = ibv_query_port(p->context, p->number, &p->attr);
	if (err)
		return err;
	if (p->attr.state != IBV_PORT_ACTIVE)
		return ENETDOWN;
	return choose_gid(p, want);
}

// create_pair creates a queue pair. If the adapter can, it copies some bytes when a work is posted.
static struct ibv_qp *create_pair(struct sg_port *p, enum ibv_qp_type type, int sends, int receives)
{
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;

	for (uint32_t inlined = most_inline;; inlined = 0) {
		memset(&attr, 0, sizeof attr);
		attr.send_cq = attr.recv_cq = p->cq;
		attr.qp_type = type;
		attr.cap.max_send_wr = sends;
		attr.cap.max_recv_wr = receives;
		attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
		attr.cap.max_inline_data = inlined;
		qp = ibv_create_qp(p->pd, &attr);
		if (qp || !inlined)
			break;
	}
	if (qp && attr.cap.max_inline_data < p->inlined)
		p->inlined = attr.cap.max_inline_data;
	return qp;
}

static int begin_pair(struct sg_port *p, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = p->number,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int sg_create(struct sg_port *p, const struct sg_layout *l)
{
	int flags;

	p->size = l->size;
	p->sends = l->sends;
	p->receives = l->receives;
	p->inlined = most_inline;
	p->pairs = calloc(l->size, sizeof *p->pairs);
	p->handles = calloc(l->size + 1, sizeof *p->handles);
	p->grams = calloc(l->size + 1, sizeof *p->grams);
	if (!p->pairs || !p->handles || !p->grams)
		return ENOMEM;
	p->pd = ibv_alloc_pd(p->context);
	if (!p->pd)
		return errno;
	p->channel = ibv_create_comp_channel(p->context);
	if (!p->channel)
		return errno;
	flags = fcntl(p->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(p->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return errno;
	p->works = p->most = l->gram_sends + l->gram_receives;
	p->cq = ibv_create_cq(p->context, p->most, NULL, p->channel, 0);
	if (!p->cq)
		return errno;
	p->gram = create_pair(p, IBV_QPT_UD, l->gram_sends, l->gram_receives);
	return p->gram ? 0 : errno;
}

// make_room makes the completion queue large enough for the works of one more reliable queue pair
// and, if the adapter can, for those of later ones.
static int make_room(struct sg_port *p)
{
	int need = p->works + p->sends + p->receives;
	int err = 0;

	if (need > p->most) {
		p->most = 2 * need;
		err = ibv_resize_cq(p->cq, p->most);
		if (err) {
			p->most = need;
			err = ibv_resize_cq(p->cq, p->most);
		}
	}
	if (err)
		p->most = p->works;
	else
		p->works = need;
	return err;
}

int sg_pair(struct sg_port *p, int rank)
{
	int err = make_room(p);

	if (err)
		return err;
	p->pairs[rank] = create_pair(p, IBV_QPT_RC, p->sends, p->receives);
	return p->pairs[rank] ? begin_pair(p, p->pairs[rank]) : errno;
}

struct ibv_mr *sg_register(struct sg_port *p, void *memory, size_t length)
{
	return ibv_reg_mr(p->pd, memory, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static struct ibv_ah_attr path(const struct sg_port *p, const union ibv_gid *gid, uint16_t lid, int hops)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.dlid = lid,
		.port_num = p->number,
		.grh = {.dgid = *gid, .sgid_index = p->gid.gid_index, .hop_limit = hops},
	};

	return attr;
}

// first_packet is the number of the first packet that a queue pair sends.
static uint32_t first_packet(uint32_t number) { return number * 2654435761u & 0xFFFFFF; }

int sg_connect(struct sg_port *p, int rank, const struct sg_address *to, uint32_t number)
{
	struct ibv_qp *qp = p->pairs[rank];
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = to->mtu < p->attr.active_mtu ? to->mtu : p->attr.active_mtu,
		.dest_qp_num = number,
		.rq_psn = first_packet(number),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = path(p, &to->gid, to->lid, far),
	};
	int err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	if (err)
		return err;
	memset(&attr, 0, sizeof attr);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = first_packet(qp->qp_num);
	attr.timeout = retry_time;
	attr.retry_cnt = retries;
	attr.rnr_retry = unready_retries;
	attr.max_rd_atomic = 1;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_MAX_QP_RD_ATOMIC);
}

static int make_handle(struct sg_port *p, int i, struct ibv_ah_attr attr, uint32_t number)
{
	p->grams[i] = number;
	p->handles[i] = ibv_create_ah(p->pd, &attr);
	return p->handles[i] ? 0 : errno;
}

int sg_reach(struct sg_port *p, int rank, const struct sg_address *to, uint32_t gram)
{
	return make_handle(p, rank, path(p, &to->gid, to->lid, far), gram);
}

int sg_attach(struct sg_port *p, const union ibv_gid *group, uint32_t key)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = p->number, .qkey = key};
	int err = ibv_modify_qp(p->gram, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	if (err)
		return err;
	attr.qp_state = IBV_QPS_RTR;
	err = ibv_modify_qp(p->gram, &attr, IBV_QP_STATE);
	if (err)
		return err;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	err = ibv_modify_qp(p->gram, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (err)
		return err;
	p->key = key;
	if (!group)
		return 0;
	if (!p->member)
		p->path = path(p, group, 0, near);
	p->group = p->path.grh.dgid;
	err = ibv_attach_mcast(p->gram, &p->group, p->path.dlid);
	if (err)
		return err;
	p->attached = 1;
	return make_handle(p, p->size, p->path, multicast_pair);
}

int sg_attach_group(struct sg_port *p, struct sg_group *g)
{
	int err;

	if (g->handle)
		ibv_destroy_ah(g->handle);
	g->handle = NULL;
	if (!g->member)
		g->path = path(p, &g->gid, 0, near);
	g->gid = g->path.grh.dgid;
	err = ibv_attach_mcast(p->gram, &g->gid, g->path.dlid);
	if (err)
		return err;
	g->attached = 1;
	g->handle = ibv_create_ah(p->pd, &g->path);
	return g->handle ? 0 : errno;
}

void sg_leave_group(struct sg_port *p, struct sg_group *g)
{
	if (g->attached)
		ibv_detach_mcast(p->gram, &g->gid, g->path.dlid);
	g->attached = 0;
	sg_leave(&g->member);
}

void sg_disconnect(struct sg_port *p, int rank)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (!p->pairs[rank])
		return;
	ibv_modify_qp(p->pairs[rank], &attr, IBV_QP_STATE); // this ends its retransmissions
	ibv_destroy_qp(p->pairs[rank]);
	p->pairs[rank] = NULL;
}

static int receives(const struct sg_work *w) { return w->op >= op_receive; }

static struct ibv_qp *queue(const struct sg_port *p, const struct sg_work *w)
{
	if (w->op == op_send_gram || w->op == op_send_group || w->op == op_receive_gram)
		return p->gram;
	return p->pairs[w->to];
}

static const enum ibv_wr_opcode opcodes[] = {
	[op_write] = IBV_WR_RDMA_WRITE,
	[op_write_immediate] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[op_send_gram] = IBV_WR_SEND,
	[op_send_group] = IBV_WR_SEND,
};

static void fill_send(struct sg_port *p, struct ibv_send_wr *wr, struct ibv_sge *sge, const struct sg_work *w)
{
	memset(wr, 0, sizeof *wr);
	wr->wr_id = w->id;
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = opcodes[w->op];
	wr->send_flags = (w->flags & flag_signal ? IBV_SEND_SIGNALED : 0) | (w->flags & flag_inline ? IBV_SEND_INLINE : 0);
	if (w->op == op_write || w->op == op_write_immediate) {
		wr->imm_data = htobe32(w->immediate);
		wr->wr.rdma.remote_addr = w->remote;
		wr->wr.rdma.rkey = w->key;
	} else if (w->op == op_send_gram) {
		int i = w->to == everybody ? p->size : w->to;

		wr->wr.ud.ah = p->handles[i];
		wr->wr.ud.remote_qpn = p->grams[i];
		wr->wr.ud.remote_qkey = p->key;
	} else if (w->op == op_send_group) {
		wr->wr.ud.ah = p->further[w->to].handle;
		wr->wr.ud.remote_qpn = multicast_pair;
		wr->wr.ud.remote_qkey = p->key;
	}
}

static void fill_sge(struct ibv_sge *sge, const struct sg_work *w)
{
	sge->addr = w->at;
	sge->length = w->length;
	sge->lkey = w->local;
}

// post_sends posts n works to one queue pair, and returns how many it has posted.
static int post_sends(struct sg_port *p, struct ibv_qp *qp, const struct sg_work *w, int n, int *err)
{
	struct ibv_send_wr wr[chain], *bad = NULL;
	struct ibv_sge sge[chain];

	for (int i = 0; i < n; i++) {
		fill_sge(&sge[i], &w[i]);
		fill_send(p, &wr[i], &sge[i], &w[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	*err = ibv_post_send(qp, wr, &bad);
	return *err ? (bad ? bad - wr : 0) : n;
}

static int post_receives(struct ibv_qp *qp, const struct sg_work *w, int n, int *err)
{
	struct ibv_recv_wr wr[chain], *bad = NULL;
	struct ibv_sge sge[chain];

	for (int i = 0; i < n; i++) {
		fill_sge(&sge[i], &w[i]);
		wr[i] = (struct ibv_recv_wr){
			.wr_id = w[i].id, .sg_list = &sge[i], .num_sge = w[i].length > 0, .next = i + 1 < n ? &wr[i + 1] : NULL,
		};
	}
	*err = ibv_post_recv(qp, wr, &bad);
	return *err ? (bad ? bad - wr : 0) : n;
}

// post posts works, consecutive ones for one queue pair in one call. It drops works for a destroyed
// queue pair.
static int post(struct sg_port *p, const struct sg_work *w, int n, int *err)
{
	*err = 0;
	for (int i = 0; i < n && !*err;) {
		struct ibv_qp *qp = queue(p, &w[i]);
		int k = 1;

		while (k < chain && i + k < n && queue(p, &w[i + k]) == qp && receives(&w[i + k]) == receives(&w[i]))
			k++;
		if (qp)
			k = receives(&w[i]) ? post_receives(qp, &w[i], k, err) : post_sends(p, qp, &w[i], k, err);
		i += k;
		if (*err)
			return i;
	}
	return n;
}

static struct sg_completion completion(const struct ibv_wc *wc)
{
	struct sg_completion c = {.id = wc->wr_id, .length = wc->byte_len, .status = wc->status, .source = wc->src_qp};

	if (!wc->status && wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		c.immediate = be32toh(wc->imm_data);
	return c;
}

// take takes completions, and returns their number, or -1.
static int take(struct sg_port *p, struct sg_completion *c, int n)
{
	struct ibv_wc wc[chain];
	int done = 0;

	while (done < n) {
		int want = n - done < chain ? n - done : chain;
		int got = ibv_poll_cq(p->cq, want, wc);

		if (got < 0)
			return -1;
		for (int i = 0; i < got; i++, done++)
			c[done] = completion(&wc[i]);
		if (got < want)
			break;
	}
	return done;
}

int sg_exchange(struct sg_port *p, const struct sg_work *w, int n, struct sg_completion *c, int m, struct sg_exchanged *e)
{
	e->posted = post(p, w, n, &e->err);
	e->done = take(p, c, m);
	if (e->done >= 0)
		return 0;
	e->done = 0;
	return EIO;
}

int sg_arm(struct sg_port *p) { return ibv_req_notify_cq(p->cq, 0); }

int sg_drain(struct sg_port *p)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(p->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	return errno == EAGAIN ? 0 : errno;
}

void sg_close_pairs(struct sg_port *p)
{
	for (int i = 0; p->handles && i <= p->size; i++)
		if (p->handles[i])
			ibv_destroy_ah(p->handles[i]);
	for (int rank = 0; p->pairs && rank < p->size; rank++)
		sg_disconnect(p, rank);
	if (p->attached)
		ibv_detach_mcast(p->gram, &p->group, p->path.dlid);
	sg_leave(&p->member);
	for (int i = 0; i < sg_most_groups; i++) {
		sg_leave_group(p, &p->further[i]);
		if (p->further[i].handle)
			ibv_destroy_ah(p->further[i].handle);
		p->further[i].handle = NULL;
	}
	if (p->gram)
		ibv_destroy_qp(p->gram);
	if (p->cq)
		ibv_destroy_cq(p->cq);
	free(p->pairs);
	free(p->handles);
	free(p->grams);
	p->pairs = NULL;
	p->handles = NULL;
}

void sg_close(struct sg_port *p)
{
	if (p->channel)
		ibv_destroy_comp_channel(p->channel);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->context)
		ibv_close_device(p->context);
	memset(p, 0, sizeof *p);
}
