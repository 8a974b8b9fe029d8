// What ZK-late-snapshot rests on, with the classes of a released server, in the order in which it calls them: a
// snapshot is being written, its term ends (fastForwardDataBase), and the next leader has it truncate what its log
// alone had.
//
//   javac -cp JARS LateSnapshot.java
//   java -Xmx512m -Dsuffix=.gz -Dzookeeper.snapshot.compression.method=gz -cp JARS:. LateSnapshot 2000 [wait]
//
// JARS: zookeeper-server, zookeeper-jute and what they need. 2000: nodes in each of 40 folders; the snapshot has to
// take longer than a write of the log. wait: the snapshot is waited for first, as with the repair late-snapshot.
import java.io.File;
import java.nio.file.*;
import java.util.*;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.*;
import org.apache.zookeeper.server.persistence.*;
import org.apache.zookeeper.txn.*;
public class LateSnapshot {
    static Random rnd = new Random(1); static byte[] data() { byte[] b = new byte[600]; rnd.nextBytes(b); return b; }
    static long z = 0x100000000L;
    static TxnHeader header(long zxid) { return new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create); }
    static CreateTxn create(String path) { return new CreateTxn(path, data(), ZooDefs.Ids.OPEN_ACL_UNSAFE, false, -1); }
    public static void main(String[] a) throws Exception {
        File dir = Files.createTempDirectory("late").toFile();
        int folders = 40, each = Integer.parseInt(a[0]);
        FileTxnSnapLog files = new FileTxnSnapLog(dir, dir);
        ZKDatabase db = new ZKDatabase(files);
        db.loadDataBase();
        for (int k = 0; k < folders; k++) {
            put(db, "/d" + k);
            for (int n = 0; n < each; n++) put(db, "/d" + k + "/n" + n);
        }
        db.commit();
        long committed = z;
        // SyncRequestProcessor: log rolled, snapshot thread
        db.rollLog();
        Thread t = new Thread(() -> {
            try {
                files.save(db.getDataTree(), db.getSessionWithTimeOuts(), false);
            } catch (Exception e) {
                e.printStackTrace();
            }
        });
        t.start();
        File file = new File(dir, "version-2/snapshot." + Long.toHexString(committed) + System.getProperty("suffix", ""));
        while (!file.exists()) Thread.sleep(1);
        // one proposal is logged, committed by nobody; the term ends: fastForwardDataBase
        if (a.length > 1) t.join(); // as with the repair late-snapshot
        String last = null;
        List<String> order = new ArrayList<>(db.getDataTree().getNode("/").getChildren());
        for (String s : order) if (s.startsWith("d")) last = s;
        z++;
        db.append(new Request(1, 1, ZooDefs.OpCode.create, header(z), create("/" + last + "/lost"), z));
        db.commit();
        long ff = db.fastForwardDataBase();
        System.out.println("fastForwardDataBase to 0x" + Long.toHexString(ff) + ", snapshot thread alive: " + t.isAlive());
        // the next leader: TRUNC
        long start = System.nanoTime();
        db.truncateLog(committed);
        System.out.println("TRUNC took " + (System.nanoTime() - start) / 1000000 + " ms");
        System.out.println("lastProcessedZxid 0x" + Long.toHexString(db.getDataTreeLastProcessedZxid()));
        System.out.println("node of the cut transaction is there: " + (db.getNode("/" + last + "/lost") != null));
        FileTxnLog log = new FileTxnLog(new File(dir, "version-2"));
        System.out.println("last logged 0x" + Long.toHexString(log.getLastLoggedZxid()));
        db.close();
    }
    static void put(ZKDatabase db, String path) throws Exception {
        z++;
        Request r = new Request(1, 1, ZooDefs.OpCode.create, header(z), create(path), z);
        db.append(r);
        db.processTxn(r.getHdr(), r.getTxn(), null);
    }
}
