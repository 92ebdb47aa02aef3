// The witness: an HTTP/1.1 server that notes when each request came, so that two clients' pacing can be held against
// the same clock. The time is the kernel's own, stamped while the client's send is under way (SO_TIMESTAMPNS; on
// loopback that is in the sender's own call), so that how late this program reads doesn't matter.
//
// One thread, kept connections, every GET is answered by the same 11 bytes; no request bodies, no `Connection: close`.
// It prints its port. A line on standard input asks for what came since the last line; the answer are four words in
// this machine's form: connections, requests, requests without a stamp, stamps kept; then the stamps, in nanoseconds
// of CLOCK_REALTIME, as they were read. It ends with its standard input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STAMPS = 1 << 23, MOST_SOCKETS = 16384, BATCH = 256, END_LENGTH = 4 };

static const char END[] = "\r\n\r\n";
static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world";

static struct {
    uint64_t connections, requests, unstamped, kept;
} seen;

static uint64_t *stamps;
// How much of END the last bytes of each socket were.
static unsigned char matched[MOST_SOCKETS];
static int epoll;

// The bench quotes this and gives the row up.
static void die(const char *what) {
    fprintf(stderr, "witness: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void watch(int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
}

static void set(int fd, int level, int option) {
    int on = 1;
    if (setsockopt(fd, level, option, &on, sizeof on) != 0) die("setsockopt");
}

static int listener(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 4096) != 0) die("listen");
    // Accepted sockets inherit it, so that not even the first request goes without.
    set(fd, SOL_SOCKET, SO_TIMESTAMPNS);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) die("getsockname");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void accept_all(int from) {
    int fd;
    while ((fd = accept4(from, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        if (fd >= MOST_SOCKETS) {
            errno = EMFILE;
            die("too many connections");
        }
        set(fd, IPPROTO_TCP, TCP_NODELAY);
        matched[fd] = 0;
        seen.connections++;
        watch(fd);
    }
    if (errno != EAGAIN && errno != ECONNABORTED) die("accept4");
}

// 0 where the kernel gave none.
static uint64_t stamp_of(struct msghdr *message) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(part), sizeof at);
            return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
        }
    }
    return 0;
}

static void note(uint64_t at_ns) {
    seen.requests++;
    if (at_ns == 0) {
        seen.unstamped++;
    } else if (seen.kept < MOST_STAMPS) {
        stamps[seen.kept++] = at_ns;
    }
}

static void answer(int fd) {
    // So little fits always, unless the client doesn't read, which voids the turn anyway.
    ssize_t sent = send(fd, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return;
    if (sent != sizeof ANSWER - 1) die("send");
}

static void serve(int fd) {
    char bytes[16384], control[256];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(fd, &message, 0);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (length <= 0) {
        close(fd);
        return;
    }
    uint64_t at_ns = stamp_of(&message);
    for (ssize_t i = 0; i < length; i++) {
        unsigned char so_far = matched[fd];
        // A mismatch may itself be the first byte of the end.
        so_far = bytes[i] == END[so_far] ? so_far + 1 : bytes[i] == END[0];
        matched[fd] = so_far % END_LENGTH;
        if (so_far == END_LENGTH) {
            note(at_ns);
            answer(fd);
        }
    }
}

static void tell(void) {
    char line[64];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) exit(0);
    if (fwrite(&seen, sizeof seen, 1, stdout) != 1) die("write");
    if (fwrite(stamps, sizeof *stamps, seen.kept, stdout) != seen.kept || fflush(stdout) != 0) die("write");
    memset(&seen, 0, sizeof seen);
}

int main(void) {
    // The kernel gives pages only as they are written.
    stamps = malloc(MOST_STAMPS * sizeof *stamps);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (stamps == NULL || epoll < 0) die("start");
    int from = listener();
    watch(from);
    watch(STDIN_FILENO);
    for (;;) {
        struct epoll_event events[BATCH];
        int ready = epoll_wait(epoll, events, BATCH, -1);
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == from) {
                accept_all(from);
            } else if (fd == STDIN_FILENO) {
                tell();
            } else {
                serve(fd);
            }
        }
    }
}
