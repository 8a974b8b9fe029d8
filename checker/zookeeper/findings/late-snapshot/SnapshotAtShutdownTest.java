/*
 * Licensed to the Apache Software Foundation (ASF) under one
 * or more contributor license agreements.  See the NOTICE file
 * distributed with this work for additional information
 * regarding copyright ownership.  The ASF licenses this file
 * to you under the Apache License, Version 2.0 (the
 * "License"); you may not use this file except in compliance
 * with the License.  You may obtain a copy of the License at
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */


package org.apache.zookeeper.server.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import java.io.File;
import java.io.IOException;
import java.util.Collections;
import java.util.function.BooleanSupplier;
import org.apache.zookeeper.ZKTestCase;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.SyncRequestProcessor;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.util.ZxidUtils;
import org.apache.zookeeper.test.ClientBase;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.TxnHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A follower's term ends while its periodic snapshot is being written. What its log alone has comes into the tree then
 * (fastForwardDataBase), and must not come into the snapshot, which is named before it: a TRUNC would read it back.
 */
public class SnapshotAtShutdownTest extends ZKTestCase {

    private static final long FOLDER = ZxidUtils.makeZxid(1, 1);
    private static final long TAIL = ZxidUtils.makeZxid(1, 2);
    private static final long PATIENCE = 30_000;
    private static final long WHILE_HELD = 2_000;

    private int snapCount;
    private File dir;
    private FileTxnSnapLog files;
    private TestServer zk;

    static class TestServer extends LearnerZooKeeperServer {

        TestServer(FileTxnSnapLog files, ZKDatabase db) throws IOException {
            super(files, 2000, 2000, 2000, -1, db, QuorumPeer.testingQuorumPeer());
            setState(State.RUNNING);
            syncProcessor = new SyncRequestProcessor(this, null);
            syncProcessor.start();
        }

        @Override
        public Learner getLearner() {
            return null;
        }

    }

    @BeforeEach
    public void setUp() throws Exception {
        snapCount = SyncRequestProcessor.getSnapCount();
        SyncRequestProcessor.setSnapCount(2); // a snapshot begins at each second transaction
        dir = ClientBase.createTmpDir();
        files = new FileTxnSnapLog(dir, dir);
        ZKDatabase db = new ZKDatabase(files);
        db.loadDataBase();
        zk = new TestServer(files, db);
        Request folder = create("/folder", FOLDER);
        zk.syncProcessor.processRequest(folder);
        db.processTxn(folder.getHdr(), folder.getTxn(), null); // it is committed
    }

    @AfterEach
    public void tearDown() throws IOException {
        SyncRequestProcessor.setSnapCount(snapCount);
        files.close();
        ClientBase.recursiveDelete(dir);
    }

    @Test
    public void testTruncateDoesNotBringBackWhatItCut() throws Exception {
        shutDownWhileSnapshotIsWritten();
        ZKDatabase db = zk.getZKDatabase();
        assertEquals(TAIL, db.getDataTreeLastProcessedZxid());
        assertNotNull(db.getNode("/folder/tail"));

        // The next leader does not have it
        assertTrue(db.truncateLog(FOLDER));
        assertNotNull(db.getNode("/folder"));
        assertFalse(db.getNode("/folder/tail") != null, "what was truncated is in the tree again");
    }

    @Test
    public void testStartDoesNotBringBackWhatWasTruncated() throws Exception {
        shutDownWhileSnapshotIsWritten();
        zk.getZKDatabase().truncateLog(FOLDER);

        ZKDatabase started = new ZKDatabase(files);
        assertEquals(FOLDER, started.loadDataBase());
        assertNotNull(started.getNode("/folder"));
        assertFalse(started.getNode("/folder/tail") != null, "what was truncated is in the tree again");
    }

    @Test
    public void testSyncProcessorMayBeShutDownTwice() throws Exception {
        shutDownWhileSnapshotIsWritten();
        assertReturns(() -> zk.syncProcessor.shutdown());
    }

    @Test
    public void testShutdownReturnsBeforeTheSnapshotBegins() throws Exception {
        // As if the snapshot's thread came to takeSnapshot while the server shuts down
        assertReturns(() -> {
            synchronized (zk) {
                zk.syncProcessor.processRequest(create("/folder/tail", TAIL));
                await(() -> snapshot().exists() || Thread.getAllStackTraces().keySet().stream().anyMatch(
                    t -> t.getName().equals("Snapshot Thread") && t.getState() == Thread.State.BLOCKED));
                zk.shutdown();
            }
        });
    }

    /**
     * Log a transaction that is committed by nobody; a snapshot begins with it. While it is held, the term ends.
     */
    private void shutDownWhileSnapshotIsWritten() throws Exception {
        Thread shutdown = new Thread(() -> zk.shutdown());
        // The snapshot is named and opened, and waits for the first node that it writes
        synchronized (zk.getZKDatabase().getNode("/")) {
            zk.syncProcessor.processRequest(create("/folder/tail", TAIL));
            await(() -> snapshot().exists());
            shutdown.start();
            shutdown.join(WHILE_HELD);
        }
        shutdown.join(PATIENCE);
        assertFalse(shutdown.isAlive(), "the shutdown does not return");
    }

    private File snapshot() {
        return new File(new File(dir, "version-2"), "snapshot." + Long.toHexString(FOLDER));
    }

    private static void assertReturns(Runnable call) throws InterruptedException {
        Thread thread = new Thread(call);
        thread.setDaemon(true);
        thread.start();
        thread.join(PATIENCE);
        assertFalse(thread.isAlive(), "the shutdown does not return");
    }

    private static void await(BooleanSupplier seen) {
        long end = System.currentTimeMillis() + PATIENCE / 2;
        while (!seen.getAsBoolean()) {
            assertTrue(System.currentTimeMillis() < end, "no snapshot begins");
            Thread.yield();
        }
    }

    private static Request create(String path, long zxid) {
        TxnHeader hdr = new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create);
        CreateTxn txn = new CreateTxn(path, new byte[0], Collections.emptyList(), false, -1);
        return new Request(hdr.getClientId(), hdr.getCxid(), hdr.getType(), hdr, txn, zxid);
    }

}
