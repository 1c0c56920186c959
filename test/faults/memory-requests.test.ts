import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { isServiceError } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Memory } from '@agent-workflow/protos/memory';
import { connect } from '@agent-workflow/protos/wire/connect';
import { startProcess, type ServiceProcess } from '../servers/process.ts';
import { freePorts } from '../servers/real-process.ts';
import { dropCollections, newPrefix } from '../servers/weaviate-collections.ts';
import { weaviate } from '../servers/weaviate.ts';
import { withFaultsOf } from './suite.ts';
import { byLoad } from '../by-load.ts';

const entry = fileURLToPath(import.meta.resolve('@agent-workflow/memory/main'));
const owners = 3;
const rounds = 6;
const faults = 4;

/** Three replicas of the memory service on one Weaviate, any of which can be killed or frozen. */
async function openReplicas(t: ExecutionContext, url: string) {
  const prefix = newPrefix();
  const ports = await freePorts(3);
  const start = async (port: number): Promise<ServiceProcess> =>
    startProcess({
      entry,
      env: {
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: String(port),
        WEAVIATE_URL: url,
        WEAVIATE_PREFIX: prefix,
        LOG_LEVEL: 'silent',
      },
    });
  const processes = await Promise.all(ports.map(start));
  const each = ports.map((port) => connect('memory', `127.0.0.1:${String(port)}`));
  const all = connect('memory', `ipv4:${ports.map((port) => `127.0.0.1:${String(port)}`).join(',')}`);
  t.teardown(async () => {
    for (const client of [all, ...each]) await client[Symbol.asyncDispose]();
    for (const one of processes) await one.stop('SIGKILL');
    await dropCollections(url, prefix);
  });
  return {
    each,
    all,
    killOne: async (): Promise<void> => {
      const place = randomInt(ports.length);
      await processes[place]?.stop('SIGKILL');
      processes[place] = await start(ports[place] ?? 0);
    },
    freezeOne: async (): Promise<void> => {
      const { child } = processes[randomInt(ports.length)] as ServiceProcess;
      child.kill('SIGSTOP');
      await wait(2500);
      child.kill('SIGCONT');
    },
  };
}

type Send = (memory: Memory) => Promise<unknown>;

/** Sends a keyed request until it is answered, however its replicas do. */
async function answered(send: Send, memory: Memory): Promise<unknown> {
  for (;;) {
    try {
      return await send(memory);
    } catch (error) {
      if (!isServiceError(error, 'Unavailable') && !isServiceError(error, 'Timeout')) throw error;
      await wait(50);
    }
  }
}

const call = (): ReturnType<typeof within> => within(byLoad(20_000));
const plain = (reply: unknown): unknown =>
  JSON.parse(JSON.stringify(reply, (_, value: unknown) => (value instanceof Uint8Array ? '' : value)));

withFaultsOf(test, weaviate, (server) => {
  test.serial(
    'keyed changes of memories have their effect once while their replicas are killed and frozen',
    async (t) => {
      t.timeout(byLoad(150_000));
      const { each, all, killOne, freezeOne } = await openReplicas(t, (await server()).url);
      const started = performance.now();
      const over = new AbortController();
      const meddling = (async () => {
        for (let fault = 0; fault < faults && !over.signal.aborted; fault += 1) {
          await wait(randomInt(300, 900));
          await (fault % 2 === 0 ? killOne() : freezeOne());
        }
      })();
      let requests = 0;
      let resent = 0;

      const work = async (owner: string): Promise<void> => {
        const sent: { readonly send: Send; readonly reply: unknown }[] = [];
        const keyed = async (make: (onceKey: string) => Send): Promise<void> => {
          const send = make(randomUUID());
          sent.push({ send, reply: plain(await answered(send, all)) });
          requests += 1;
        };
        const note = { owner, memoryType: 'semantic' as const, metadataJson: Buffer.from('{}') };
        const store = async (memoryId: string, category: string): Promise<unknown> =>
          answered(async (memory) => memory.store({ ...note, memoryId, content: memoryId, category }, call()), all);
        await store('changes', 'kept');
        for (let round = 0; round < rounds; round += 1) {
          const content = `round ${String(round)}`;
          await keyed(
            (onceKey) => async (memory) => memory.update({ owner, memoryId: 'changes', content, onceKey }, call()),
          );
          await store(`one ${String(round)}`, 'goes');
          await store(`two ${String(round)}`, 'deleted');
          const selection = { category: 'goes' };
          await keyed((onceKey) => async (memory) => memory.forget({ owner, selection, all: false, onceKey }, call()));
          const memoryId = `two ${String(round)}`;
          await keyed((onceKey) => async (memory) => memory.delete({ owner, memoryId, onceKey }, call()));
          await store(`new ${String(round)}`, 'goes');
          // What came in between is not touched by what is sent again, at whichever replica.
          const before = sent[randomInt(sent.length)];
          t.deepEqual(
            plain(await answered(before?.send ?? (async () => undefined), each[randomInt(3)] ?? all)),
            before?.reply,
          );
          resent += 1;
          const { content: stored } = (await answered(
            async (memory) => memory.get({ owner, memoryId: 'changes' }, call()),
            all,
          )) as { content: string };
          t.is(stored, content);
        }
        over.abort();
        await meddling;
        for (const { send, reply } of sent)
          for (const memory of each) t.deepEqual(plain(await answered(send, memory)), reply);
        const page = { owner, selection: {}, limit: 100, offset: 0 };
        const { memories } = await all.list(page, call());
        t.deepEqual(memories.map(({ memoryId, content }) => `${memoryId}: ${content}`).sort(), [
          `changes: round ${String(rounds - 1)}`,
          `new ${String(rounds - 1)}: new ${String(rounds - 1)}`,
        ]);
      };
      // Each comes to its end before one that failed ends the test, and with it what all of them stand on.
      const works = Array.from({ length: owners }, async (_, n) => work(`u:${String(n)}`).finally(() => over.abort()));
      for (const outcome of [...(await Promise.allSettled(works)), ...(await Promise.allSettled([meddling]))])
        if (outcome.status === 'rejected') throw outcome.reason;
      const ms = (performance.now() - started).toFixed(0);
      t.log(`${requests} keyed changes, ${resent + 3 * requests} sent again, in ${ms} ms`);
    },
  );
});
