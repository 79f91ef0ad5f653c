"""Simulates two hosts by two network namespaces. Needs root, ip and tc.

They are connected by virtual Ethernet devices with a token bucket or, for a wire with a latency, by a TUN device in each and a
process in between that delays the packets."""
import collections, ctypes, fcntl, multiprocessing, os, select, struct, subprocess, time
from pathlib import Path

HOSTS = ["fedhive-a", "fedhive-b"]
NETWORK = "10.99.0.0/24"
TUN_MTU = 32000  # a segment of the virtual Ethernet holds up to 64 kB, too
CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 0x0001, 0x1000


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def device(number):
    return f"fedhive{number}"


def join(gbit, latency_s=0.0):
    """The process in between, if there is one; to be passed to part()."""
    for host in HOSTS:
        ip("netns", "add", host)
        ip("-n", host, "link", "set", "lo", "up")
        names = Path("/etc/netns") / host / "hosts"
        names.parent.mkdir(parents=True, exist_ok=True)
        names.write_text("127.0.0.1 localhost\n" + "".join(f"10.99.0.{i + 1} {name}\n" for i, name in enumerate(HOSTS)))
    relay = None
    if latency_s:
        there, up = multiprocessing.Event(), multiprocessing.Event()
        relay = multiprocessing.Process(target=hand_on, args=(gbit, latency_s, there, up), daemon=True)
        relay.start()
        there.wait(10)
    else:
        ip("link", "add", device(0), "type", "veth", "peer", "name", device(1))
        for number, host in enumerate(HOSTS):
            ip("link", "set", device(number), "netns", host)
    for number, host in enumerate(HOSTS):
        ip("-n", host, "addr", "add", f"10.99.0.{number + 1}/24", "dev", device(number))
        ip("-n", host, "link", "set", device(number), "up")
        if relay:
            ip("-n", host, "link", "set", device(number), "mtu", str(TUN_MTU), "txqueuelen", "10000")
        else:
            subprocess.run(["ip", "netns", "exec", host, "tc", "qdisc", "add", "dev", device(number), "root", "tbf", "rate", f"{gbit}gbit",
                            "burst", "256kb", "latency", "50ms"], check=True)
    if relay:
        up.set()
    return relay


def part(relay=None):
    if relay:
        relay.terminate()
        relay.join()
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host], check=False, stderr=subprocess.DEVNULL)
        (Path("/etc/netns") / host / "hosts").unlink(missing_ok=True)


def bytes_sent():
    read = lambda number, host: subprocess.run(["ip", "netns", "exec", host, "cat", f"/sys/class/net/{device(number)}/statistics/tx_bytes"],
                                               check=True, capture_output=True, text=True).stdout
    return [int(read(number, host)) for number, host in enumerate(HOSTS)]


def open_tun(number):
    """Opens the host's device: a device belongs to the namespace of its opener at that moment."""
    with open(f"/run/netns/{HOSTS[number]}") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", device(number).encode(), IFF_TUN | IFF_NO_PI))
    return descriptor


def hand_on(gbit, latency_s, there, up):
    """Two independent directions: a packet leaves after those before it and arrives after the latency. Nothing is dropped."""
    os.nice(-20)  # a wire does not wait for a processor
    ends = [open_tun(0), open_tun(1)]
    there.set()
    up.wait()
    on_the_way = [collections.deque(), collections.deque()]  # (time, packet), towards the other end
    free_at = [0.0, 0.0]
    while True:
        now = time.monotonic()
        next_at = min((queue[0][0] for queue in on_the_way if queue), default=now + 1.0)
        readable, _, _ = select.select(ends, [], [], max(0.0, next_at - now))
        now = time.monotonic()
        for side in (0, 1):
            while ends[side] in readable:
                try:
                    packet = os.read(ends[side], TUN_MTU + 100)
                except BlockingIOError:
                    break
                free_at[side] = max(free_at[side], now) + len(packet) * 8e-9 / gbit
                on_the_way[side].append((free_at[side] + latency_s, packet))
            while on_the_way[side] and on_the_way[side][0][0] <= time.monotonic():
                os.write(ends[1 - side], on_the_way[side].popleft()[1])
