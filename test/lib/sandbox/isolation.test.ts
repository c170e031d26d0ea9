import { hostname } from "node:os";
import { expect, test } from "vitest";
import { eventually, nodeImage, onEachEngine, shellImage } from "../../engines/engines.js";

onEachEngine("isolation", (engine) => {
  test("the program has no privileges, a seccomp filter and a user of its own", async () => {
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", "id -u; id -g; cat /proc/self/status"]);
    expect(stdout.split("\n").slice(0, 2)).toEqual(["65534", "65534"]);
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
      expect(stdout).toMatch(new RegExp(`${set}:\\s0000000000000000`));
    expect(stdout).toMatch(/NoNewPrivs:\s1/);
    expect(stdout).toMatch(/Seccomp:\s2/);
  });

  test("the limits that it reads from its own cgroup are those that were asked for", async () => {
    const script =
      "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; echo; cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; echo; cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us; echo; cat /sys/fs/cgroup/memory.swap.max /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes";
    const { stdout } = await engine
      .sandbox()
      .run(shellImage, ["sh", "-c", `(${script}) 2>/dev/null`], {}, { memoryMb: 48, pidsLimit: 20, cpus: 0.5 });
    const [memory = "", pids = "", cpu = "", swap = ""] = stdout.split("\n\n").map((part) => part.trim());
    expect(Number(memory)).toBe(48 * 1024 * 1024);
    expect(Number(pids)).toBe(20);
    const [quota = 0, period = 0] = cpu.split(/\s+/).map(Number);
    expect(quota / period).toBe(0.5);
    expect([0, 48 * 1024 * 1024]).toContain(Number(swap));
    const found = await engine.sandbox().describe(shellImage);
    expect(found.limits).toEqual({ memory: true, swap: true, cpu: true, pids: true });
  });

  test.each(["65534:65534", "0:0"])("user %s can write nowhere but in folders of a known size", async (user) => {
    const script = `
      for folder in $(find / -xdev -type d 2>/dev/null) $(cut -d' ' -f2 /proc/mounts); do
        case "$folder" in /proc*|/sys*) continue ;; esac
        if [ -d "$folder" ] && touch "$folder/.probe" 2>/dev/null; then echo "$folder $(grep " $folder " /proc/mounts | tail -n 1)"; fi
      done | sort -u
      for file in /etc/hosts /etc/hostname /etc/resolv.conf /proc/sysrq-trigger /proc/sys/kernel/core_pattern; do
        [ -e $file ] && (echo x >> $file) 2>/dev/null && echo "$file"
      done; true`;
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", script], {}, { user, timeoutMs: 15_000 });
    const lines = stdout.trim().split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual(expect.arrayContaining(["/tmp", "/workspace", "/dev/shm"]));
    for (const line of lines) {
      // The engine's own /dev is root's alone, of a known size, and counts as the container's memory.
      expect(line).toMatch(/ tmpfs (rw|[a-z,]*rw)[^ ]*,size=\d+k| mqueue /);
    }
    const own = lines.filter((line) => /^(\/tmp|\/workspace) /.test(line));
    for (const line of own) expect(line).toMatch(/nosuid,nodev,noexec/);
  });

  test("there is no network but loopback", async () => {
    const { stdout } = await engine
      .sandbox()
      .run(shellImage, ["sh", "-c", "ls /sys/class/net; wget -T 2 -q -O - http://1.1.1.1/ || echo unreachable"]);
    expect(stdout).toBe("lo\nunreachable\n");
    const local =
      "const s=require('net').createServer(c=>c.end('ok')).listen(0,'localhost',()=>require('net').connect(s.address().port,'localhost').on('data',d=>{console.log(String(d));process.exit()}))";
    expect((await engine.shared.run(nodeImage, ["node", "-e", local])).stdout).toBe("ok\n");
  });

  test("the name of the host is nowhere to be found", async () => {
    const script = "hostname; uname -n; cat /etc/hostname /etc/hosts /etc/resolv.conf 2>/dev/null; env";
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", script]);
    const words = stdout.split(/[\s=.]+/);
    expect(words).toContain("sandbox");
    expect(words).not.toContain(hostname());
  });

  test("a fork bomb ends by itself and stays inside", async () => {
    const result = await engine
      .sandbox()
      .run(shellImage, ["sh", "-c", "f() { f | f & }; f; sleep 2; echo done"], {}, { pidsLimit: 32, timeoutMs: 8000 });
    expect(result.oomKilled).toBe(false);
    expect(result.stderr).toMatch(/fork|Resource temporarily unavailable/);
  });

  test("the internal network reaches another container and nothing else", async () => {
    const sandbox = engine.sandbox();
    const probe = await sandbox.run(shellImage, ["true"], {}, { network: "internal" }).catch((error: Error) => error);
    // Bridges need a kernel module that small machines lack.
    if (probe instanceof Error) return expect(probe.message).toMatch(/bridge|network|netavark|cni|iptables/i);
    const listen = ["sh", "-c", "hostname -i; echo hello | nc -l -p 8000"];
    const server = sandbox.run(shellImage, listen, {}, { network: "internal", timeoutMs: 15_000 });
    const address = async () => {
      const [name = ""] = await engine.containers();
      const text = await engine
        .cli("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name)
        .catch(() => "");
      return text.trim();
    };
    let found = "";
    await eventually(async () => {
      found = await address();
      return found !== "";
    });
    const client = await sandbox.run(
      shellImage,
      ["sh", "-c", `until nc -w 3 ${found} 8000; do sleep 0.1; done; wget -T 2 -q -O - http://1.1.1.1/ || echo unreachable`],
      {},
      { network: "internal" },
    );
    expect(client.stdout).toBe("hello\nunreachable\n");
    await server;
  });
});
