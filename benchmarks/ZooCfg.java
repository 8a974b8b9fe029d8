import java.io.File;
import java.io.FileInputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;
import org.apache.zookeeper.server.quorum.flexible.QuorumVerifier;

/**
 * Asks an official server's classes what a configuration means: java -cp ZOOKEEPER/lib/*:. ZooCfg FOLDER.
 *
 * For each file *.cfg of the folder, in the order of names, it prints a line: the name, and "refused" with the reason, or
 * the participants, the observers, and a number in hexadecimal whose bit m says whether the set m is a quorum (bit k of
 * m: the k-th smallest participant). Settings that no server starts without are added where a file lacks them; an
 * oracle says yes.
 */
public class ZooCfg {
    public static void main(String[] args) throws Exception {
        Path scratch = Files.createTempDirectory("zoocfg");
        Files.write(scratch.resolve("myid"), "250".getBytes());
        Properties before = (Properties) System.getProperties().clone();
        File[] files = new File(args[0]).listFiles((folder, name) -> name.endsWith(".cfg"));
        Arrays.sort(files);
        for (File file : files) {
            System.setProperties((Properties) before.clone());
            reset("setStandaloneEnabled", true);
            reset("setReconfigEnabled", false);
            String said;
            try {
                said = asked(file, scratch);
            } catch (Throwable problem) {
                Throwable cause = problem.getCause() != null ? problem.getCause() : problem;
                said = "refused\t" + cause.getClass().getSimpleName() + ": " + cause.getMessage();
            }
            System.out.println(file.getName() + "\t" + said.replaceAll("[\\r\\n]+", " "));
        }
    }

    static void reset(String name, boolean value) throws Exception {
        for (Method method : QuorumPeerConfig.class.getMethods()) {
            if (method.getName().equals(name)) {
                method.invoke(null, value);
            }
        }
    }

    static String asked(File file, Path scratch) throws Throwable {
        Properties given = new Properties();
        try (InputStream in = new FileInputStream(file)) {
            given.load(in);
        }
        StringBuilder more = new StringBuilder("\n\n");
        boolean old = !has(QuorumVerifier.class, "getVotingMembers");
        String[][] needed = {{"dataDir", scratch.toString()}, {"initLimit", "10"}, {"syncLimit", "5"}};
        for (String[] one : needed) {
            more.append(given.containsKey(one[0]) ? "" : one[0] + "=" + one[1] + "\n");
        }
        if (given.containsKey("oraclePath")) {
            Files.write(scratch.resolve("oracle"), "1".getBytes());
            more.append("oraclePath=" + scratch.resolve("oracle") + "\n");
        }
        more.append(old && !given.containsKey("clientPort") ? "clientPort=2181\n" : "");
        Path whole = scratch.resolve(file.getName());
        Files.write(whole, Files.readAllBytes(file.toPath()));
        Files.write(whole, more.toString().getBytes(), java.nio.file.StandardOpenOption.APPEND);
        QuorumPeerConfig config = new QuorumPeerConfig();
        config.parse(whole.toString());
        QuorumVerifier verifier = config.getQuorumVerifier();
        if (verifier == null) {
            return "standalone";
        }
        Set<Long> voters = new TreeSet<>();
        Set<Long> observers = new TreeSet<>();
        if (old) {
            Map<Long, QuorumPeer.QuorumServer> servers = config.getServers();
            for (Map.Entry<Long, QuorumPeer.QuorumServer> one : servers.entrySet()) {
                boolean votes = one.getValue().type == QuorumPeer.LearnerType.PARTICIPANT;
                (votes ? voters : observers).add(one.getKey());
            }
        } else {
            voters.addAll(members(verifier, "getVotingMembers"));
            observers.addAll(members(verifier, "getObservingMembers"));
        }
        return voters + "\t" + observers + "\t" + quorums(verifier, voters.toArray(new Long[0])).toString(16);
    }

    static boolean has(Class<?> of, String name) {
        return Arrays.stream(of.getMethods()).anyMatch(method -> method.getName().equals(name));
    }

    static Set<Long> members(QuorumVerifier verifier, String name) throws Exception {
        return ((Map<Long, ?>) QuorumVerifier.class.getMethod(name).invoke(verifier)).keySet();
    }

    static BigInteger quorums(QuorumVerifier verifier, Long[] voters) throws Throwable {
        Method contains = Arrays.stream(QuorumVerifier.class.getMethods())
            .filter(method -> method.getName().equals("containsQuorum")).findFirst().get();
        BigInteger out = BigInteger.ZERO;
        for (int mask = 0; mask < 1 << voters.length; mask++) {
            HashSet<Long> chosen = new HashSet<>();
            for (int k = 0; k < voters.length; k++) {
                if ((mask >> k & 1) == 1) {
                    chosen.add(voters[k]);
                }
            }
            try {
                out = (Boolean) contains.invoke(verifier, chosen) ? out.setBit(mask) : out;
            } catch (InvocationTargetException problem) {
                throw problem.getCause();
            }
        }
        return out;
    }
}
