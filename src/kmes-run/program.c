// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* program.c - the child process: installs the filter, then executes the program. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "run.h"

/* If SIGCHLD were ignored, the status would be lost. The program gets this one back. */
static struct sigaction original_child;

static void need_child_signal(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigemptyset(&action.sa_mask);
	sigaction(SIGCHLD, &action, &original_child);
}

/* Sends the listener to the parent, or the -errno of its installation. */
static void send_listener(int to, int listener)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &listener, sizeof(listener) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (listener >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &listener, sizeof(int));
	}
	sendmsg(to, &msg, MSG_NOSIGNAL);
}

/* Receives the listener, or the -errno that the child sent instead. */
static int receive_listener(int from)
{
	char room[CMSG_SPACE(sizeof(int))];
	int value = -EPIPE;
	struct iovec iov = { &value, sizeof(value) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *cmsg;

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != sizeof(value))
		return -EPIPE;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (value < 0 || !cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return value < 0 ? value : -EPIPE;
	memcpy(&value, CMSG_DATA(cmsg), sizeof(int));
	return value;
}

static _Noreturn void child_main(char **argv, int sock)
{
	int listener = run_filter_install();
	char go;
	int error;

	/*
	 * A signal that kills kmes-run is meant for the program. If the parent has exited
	 * before this call, the socket has no other end.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	send_listener(sock, listener);
	if (listener < 0)
		_exit(RUN_FAILED);
	/* The parent's descriptor must be the only one. */
	close(listener);
	if (read(sock, &go, 1) != 1)
		_exit(RUN_FAILED);
	sigaction(SIGCHLD, &original_child, NULL);
	cli_signals_for_child();
	execvp(argv[0], argv);
	error = errno;
	send(sock, &error, sizeof(error), MSG_NOSIGNAL);
	_exit(RUN_FAILED);
}

static void explain(int error)
{
	switch (error) {
	case -EBUSY:
		cli_error("a seccomp listener is already installed (kmes-run within "
			  "kmes-run, or a container with one)");
		break;
	case -EINVAL:
	case -ENOSYS:
		cli_error(
			"the seccomp of this kernel is too old (needs Linux 5.19 or later)");
		break;
	default:
		cli_error("cannot install the seccomp filter: %s", strerror(-error));
	}
}

int run_program_prepare(struct run_program *program, char **argv)
{
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0) {
		cli_error("cannot create a socket pair: %s", strerror(errno));
		return RUN_FAILED;
	}
	need_child_signal();
	program->pid = fork();
	if (program->pid == 0) {
		close(sock[0]);
		child_main(argv, sock[1]);
	}
	if (program->pid < 0) {
		cli_error("cannot fork: %s", strerror(errno));
		return RUN_FAILED;
	}
	close(sock[1]);
	program->sock = sock[0];
	program->listener = receive_listener(sock[0]);
	if (program->listener >= 0)
		return 0;
	explain(program->listener);
	waitpid(program->pid, NULL, 0);
	return RUN_FAILED;
}

int run_program_start(struct run_program *program, const char *name)
{
	int error = 0;
	ssize_t n;

	if (send(program->sock, "", 1, MSG_NOSIGNAL) != 1) {
		cli_error("cannot run %s: the child process was killed", name);
		return RUN_FAILED;
	}
	n = recv(program->sock, &error, sizeof(error), 0);
	close(program->sock);
	if (n != sizeof(error))
		return 0;
	waitpid(program->pid, NULL, 0);
	cli_error("cannot run %s: %s", name, strerror(error));
	return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_RUN;
}
