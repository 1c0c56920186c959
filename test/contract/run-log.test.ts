import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteRunLog } from '@agent-workflow/execution/adapters/sqlite/run-log';
import { nats } from '../servers/nats.ts';
import { clearPlace, openLogsOn, openPlace } from '../servers/nats-adapters.ts';
import { withServer } from '../servers/real-suite.ts';
import { runLogContract } from './run-log.ts';

const folder = await mkdtemp(join(tmpdir(), 'run-log-'));
test.after.always(async () => rm(folder, { recursive: true }));

runLogContract(test, 'sqlite in memory', {
  open: async () => openSqliteRunLog({ path: ':memory:' }),
  keeps: false,
});

runLogContract(test, 'sqlite file', {
  open: async (place) => openSqliteRunLog({ path: join(folder, `${place}.sqlite`) }),
  keeps: true,
});

withServer(test, nats, (server) => {
  runLogContract(test, 'nats', {
    open: async (place) => openLogsOn((await server()).url, place),
    keeps: true,
    expires: 'by age',
    lose: async (place) => {
      await using opened = await openPlace((await server()).url, place);
      await clearPlace(opened);
    },
  });
});
