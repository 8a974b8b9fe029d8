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
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.net.Socket;
import java.util.Collections;
import org.apache.zookeeper.ZKTestCase;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.util.ZxidUtils;
import org.apache.zookeeper.test.ClientBase;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.TxnHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A follower that has logged and acknowledged a proposal of the running epoch, and comes back: it may only be told to
 * truncate what then no longer counts as acknowledged by it, and nothing that is committed.
 */
public class TruncAcknowledgedProposalTest extends ZKTestCase {

    private static final long LEADER_SID = 0;
    private static final long FOLLOWER_SID = 1;
    private static final long NEW_EPOCH = ZxidUtils.makeZxid(1, 0);
    private static final long PROPOSED = ZxidUtils.makeZxid(1, 1);

    private File tmpDir;
    private Leader leader;

    @BeforeEach
    public void setUp() throws Exception {
        tmpDir = ClientBase.createTmpDir();
        leader = ZabUtils.createLeader(tmpDir, ZabUtils.createQuorumPeer(tmpDir));
        // It serves: lastProcessedZxid is that of its epoch, and a commit goes to this queue
        leader.zk.getZKDatabase().setlastProcessedZxid(NEW_EPOCH);
        leader.zk.commitProcessor = new CommitProcessor(null, "0", false, null);
        leader.lastCommitted = NEW_EPOCH;
        leader.propose(createNode(PROPOSED));
    }

    @AfterEach
    public void tearDown() throws IOException {
        leader.shutdown("end of test");
        ClientBase.recursiveDelete(tmpDir);
    }

    @Test
    public void testTruncatedProposalIsNotCommittedWithItsAcknowledgement() throws Exception {
        leader.processAck(FOLLOWER_SID, PROPOSED, null);

        boolean truncated = isToldToTruncate(reconnect(), PROPOSED);
        // The leader has logged it now. Without the follower it is on one disk of three.
        leader.processAck(LEADER_SID, PROPOSED, null);
        assertFalse(truncated && leader.lastCommitted == PROPOSED,
            "committed with the acknowledgement of a follower that was told to truncate it");

        // It was proposed again behind the TRUNC, and is logged again
        leader.processAck(FOLLOWER_SID, PROPOSED, null);
        assertEquals(PROPOSED, leader.lastCommitted);
    }

    @Test
    public void testCommittedProposalIsNotTruncated() throws Exception {
        leader.processAck(FOLLOWER_SID, PROPOSED, null);
        leader.processAck(LEADER_SID, PROPOSED, null);
        assertEquals(PROPOSED, leader.lastCommitted);

        // It is not applied yet, so it is not in committedLog
        assertEquals(NEW_EPOCH, leader.zk.getZKDatabase().getDataTreeLastProcessedZxid());
        assertFalse(isToldToTruncate(reconnect(), PROPOSED), "a committed proposal is truncated");
    }

    private LearnerHandler reconnect() throws IOException {
        BufferedInputStream nothing = new BufferedInputStream(new ByteArrayInputStream(new byte[0]));
        LearnerHandler handler = new LearnerHandler(new Socket(), nothing, leader);
        handler.sid = FOLLOWER_SID;
        assertFalse(handler.syncFollower(PROPOSED, leader), "no snapshot is needed");
        return handler;
    }

    private static boolean isToldToTruncate(LearnerHandler handler, long zxid) {
        return handler.getQueuedPackets().stream().anyMatch(p -> p.getType() == Leader.TRUNC && p.getZxid() < zxid);
    }

    private static Request createNode(long zxid) {
        TxnHeader hdr = new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create);
        CreateTxn txn = new CreateTxn("/foo", new byte[0], Collections.emptyList(), false, 1);
        return new Request(hdr.getClientId(), hdr.getCxid(), hdr.getType(), hdr, txn, zxid);
    }

}
