// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* simserver.c - one thread that accepts a client and answers as a test wants. */
#include "simserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

struct server server;
struct kmes_source *src;
struct kmes_error err;
volatile sig_atomic_t stopped;

void server_reply(int fd, const struct sim_reply *reply, const int *fds)
{
	char control[CMSG_SPACE(SIM_FDS * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)reply, sizeof(*reply) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fds) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(SIM_FDS * sizeof(int));
		memcpy(CMSG_DATA(c), fds, SIM_FDS * sizeof(int));
	}
	sendmsg(fd, &msg, MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
	struct server *s = arg;
	static uint8_t buf[SIM_DATAGRAM_MAX];
	struct sim_reply reply;
	ssize_t n;

	s->client = accept(s->listener, NULL, NULL);
	while ((n = recv(s->client, buf, sizeof(buf), 0)) >= (ssize_t)sizeof(s->last)) {
		memcpy(&s->last, buf, sizeof(s->last));
		s->body_len = n - sizeof(s->last);
		memcpy(s->body, buf + sizeof(s->last), s->body_len);
		memset(&reply, 0, sizeof(reply));
		reply.op = s->last.op;
		reply.id = s->last.id;
		if (s->last.op == SIM_HELLO) {
			memcpy(reply.hello.magic, SIM_MAGIC, 8);
			memcpy(reply.hello.stream_id, "0123456789abcdef", 16);
			reply.hello.version = SIM_VERSION;
			reply.hello.slots = 2;
			reply.hello.max_event_size = 65536;
		}
		s->requests++;
		if (!s->answer(s, &s->last, &reply))
			break;
		server_reply(s->client, &reply, s->last.op == SIM_ATTACH ? s->fds : NULL);
	}
	close(s->client);
	return NULL;
}

int server_start(bool (*answer)(struct server *, const struct sim_request *,
				struct sim_reply *))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memset(&server, 0, sizeof(server));
	server.answer = answer;
	server.fds[0] = server.fds[1] = -1;
	strcpy(server.dir, "/tmp/kmes-source.XXXXXX");
	assert_non_null(mkdtemp(server.dir));
	snprintf(server.path, sizeof(server.path), "%s/s", server.dir);
	snprintf(server.name, sizeof(server.name), "sim:%s", server.path);
	strcpy(address.sun_path, server.path);
	server.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.listener, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server.listener, 1), 0);
	assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
	return kmes_source_open(&src, server.name, &stopped, &err);
}

void server_stop(void)
{
	unsigned int i;

	kmes_source_close(src);
	src = NULL;
	pthread_join(server.thread, NULL);
	close(server.listener);
	unlink(server.path);
	rmdir(server.dir);
	for (i = 0; i < SIM_FDS; i++)
		if (server.fds[i] >= 0)
			close(server.fds[i]);
}

bool server_honest(struct server *s, const struct sim_request *request,
		   struct sim_reply *reply)
{
	(void)s;
	(void)request;
	reply->count = request->count;
	return true;
}
