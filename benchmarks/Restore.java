import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.util.TreeSet;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * Loads data directories as a server does when it starts (ZKDatabase.loadDataBase), without a server.
 *
 * A line of input is OUT, the log directory and the data directory, separated by tabs. The answer goes to the file OUT:
 * the last zxid and the nodes, or the error. Then a line "done" is printed.
 */
public class Restore {
    static void walk(DataTree tree, String path, PrintWriter out) throws Exception {
        Stat stat = new Stat();
        tree.getData(path, stat, null);
        out.println("node\t" + path + "\t" + stat.getMzxid() + "\t" + stat.getEphemeralOwner());
        for (String child : new TreeSet<String>(tree.getChildren(path, stat, null))) {
            walk(tree, path.equals("/") ? "/" + child : path + "/" + child, out);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            try (PrintWriter out = new PrintWriter(new File(words[0]), "UTF-8")) {
                try {
                    ZKDatabase db = new ZKDatabase(new FileTxnSnapLog(new File(words[1]), new File(words[2])));
                    out.println("zxid\t" + db.loadDataBase());
                    walk(db.getDataTree(), "/", out);
                    db.close();
                } catch (Throwable t) {
                    StringBuilder said = new StringBuilder();
                    for (Throwable c = t; c != null; c = c.getCause()) {
                        said.append(c).append(" | ");
                    }
                    out.println("ended\t" + said.toString().replace('\n', ' ').replace('\t', ' '));
                }
            }
            System.out.println("done");
            System.out.flush();
        }
    }
}
