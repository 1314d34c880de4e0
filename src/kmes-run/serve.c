// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* serve.c - receives a call from the listener, passes it to the module and answers it. */
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.h"
#include "cli/cli.h"
#include "emit.h"

static int serve_attach(const struct run_call *c)
{
	const __u64 *args = c->notif->data.args;
	uint64_t capacity = 0;
	struct kmes_ioc_attach_for call = {
		.call.cpu = (uint32_t)args[0],
		.call.capacity_ptr = (uintptr_t)&capacity,
		.pidfd = c->target.pidfd,
	};
	int fd = run_call_device(c, KMES_IOC_ATTACH_FOR, &call);
	int rc;

	if (fd < 0)
		return fd;
	rc = run_call_store(c, args[1], &capacity, sizeof(capacity));
	if (call.call.cpu == KMES_ATTACH_QUERY_SLOTS)
		return rc;
	if (rc == 0)
		rc = run_call_add_fd(c, fd);
	close(fd);
	return rc;
}

static int serve(const struct run_call *c)
{
	int number = c->notif->data.nr;

	if (!run_target_has(&c->target,
			    number == KMES_NR_ATTACH ? CAP_AUDIT_READ : CAP_AUDIT_WRITE))
		return -EPERM;
	switch (number) {
	case KMES_NR_ATTACH:
		return serve_attach(c);
	case KMES_NR_EMIT:
		run_target_join(&c->target);
		return run_emit(c);
	case KMES_NR_EMIT_BATCH:
		run_target_join(&c->target);
		return run_emit_batch(c);
	}
	return -ENOSYS;
}

/* Opens the process first: run_call_device() then checks that it still waits. */
static int serve_known(struct run_call *c)
{
	int rc = run_target_open(&c->target, (pid_t)c->notif->pid);

	if (rc < 0)
		return rc;
	rc = serve(c);
	run_target_close(&c->target);
	return rc;
}

/* The kernel refuses a second listener without giving the reason. */
static void explain_second_listener(pid_t tid)
{
	char name[32];

	if (!run_can_report())
		return;
	run_target_name(tid, name, sizeof(name));
	cli_error("process %d (%s) cannot install a seccomp listener: a process can "
		  "have only one, and it has that of kmes-run",
		  (int)tid, name);
}

void run_serve(int listener, int device)
{
	struct seccomp_notif notif = { 0 };
	struct seccomp_notif_resp resp = { 0 };
	struct run_call c = { .listener = listener, .device = device, .notif = &notif };
	int rc;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0)
		return; /* killed before the call was received */
	resp.id = notif.id;
	if (notif.data.nr == SYS_seccomp) {
		explain_second_listener((pid_t)notif.pid);
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else {
		rc = serve_known(&c);
		resp.error = rc < 0 ? rc : 0;
		resp.val = rc < 0 ? 0 : rc;
	}
	run_call_answer(listener, &resp);
}
