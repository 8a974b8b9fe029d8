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
import static org.junit.jupiter.api.Assertions.fail;
import java.io.BufferedInputStream;
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
import org.apache.zookeeper.util.ServiceUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A learner has its data from a SNAP, with a proposal that nobody has committed, and no log. A leader of a later epoch,
 * which does not have that proposal, must not tell it to truncate its log: the learner would exit, at every start.
 */
public class LearnerSnapshotWithoutLogTest extends ZKTestCase {

    private static final long FIRST = ZxidUtils.makeZxid(1, 1);
    private static final long UNCOMMITTED = ZxidUtils.makeZxid(1, 2);
    private static final long NEW_EPOCH = ZxidUtils.makeZxid(2, 0);

    private File leaderDir;
    private File learnerDir;
    private Leader leader;
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
        ServiceUtils.setSystemExitProcedure(code -> {
            throw new IllegalStateException("the learner exits with code " + code);
        });
        learnerDir = ClientBase.createTmpDir();
        files = new FileTxnSnapLog(learnerDir, learnerDir);
        ZKDatabase received = new ZKDatabase(files);
        received.loadDataBase();
        apply(received, create("/first", FIRST));
        apply(received, create("/uncommitted", UNCOMMITTED));
        files.save(received.getDataTree(), received.getSessionWithTimeOuts(), true);
        learner = new TestLearner(files);
        assertEquals(UNCOMMITTED, learner.zk.getLastProcessedZxid());
        assertNotNull(learner.zk.getZKDatabase().getNode("/uncommitted"));

        leaderDir = ClientBase.createTmpDir();
        leader = ZabUtils.createLeader(leaderDir, ZabUtils.createQuorumPeer(leaderDir));
        leader.lastProposed = NEW_EPOCH;
    }

    @AfterEach
    public void tearDown() throws IOException {
        ServiceUtils.setSystemExitProcedure(ServiceUtils.LOG_ONLY);
        leader.shutdown("end of test");
        files.close();
        ClientBase.recursiveDelete(leaderDir);
        ClientBase.recursiveDelete(learnerDir);
    }

    @Test
    public void testLeaderWithoutCommittedLog() throws Exception {
        apply(leader.zk.getZKDatabase(), create("/first", FIRST));
        synchronize();
        assertHasTheHistoryOfTheLeader();
    }

    @Test
    public void testCommittedLogEndsBeforeTheSnapshot() throws Exception {
        apply(leader.zk.getZKDatabase(), create("/first", FIRST));
        leader.zk.getZKDatabase().addCommittedProposal(create("/first", FIRST));
        synchronize();
        assertHasTheHistoryOfTheLeader();
    }

    @Test
    public void testWhatWasProposedInTheEpochIsTruncated() throws Exception {
        Request committed = create("/first", ZxidUtils.makeZxid(2, 1));
        apply(leader.zk.getZKDatabase(), committed);
        leader.zk.getZKDatabase().addCommittedProposal(committed);
        leader.lastProposed = ZxidUtils.makeZxid(2, 2);
        LearnerHandler handler = handlerOfLearner();
        assertFalse(handler.syncFollower(ZxidUtils.makeZxid(2, 2), leader), "a log is truncated, without a snapshot");
        assertEquals(Leader.TRUNC, handler.getQueuedPackets().peek().getType());
        assertEquals(committed.zxid, handler.getQueuedPackets().peek().getZxid());
    }

    /** Let the learner take what the leader sends it, up to NEWLEADER; there the connection ends. */
    private void synchronize() throws Exception {
        LearnerHandler handler = handlerOfLearner();
        ZKDatabase db = leader.zk.getZKDatabase();
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        BinaryOutputArchive packets = BinaryOutputArchive.getArchive(sent);
        // As in LearnerHandler.run
        if (handler.syncFollower(UNCOMMITTED, leader)) {
            packets.writeRecord(new QuorumPacket(Leader.SNAP, db.getDataTreeLastProcessedZxid(), null, null), "packet");
            db.serializeSnapshot(packets);
            packets.writeString("BenWasHere", "signature");
        }
        for (QuorumPacket packet : handler.getQueuedPackets()) {
            packets.writeRecord(packet, "packet");
        }
        packets.writeRecord(new QuorumPacket(Leader.NEWLEADER, NEW_EPOCH, null, null), "packet");

        learner.leaderIs = BinaryInputArchive.getArchive(new ByteArrayInputStream(sent.toByteArray()));
        learner.bufferedOutput = new BufferedOutputStream(new ByteArrayOutputStream());
        learner.leaderOs = BinaryOutputArchive.getArchive(learner.bufferedOutput);
        learner.sock = new Socket();
        try {
            learner.syncWithLeader(NEW_EPOCH);
        } catch (EOFException e) {
            // The connection ends behind NEWLEADER
            assertEquals(2, learner.self.getCurrentEpoch());
            return;
        }
        fail("the connection does not end");
    }

    private void assertHasTheHistoryOfTheLeader() throws IOException {
        ZKDatabase started = new ZKDatabase(files);
        started.loadDataBase();
        for (ZKDatabase db : new ZKDatabase[] {learner.zk.getZKDatabase(), started}) {
            assertEquals(FIRST, db.getDataTreeLastProcessedZxid());
            assertNotNull(db.getNode("/first"));
            assertFalse(db.getNode("/uncommitted") != null, "the learner has what the leader does not have");
        }
    }

    private LearnerHandler handlerOfLearner() throws IOException {
        BufferedInputStream nothing = new BufferedInputStream(new ByteArrayInputStream(new byte[0]));
        return new LearnerHandler(new Socket(), nothing, leader);
    }

    private static void apply(ZKDatabase db, Request request) {
        db.processTxn(request.getHdr(), request.getTxn(), null);
    }

    private static Request create(String path, long zxid) {
        TxnHeader hdr = new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create);
        CreateTxn txn = new CreateTxn(path, new byte[0], Collections.emptyList(), false, -1);
        return new Request(hdr.getClientId(), hdr.getCxid(), hdr.getType(), hdr, txn, zxid);
    }

}
