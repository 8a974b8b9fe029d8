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
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.net.Socket;
import java.util.Collections;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.BinaryOutputArchive;
import org.apache.zookeeper.ZKTestCase;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.Request;
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
 * A learner gets a SNAP that ends before the tail of its own log. Once it has acknowledged NEWLEADER, nothing brings
 * that tail back: not the next shutdown (fastForwardDataBase), and not the next start.
 */
public class LearnerSnapshotTailTest extends ZKTestCase {

    private static final long FIRST = ZxidUtils.makeZxid(1, 1);
    private static final long TAIL = ZxidUtils.makeZxid(1, 2);
    private static final long NEW_LEADER = ZxidUtils.makeZxid(2, 0);

    private File dir;
    private FileTxnSnapLog files;
    private TestLearner learner;

    static class TestLearner extends Learner {

        TestLearner(FileTxnSnapLog files) throws IOException {
            self = QuorumPeer.testingQuorumPeer();
            self.setTxnFactory(files);
            ZKDatabase db = new ZKDatabase(files);
            db.loadDataBase();
            zk = new LearnerZooKeeperServer(files, 2000, 2000, 2000, -1, db, self) {
                @Override
                public Learner getLearner() {
                    return TestLearner.this;
                }
            };
        }

    }

    @BeforeEach
    public void setUp() throws Exception {
        dir = ClientBase.createTmpDir();
        files = new FileTxnSnapLog(dir, dir);
        ZKDatabase empty = new ZKDatabase(files);
        empty.loadDataBase();
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        BinaryOutputArchive leader = BinaryOutputArchive.getArchive(sent);
        leader.writeRecord(new QuorumPacket(Leader.SNAP, FIRST, null, null), "packet");
        empty.serializeSnapshot(leader);
        leader.writeString("BenWasHere", "signature");
        leader.writeRecord(new QuorumPacket(Leader.NEWLEADER, NEW_LEADER, null, null), "packet");

        files.append(create("/first", FIRST));
        files.append(create("/tail", TAIL));
        files.commit();
        learner = new TestLearner(files);
        assertNotNull(learner.zk.getZKDatabase().getNode("/tail"));
        learner.leaderIs = BinaryInputArchive.getArchive(new ByteArrayInputStream(sent.toByteArray()));
        learner.bufferedOutput = new BufferedOutputStream(new ByteArrayOutputStream());
        learner.leaderOs = BinaryOutputArchive.getArchive(learner.bufferedOutput);
        learner.sock = new Socket();
        // The connection ends behind NEWLEADER
        assertThrows(EOFException.class, () -> learner.syncWithLeader(NEW_LEADER));
        assertEquals(2, learner.self.getCurrentEpoch());
        assertEquals(FIRST, learner.zk.getLastProcessedZxid());
    }

    @AfterEach
    public void tearDown() throws IOException {
        files.close();
        ClientBase.recursiveDelete(dir);
    }

    @Test
    public void testShutdownDoesNotReplayTheTail() throws IOException {
        learner.zk.getZKDatabase().fastForwardDataBase();
        assertNull(learner.zk.getZKDatabase().getNode("/tail"), "what the leader did not send is in the tree again");
        assertEquals(FIRST, learner.zk.getLastProcessedZxid());
    }

    @Test
    public void testStartDoesNotReplayTheTail() throws IOException {
        ZKDatabase db = new ZKDatabase(files);
        assertEquals(FIRST, db.loadDataBase());
        assertNull(db.getNode("/tail"), "what the leader did not send is in the tree again");
    }

    private static Request create(String path, long zxid) {
        TxnHeader hdr = new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create);
        CreateTxn txn = new CreateTxn(path, new byte[0], Collections.emptyList(), false, -1);
        return new Request(hdr.getClientId(), hdr.getCxid(), hdr.getType(), hdr, txn, zxid);
    }

}
