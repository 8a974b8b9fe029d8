import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.security.Permission;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.zip.CRC32;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/**
 * Starts official servers in this process and reports who serves which tree.
 *
 * A line of input is OUT, the configurations to start first, those to start when the first serve, and the seconds to
 * wait for each group, separated by tabs (configurations by commas). Two that have not ended are waited for until they
 * serve. The answer goes to the file OUT; then a line "done" is printed.
 */
public class Directories {
    static final class Peer implements Runnable {
        final String cfg;
        volatile String ended = "";
        final Main main = new Main();
        Thread thread;

        Peer(String cfg) {
            this.cfg = cfg;
        }

        public void run() {
            try {
                Method m = QuorumPeerMain.class.getDeclaredMethod("initializeAndRun", String[].class);
                m.setAccessible(true);
                m.invoke(main, (Object) new String[] {cfg});
                ended = "returned";
            } catch (Throwable t) {
                StringBuilder said = new StringBuilder();
                for (Throwable c = t; c != null; c = c.getCause()) {
                    said.append(c).append(" | ");
                }
                ended = said.toString().replace('\n', ' ').replace('\t', ' ');
            }
        }

        QuorumPeer peer() throws Exception {
            Field f = QuorumPeerMain.class.getDeclaredField("quorumPeer");
            f.setAccessible(true);
            return (QuorumPeer) f.get(main);
        }

        ZooKeeperServer server() throws Exception {
            QuorumPeer p = peer();
            if (p == null || !ended.isEmpty()) {
                return null;
            }
            String state = p.getPeerState().toString();
            Field f = QuorumPeer.class.getDeclaredField(
                state.equals("LEADING") ? "leader" : state.equals("FOLLOWING") ? "follower" : "observer");
            f.setAccessible(true);
            Object role = f.get(p);
            if (role == null || state.equals("LOOKING")) {
                return null;
            }
            for (Class<?> c = role.getClass(); c != null; c = c.getSuperclass()) {
                for (Field g : c.getDeclaredFields()) {
                    if (ZooKeeperServer.class.isAssignableFrom(g.getType())) {
                        g.setAccessible(true);
                        ZooKeeperServer zk = (ZooKeeperServer) g.get(role);
                        return zk != null && zk.isRunning() ? zk : null;
                    }
                }
            }
            return null;
        }
    }

    static final class Main extends QuorumPeerMain {}

    static final class Exits extends SecurityManager {
        public void checkPermission(Permission p) {
            if (p.getName().startsWith("exitVM")) {
                throw new SecurityException(p.getName());
            }
        }

        public void checkPermission(Permission p, Object context) {
            checkPermission(p);
        }
    }

    static boolean serves(Peer p) {
        try {
            return p.server() != null;
        } catch (Exception e) {
            return false;
        }
    }

    static void waitFor(List<Peer> peers, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        int still = 0;
        while (System.nanoTime() < end && still < 3) {
            boolean all = true;
            int alive = 0;
            for (Peer p : peers) {
                all &= !p.ended.isEmpty() || serves(p);
                alive += p.ended.isEmpty() ? 1 : 0;
            }
            still = all || alive < 2 ? still + 1 : 0;
            Thread.sleep(60);
        }
    }

    static void walk(DataTree tree, String path, PrintWriter out) {
        try {
            Stat stat = new Stat();
            byte[] data = tree.getData(path, stat, null);
            CRC32 crc = new CRC32();
            crc.update(data == null ? new byte[0] : data);
            out.println("node\t" + path + "\t" + Long.toHexString(crc.getValue()) + "\t" + stat.getMzxid());
            for (String child : new TreeSet<String>(tree.getChildren(path, stat, null))) {
                walk(tree, path.equals("/") ? "/" + child : path + "/" + child, out);
            }
        } catch (Exception e) {
            out.println("error\t" + path + "\t" + e);
        }
    }

    static void report(String when, Map<String, Peer> peers, PrintWriter out) throws Exception {
        for (Peer p : peers.values()) {
            ZooKeeperServer zk = p.server();
            QuorumPeer q = p.peer();
            String state = q == null ? "NONE" : q.getPeerState().toString();
            long zxid = zk == null ? -1 : zk.getZKDatabase().getDataTree().lastProcessedZxid;
            out.println("peer\t" + when + "\t" + p.cfg + "\t" + state + "\t" + (zk != null) + "\t" + zxid + "\t" + p.ended);
            if (zk != null) {
                walk(zk.getZKDatabase().getDataTree(), "/", out);
            }
        }
    }

    static void start(String cfgs, Map<String, Peer> all, List<Peer> fresh) {
        for (String cfg : cfgs.split(",")) {
            if (!cfg.isEmpty()) {
                Peer p = new Peer(cfg);
                p.thread = new Thread(p, cfg);
                p.thread.setDaemon(true);
                all.put(cfg, p);
                fresh.add(p);
                p.thread.start();
            }
        }
    }

    static void stop(Map<String, Peer> peers) throws Exception {
        List<Thread> threads = new ArrayList<Thread>();
        for (final Peer p : peers.values()) {
            final QuorumPeer q = p.peer();
            if (q != null) {
                Thread t = new Thread(new Runnable() {
                    public void run() {
                        q.shutdown();
                    }
                });
                t.setDaemon(true);
                t.start();
                threads.add(t);
            }
        }
        for (Thread t : threads) {
            t.join(3000);
        }
    }

    public static void main(String[] args) throws Exception {
        System.setSecurityManager(new Exits());
        Thread.setDefaultUncaughtExceptionHandler(new Thread.UncaughtExceptionHandler() {
            public void uncaughtException(Thread t, Throwable e) {}
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            double seconds = Double.parseDouble(words[3]);
            Map<String, Peer> peers = new LinkedHashMap<String, Peer>();
            try (PrintWriter out = new PrintWriter(new File(words[0]), "UTF-8")) {
                List<Peer> fresh = new ArrayList<Peer>();
                start(words[1], peers, fresh);
                waitFor(fresh, seconds);
                report("first", peers, out);
                if (!words[2].isEmpty()) {
                    start(words[2], peers, fresh);
                    waitFor(fresh, seconds);
                    report("all", peers, out);
                }
            }
            stop(peers);
            System.out.println("done");
            System.out.flush();
        }
    }
}
