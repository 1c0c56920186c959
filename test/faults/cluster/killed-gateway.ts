import { setTimeout as delay } from 'node:timers/promises';
import type { TestFn } from 'ava';
import { createClient, user } from '../../servers/client.ts';
import type { Cluster } from '../../servers/cluster.ts';
import { openGate } from '../../servers/gate.ts';
import { until } from '../../until.ts';
import { createReader, type Reader } from './reader.ts';

/** Streams of one principal, as many as it may have. */
export const streams = 60;
/** Places are free within 5 s of a death; the rest is the machine's. In milliseconds. */
const boundMs = 8000;
/** So many events come in more time than the lease of a place lasts. */
const eventsOfALease = 60;

export function killedGateway(test: TestFn, cluster: () => Cluster): void {
  test.serial(
    'a gateway is killed under as many streams as its principal may have, and all of them go on at the other',
    async (t) => {
      await using gate = await openGate();
      const [dying = '', other = ''] = cluster().urls;
      const body = { messages: [user('go')], config: { gate: gate.url } };
      const reply = await createClient(other).send('POST', '/v1/runs', body);
      const { run_id: runId } = reply.body.data as { readonly run_id: string };

      const readers = Array.from({ length: streams }, () => createReader(runId));
      t.deepEqual(new Set(await Promise.all(readers.map(({ open }) => open(dying)))), new Set([200]));
      const cut = readers.map(({ read }) => read());
      await until(() => readers.every(({ events }) => events.length > eventsOfALease), { timeoutMs: 60_000 });
      // Live streams keep their places for longer than a lease. A gateway that is late with a heartbeat puts them back with the next one.
      const isFull = async (): Promise<boolean> => {
        const reader = createReader(runId);
        const status = await reader.open(other);
        await reader.leave();
        return status === 429;
      };
      await until(isFull);

      const killed = cluster().gateways[0]?.kill();
      const died = performance.now();
      await Promise.all([killed, ...cut]);
      const lengths = readers.map(({ events }) => events.length);
      let refused = 0;
      const resume = async ({ open }: Reader): Promise<number> => {
        while ((await open(other)) === 429) {
          refused++;
          if (performance.now() - died > boundMs) throw new Error(`refused after ${String(boundMs)} ms`);
          await delay(100);
        }
        return performance.now() - died;
      };
      const times = await Promise.all(readers.map(resume));
      const [first = 0, last = 0] = [Math.min(...times), Math.max(...times)].map(Math.round);
      t.log(`${streams} streams go on ${first} to ${last} ms after the death, refused ${refused} times before`);
      // And each of them has its place.
      await until(isFull);

      const read = readers.map((reader) => reader.read());
      await until(() => readers.every(({ events }, at) => events.length > (lengths[at] ?? 0)));
      gate.open();
      await Promise.all(read);
      const whole = createReader(runId);
      await until(async () => (await whole.open(other)) === 200);
      await whole.read();
      t.regex(whole.events.at(-1) ?? '', /^event: on_chain_end$/m);
      for (const { events } of readers) t.deepEqual(events, whole.events);
      t.log(`each of them has the same ${whole.events.length} events`);
      await cluster().gateways[0]?.start();
    },
  );
}
