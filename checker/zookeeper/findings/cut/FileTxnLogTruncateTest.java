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

package org.apache.zookeeper.server.persistence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
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
 * FileTxnLog.truncate(zxid) leaves no record that is later than zxid, whether the log holds zxid or not.
 */
public class FileTxnLogTruncateTest extends ZKTestCase {

    private File logDir;

    @BeforeEach
    public void setUp() throws IOException {
        logDir = ClientBase.createTmpDir();
    }

    @AfterEach
    public void tearDown() {
        ClientBase.recursiveDelete(logDir);
    }

    @Test
    public void testTruncateToARecordKeepsIt() throws IOException {
        append(zxid(1, 1), zxid(1, 2), zxid(1, 3));
        truncate(zxid(1, 2));
        assertEquals(Arrays.asList(zxid(1, 1), zxid(1, 2)), records());
    }

    @Test
    public void testTruncateBetweenRecords() throws IOException {
        append(zxid(1, 1), zxid(1, 7), zxid(1, 8));
        truncate(zxid(1, 5));
        assertEquals(Collections.singletonList(zxid(1, 1)), records());
    }

    /**
     * The first zxid of an epoch is in no log: a leader that has applied nothing since it was elected truncates to it.
     */
    @Test
    public void testTruncateToTheFirstZxidOfAnEpoch() throws IOException {
        append(zxid(2, 1), zxid(2, 2));
        truncate(zxid(2, 0));
        assertEquals(Collections.emptyList(), records());
    }

    @Test
    public void testTruncateBetweenFiles() throws IOException {
        append(zxid(1, 1), zxid(1, 2));
        append(zxid(2, 1), zxid(2, 2)); // a file of its own
        truncate(zxid(2, 0));
        assertEquals(Arrays.asList(zxid(1, 1), zxid(1, 2)), records());
        append(zxid(2, 1), zxid(2, 2));
        assertEquals(Arrays.asList(zxid(1, 1), zxid(1, 2), zxid(2, 1), zxid(2, 2)), records());
    }

    private static long zxid(long epoch, long counter) {
        return ZxidUtils.makeZxid(epoch, counter);
    }

    private void truncate(long zxid) throws IOException {
        try (FileTxnLog log = new FileTxnLog(logDir)) {
            log.truncate(zxid);
        }
    }

    private void append(long... zxids) throws IOException {
        try (FileTxnLog log = new FileTxnLog(logDir)) {
            for (long zxid : zxids) {
                TxnHeader hdr = new TxnHeader(1, 1, zxid, 1, ZooDefs.OpCode.create);
                CreateTxn txn = new CreateTxn("/" + zxid, new byte[0], Collections.emptyList(), false, 1);
                log.append(new Request(hdr.getClientId(), hdr.getCxid(), hdr.getType(), hdr, txn, zxid));
            }
            log.commit();
        }
    }

    private List<Long> records() throws IOException {
        List<Long> found = new ArrayList<>();
        try (FileTxnLog log = new FileTxnLog(logDir); TxnLog.TxnIterator itr = log.read(0)) {
            while (itr.getHeader() != null) {
                found.add(itr.getHeader().getZxid());
                if (!itr.next()) {
                    break;
                }
            }
        }
        return found;
    }

}
